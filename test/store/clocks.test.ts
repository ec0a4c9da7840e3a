import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import type { BorrowedDatabase } from '../tools/postgres-databases.ts'
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
    const stack = new AsyncDisposableStack()
    let processes: TaskProcesses
    let database: BorrowedDatabase
    let url: string
    before(async () => {
      database = stack.use(await (await sharedPostgres()).borrowDatabase())
      url = database.url
      processes = stack.use(await TaskProcesses.startWithClocks(['+10m', '+0s', '-1h']))
    })
    after(() => stack.disposeAsync())

    test('have one clock, that of the database', async () => {
      const now = Date.now()
      const clocks = await processes.run<Clocks>('clocks', url)
      const minutes = clocks.map(({ own }) => Math.round((own - now) / (10 * MINUTE_MS)) * 10)
      assert.deepEqual(minutes, [10, 0, -60])
      for (const { store } of clocks) assert.ok(Math.abs(store - now) < 5 * MINUTE_MS)
    })

    test('admit exactly as many requests in an hour as the limit says', async () => {
      const charge = async () => {
        await database.clear()
        return (await processes.run<Charge[]>('charge', url)).flat()
      }
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
      const acquired = await processes.run<boolean>('job', url)
      assert.equal(acquired.filter(Boolean).length, 1)
    })

    test('respond to the challenges of each other until these expire', async () => {
      await processes.run('challenge', url)
      for (const valid of await processes.run<number>('challenge', url))
        assert.ok(valid > 3, `${valid} are valid`)
    })
  },
)
