import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './root.mjs'
import type { TestGroup } from './test-group.ts'

const TABLE = join(root, 'node_modules/.cache/test-durations.json')

/** Assumed of each file where nothing was measured yet. */
const DEFAULT_MS = 5_000
const DEFAULT_FOLDER_MS: Record<string, number> = { 'test/dashboard': 15_000, 'test/journeys': 20_000 }

/** How long each test group took when it ran last, kept between runs, so that no long group is left for the end. */
export class TestDurations {
  readonly #ms: Map<string, number>

  constructor() {
    this.#ms = new Map(Object.entries(readTable()))
  }

  /** The same groups, the longest first. */
  sortLongestFirst(groups: TestGroup[]): TestGroup[] {
    return groups.toSorted((one, other) => this.#expectedMs(other) - this.#expectedMs(one))
  }

  record(name: string, milliseconds: number): void {
    this.#ms.set(name, Math.round(milliseconds))
  }

  save(): void {
    mkdirSync(dirname(TABLE), { recursive: true })
    writeFileSync(TABLE, `${JSON.stringify(Object.fromEntries(this.#ms), null, 2)}\n`)
  }

  #expectedMs({ name, files }: TestGroup): number {
    const folder = Object.keys(DEFAULT_FOLDER_MS).find((start) => name.startsWith(start))
    return this.#ms.get(name) ?? files.length * (folder ? DEFAULT_FOLDER_MS[folder]! : DEFAULT_MS)
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
