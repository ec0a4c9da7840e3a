import { type OperatorContext, openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { type SweepOptions, sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

/** A service, and its dependencies once more beside it as another process opens them. */
export interface ServiceWithInternals extends AsyncDisposable {
  service: RunningService
  operator: OperatorContext
  /** Runs a sweep as another process does; `change` replaces some of its dependencies. */
  sweep(name: string, change?: Partial<SweepOptions>): Promise<number>
}

/** Starts both on a data folder in memory. `settings` are environment variables without `SLIPWAY_`. */
export async function startServiceWithInternals(
  settings: Record<string, string>,
): Promise<ServiceWithInternals> {
  await using started = new AsyncDisposableStack()
  const { path: data } = started.use(await memoryFolder())
  const service = started.use(await startTestService({ ...settings, DATA: data }))
  const operator = started.use(await openOperator(service, settings))
  const owned = started.move()
  return {
    service,
    operator,
    sweep(name, change = {}) {
      const chosen = sweeps.find((one) => one.name === name)
      if (!chosen) throw new Error(`there is no sweep ${name}`)
      return runOnce(chosen, { ...operator.sweepOptions, ...change })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Opens the dependencies of a running service once more, for example to run its jobs immediately. */
export function openOperator(
  { data, baseUrl, clock }: RunningService,
  settings: Record<string, string>,
): Promise<OperatorContext & AsyncDisposable> {
  const given = Object.entries({ BASE_URL: baseUrl, ...settings, DATA: data })
  const config = readConfig(Object.fromEntries(given.map(([name, value]) => [`SLIPWAY_${name}`, value])))
  return openForOperator(config, { log: silentLog, version: 'test', clock: () => clock.now })
}
