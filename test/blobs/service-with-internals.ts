import type { OperatorContext } from '../../server/app.ts'
import { type SweepParts, sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

/** A service, and its dependencies once more beside it as another process opens them. */
export interface ServiceWithInternals extends AsyncDisposable {
  service: RunningService
  operator: OperatorContext
  /** Runs a sweep as another process does; `change` replaces some of its dependencies. */
  sweep(name: string, change?: Partial<SweepParts>): Promise<number>
}

/** Starts both on a data folder in memory. `settings` are environment variables without `SLIPWAY_`. */
export async function startServiceWithInternals(
  settings: Record<string, string>,
): Promise<ServiceWithInternals> {
  await using started = new AsyncDisposableStack()
  const { path: data } = started.use(await memoryFolder())
  const service = started.use(
    await startTestService({ ...settings, DATA: data }, undefined, { scheduledSweeps: [] }),
  )
  const operator = started.use(await openOperator(service, settings))
  const owned = started.move()
  return {
    service,
    operator,
    sweep(name, change = {}) {
      const chosen = sweeps.find((one) => one.name === name)
      if (!chosen) throw new Error(`there is no sweep ${name}`)
      return runOnce(chosen, { ...operator, ...change })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
