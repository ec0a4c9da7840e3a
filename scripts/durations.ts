import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './root.mjs'

/** Milliseconds by test file: those that this clone has measured, and those of a run on two idle cores. */
const MEASURED = join(root, 'node_modules/.cache/test-durations.json')
const DEFAULTS = join(root, 'scripts/test-durations.json')

/** Assumed of a file that has not been measured. */
const DEFAULT_MS = 3_000

/** How long the tests of each file took when they ran last: groups are of equal length, and the longest starts first. */
export class TestDurations {
  readonly #ms: Map<string, number>
  readonly #measured = new Map<string, number>()

  constructor() {
    this.#ms = new Map(Object.entries({ ...readTable(DEFAULTS), ...readTable(MEASURED) }))
  }

  expectedMs(file: string): number {
    return this.#ms.get(file) ?? DEFAULT_MS
  }

  /** Adds to the time of a file. */
  add(file: string, milliseconds: number): void {
    this.#measured.set(file, (this.#measured.get(file) ?? 0) + milliseconds)
  }

  /** Keeps them for the next run, or as the defaults of every clone, without those of files that no longer exist. */
  save({ asDefaults }: { asDefaults: boolean }): void {
    const path = asDefaults ? DEFAULTS : MEASURED
    const measured = [...this.#measured].map(([file, ms]) => [file, Math.round(ms)] as const)
    const table = { ...readTable(path), ...Object.fromEntries(measured) }
    const rows = Object.entries(table).filter(([file]) => existsSync(join(root, file)))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify(Object.fromEntries(rows.toSorted()), null, 2)}\n`)
  }
}

/** Empty when there is none, or when a run that was stopped has left half of one. */
function readTable(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}
