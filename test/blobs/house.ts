import { readConfig } from '../../server/config.ts'
import { makeLog } from '../../server/log.ts'
import { type House, openHouse } from '../../server/service.ts'
import { runByHand } from '../../server/sweeps/scheduler.ts'
import { type SweepOptions, sweeps } from '../../server/sweeps/sweeps.ts'
import { type RunningService, startTestService } from '../service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

export const silence = makeLog({ level: 'silent', text: false, write: () => undefined })

/** A service, and its rooms once more beside it as another process opens them. */
export interface ServiceAndHouse extends AsyncDisposable {
  service: RunningService
  house: House
  /** Runs a sweep as another process does; `change` puts something else in the place of a room. */
  sweep(name: string, change?: Partial<SweepOptions>): Promise<number>
}

/**
 * Starts both on a data folder in memory. `settings` are environment variables without `SLIPWAY_`.
 */
export async function startServiceAndHouse(settings: Record<string, string>): Promise<ServiceAndHouse> {
  await using started = new AsyncDisposableStack()
  const { path: data } = started.use(await memoryFolder())
  const service = started.use(await startTestService({ ...settings, DATA: data }))
  const given = Object.entries({ ...settings, DATA: data }).map(([name, value]) => [`SLIPWAY_${name}`, value])
  const house = started.use(
    await openHouse(readConfig(Object.fromEntries(given)), {
      log: silence,
      version: 'test',
      clock: () => service.clock.now,
    }),
  )
  const owned = started.move()
  return {
    service,
    house,
    sweep(name, change = {}) {
      const chosen = sweeps.find((one) => one.name === name)
      if (!chosen) throw new Error(`there is no sweep ${name}`)
      return runByHand(chosen, { ...house.sweepOptions, ...change })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
