import { MINUTE_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import type { SweepRun } from '../store/tables/sweep-runs.ts'

/** Between two records of a sweep whose outcome stays the same: some run every five seconds. */
const RECORD_INTERVAL_MS = MINUTE_MS

type SweepRunRecorderParts = Pick<Parts, 'store' | 'log'>

/** Records the runs of sweeps for administrators. A run never fails because it cannot be recorded. */
export class SweepRunRecorder {
  readonly #parts: SweepRunRecorderParts
  readonly #recorded = new Map<string, { at: number; hasFailed: boolean }>()

  constructor(parts: SweepRunRecorderParts) {
    this.#parts = parts
  }

  async record(run: Pick<SweepRun, 'name' | 'startedAt' | 'durationMs' | 'items' | 'error'>): Promise<void> {
    const { store, log } = this.#parts
    const { name, startedAt, error } = run
    const hasFailed = error !== null
    const last = this.#recorded.get(name)
    const isRepeated = last !== undefined && !last.hasFailed && !hasFailed
    if (isRepeated && startedAt - last.at < RECORD_INTERVAL_MS) return
    this.#recorded.set(name, { at: startedAt, hasFailed })
    await store
      .execute('relaxed', ({ sweepRuns }) => sweepRuns.record(run))
      .catch((cause: unknown) =>
        log.debug('the run of a sweep could not be recorded', { name, error: cause }),
      )
  }
}
