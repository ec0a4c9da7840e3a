import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Store } from '../../server/store/store.ts'
import { TIMES } from './task-processes.ts'
import { openStore } from './test-database.ts'

// A process that shares the data of a test. For each line `TASK ADDRESS` on standard input it opens the store there,
// runs the task and prints the result as JSON.

const tasks: Record<string, (store: Store) => Promise<unknown>> = {
  /** Reads a number, waits, and writes the next one: detects lost updates. */
  async increment(store) {
    for (let time = 0; time < TIMES; time++) {
      await store.write('relaxed', { site: 'a-site' }, async (tx) => {
        const site = await tx.sites.find('a-site')
        await new Promise((resolve) => setImmediate(resolve))
        await tx.sites.update('a-site', { updatedAt: site!.updatedAt + 1 })
      })
    }
  },

  /** Acquires an expired lease, each time as another holder; returns the fencing numbers. */
  async lease(store) {
    const fences: (number | undefined)[] = []
    for (let time = 0; time < TIMES; time++)
      fences.push(await store.write('relaxed', {}, (tx) => tx.leases.acquire('a-sweep', randomUUID(), 1, 0)))
    return fences
  },

  /** Only opens the store. */
  open: (store) => store.check(),
}

process.stdout.write('"ready"\n')
for await (const line of createInterface({ input: process.stdin })) {
  const [task, address] = line.split(' ') as [string, string]
  process.stdout.write(`${JSON.stringify(await perform(task, address))}\n`)
}

async function perform(task: string, address: string): Promise<{ answer: unknown } | { error: string }> {
  try {
    await using store = await openStore(address)
    return { answer: await tasks[task]!(store) }
  } catch (error) {
    return { error: String(error) }
  }
}
