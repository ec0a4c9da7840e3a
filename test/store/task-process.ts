import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Store } from '../../server/store/store.ts'
import { openStore } from './test-database.ts'

// A process that shares the data of a test: `node task-process.ts TASK TIMES`. For each address on standard input it
// opens the store there, runs its task and prints the result as JSON.

export type TaskResult = { answer: unknown; error?: undefined } | { error: string }

type Task = (store: Store, times: number) => Promise<unknown>

const tasks: Record<string, Task> = {
  /** Increments a counter; returns the value of each increment. */
  async count(store, times) {
    const values: number[] = []
    for (let time = 0; time < times; time++) {
      values.push(await store.write('relaxed', (tx) => tx.counters.add('all clients', 0)))
    }
    return values
  },

  /** Reads a number, waits, and writes the next one: detects lost updates. */
  async increment(store, times) {
    for (let time = 0; time < times; time++) {
      await store.write('relaxed', async (tx) => {
        const site = await tx.sites.bySlug('a-site')
        await new Promise((resolve) => setImmediate(resolve))
        await tx.sites.update('a-site', { updatedAt: site!.updatedAt + 1 })
      })
    }
    return 'done'
  },

  /** Acquires an expired lease `times` times, each time as another holder; returns the fencing numbers. */
  async lease(store, times) {
    const fences: number[] = []
    for (let time = 0; time < times; time++) {
      const fence = await store.write('relaxed', (tx) => tx.leases.acquire('a-sweep', randomUUID(), 1, 0))
      if (fence !== undefined) fences.push(fence)
    }
    return fences
  },

  /** Only opens the store. */
  open: (store) => store.check(),
}

const [task = '', times = '1'] = process.argv.slice(2)
process.stdout.write('"ready"\n')
for await (const address of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await perform(address))}\n`)
}

async function perform(address: string): Promise<TaskResult> {
  try {
    await using store = await openStore(address)
    return { answer: await tasks[task]!(store, Number(times)) }
  } catch (error) {
    return { error: String(error) }
  }
}
