import type { AdminSweeps } from '../../protocol/api/admin/lists.schema.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import type { Sweep, SweepParts } from './jobs.ts'

export class SweepList {
  readonly #store: Store
  readonly #sweeps: readonly Sweep[]

  constructor(options: SweepParts, table: readonly Sweep[]) {
    this.#store = options.store
    this.#sweeps = table.filter((sweep) => sweep.isEnabled?.(options) ?? true)
  }

  async show(): Promise<AdminSweeps> {
    const runs = new Map((await this.#store.read.sweepRuns.list()).map((run) => [run.name, run]))
    return {
      sweeps: this.#sweeps.map(({ name, description, intervalSeconds }) => {
        const run = runs.get(name)
        return {
          ...{ name, description, intervalSeconds },
          lastRun: run
            ? {
                startedAt: toIso(run.startedAt),
                durationMs: run.durationMs,
                items: run.items,
                error: run.error,
              }
            : null,
          failures: run?.failures ?? 0,
          failedAt: toIsoOrNull(run?.failedAt ?? null),
        }
      }),
    }
  }
}
