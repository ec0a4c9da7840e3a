import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { TaskProcesses } from './task-processes.ts'

interface Clocks {
  own: number
  store: number
}

interface Charge {
  admitted: boolean
  /** Seconds. */
  reset: number
}

describe(
  'nodes whose clocks are ten minutes ahead, right, and an hour behind',
  requires('postgres', 'faketime'),
  () => {
    let processes: TaskProcesses
    before(async () => {
      processes = await TaskProcesses.startWithClocks(['+10m', '+0s', '-1h'])
    })
    after(() => processes[Symbol.asyncDispose]())
    const createDatabase = async () => (await sharedPostgres()).createDatabase()

    test('have one clock, that of the database', async () => {
      const now = Date.now()
      const clocks = await processes.run<Clocks>('clocks', await createDatabase())
      const minutes = clocks.map(({ own }) => Math.round((own - now) / (10 * MINUTE_MS)) * 10)
      assert.deepEqual(minutes, [10, 0, -60])
      for (const { store } of clocks) assert.ok(Math.abs(store - now) < 5 * MINUTE_MS)
    })

    test('admit exactly as many requests in an hour as the limit says', async () => {
      const charge = async () => (await processes.run<Charge[]>('charge', await createDatabase())).flat()
      const isOneHour = (charges: readonly Charge[]) => new Set(charges.map(({ reset }) => reset)).size === 1
      const charges = await charge()
      // An hour may have begun in between, but not twice.
      const { true: admitted = [] } = Object.groupBy(
        isOneHour(charges) ? charges : await charge(),
        (one) => `${one.admitted}`,
      )
      assert.equal(admitted.length, 50)
    })

    test('run a job on one of them', async () => {
      const acquired = await processes.run<boolean>('job', await createDatabase())
      assert.equal(acquired.filter(Boolean).length, 1)
    })

    test('respond to the challenges of each other until these expire', async () => {
      const url = await createDatabase()
      await processes.run('challenge', url)
      for (const valid of await processes.run<number>('challenge', url))
        assert.ok(valid > 3, `${valid} are valid`)
    })
  },
)
