import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './root.mjs'

const TABLE = join(root, 'node_modules/.cache/test-durations.json')

/** Assumed where nothing was measured yet. */
const DEFAULT_MS = 5_000
const DEFAULT_FOLDER_MS: Record<string, number> = { 'test/dashboard/': 30_000, 'test/journeys/': 20_000 }

/** How long each test file took when it ran last, kept between runs, so that no long file is left for the end. */
export class TestDurations {
  readonly #ms: Map<string, number>

  constructor() {
    this.#ms = new Map(Object.entries(readTable()))
  }

  /** The same files, the longest first. */
  sortLongestFirst(files: string[]): string[] {
    return files.toSorted((one, other) => this.#expectedMs(other) - this.#expectedMs(one))
  }

  record(file: string, milliseconds: number): void {
    this.#ms.set(file, Math.round(milliseconds))
  }

  save(): void {
    mkdirSync(dirname(TABLE), { recursive: true })
    writeFileSync(TABLE, `${JSON.stringify(Object.fromEntries(this.#ms), null, 2)}\n`)
  }

  #expectedMs(file: string): number {
    const folder = Object.keys(DEFAULT_FOLDER_MS).find((start) => file.startsWith(start))
    return this.#ms.get(file) ?? (folder ? DEFAULT_FOLDER_MS[folder]! : DEFAULT_MS)
  }
}

/** Empty when there is none, or when a run that was stopped has left half of one. */
function readTable(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TABLE, 'utf8'))
  } catch {
    return {}
  }
}
