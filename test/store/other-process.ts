import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Store } from '../../server/store/store.ts'
import { openStore } from './places.ts'

// A process that shares the data of a test: `node other-process.ts TASK TIMES`. For each address that it reads it
// opens the store there, does its task and prints what came of it, as JSON.

/** What one round of a task came to: what it answered, or what went wrong. */
export type Answer = { answer: unknown; trouble?: undefined } | { trouble: string }

type Task = (store: Store, times: number) => Promise<unknown>

const tasks: Record<string, Task> = {
  /** Adds to one counter and answers what it was told each time. */
  async count(store, times) {
    const told: number[] = []
    for (let time = 0; time < times; time++) {
      told.push(await store.write('relaxed', (tx) => tx.counters.add('everybody', 0)))
    }
    return told
  },

  /** Reads a number, waits, writes the next one: the classic way to lose an update. */
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

  /** Takes a lease that is over, as often as asked, each time as somebody else; answers the fences it got. */
  async lease(store, times) {
    const fences: number[] = []
    for (let time = 0; time < times; time++) {
      const fence = await store.write('relaxed', (tx) => tx.leases.acquire('a-sweep', randomUUID(), 1, 0))
      if (fence !== undefined) fences.push(fence)
    }
    return fences
  },

  /** Opening is all. */
  open: (store) => store.check(),
}

const [task = '', times = '1'] = process.argv.slice(2)
process.stdout.write('"ready"\n')
for await (const address of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await perform(address))}\n`)
}

async function perform(address: string): Promise<Answer> {
  try {
    await using store = await openStore(address)
    return { answer: await tasks[task]!(store, Number(times)) }
  } catch (error) {
    return { trouble: String(error) }
  }
}
