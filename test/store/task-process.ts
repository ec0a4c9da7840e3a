import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { type RateLimitStatus, RateLimits } from '../../server/accounts/rate-limits.ts'
import { JobLease } from '../../server/jobs/job-lease.ts'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import { plansWith } from '../support/plans.ts'
import { TIMES } from './task-processes.ts'
import { openStore } from './test-database.ts'

// A process that shares the data of a test. For each line `TASK ADDRESS` on standard input it opens the store there,
// runs the task and prints the result as JSON.

const tasks: Record<string, (store: Store) => Promise<unknown>> = {
  /** Reads a number, waits, and writes the next one: detects lost updates. */
  async increment(store) {
    for (let time = 0; time < TIMES; time++) {
      await store.write('relaxed', { site: 'a-site' }, async (tx) => {
        const site = await tx.sites.bySlug('a-site')
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

  /** The clock of this process, and that of its store. */
  clocks: async (store) => ({ own: Date.now(), store: store.clock() }),

  /** Whether it acquires the lease of a job, which it does not release. */
  async job(store) {
    const { clock } = store
    const options = { store, clock, name: 'a-job', holder: randomUUID(), intervalMs: HOUR_MS }
    return (await JobLease.acquire(options)) instanceof JobLease
  },

  /** Charges requests of one address; returns how many were admitted, and the ends of their windows. */
  async charge(store) {
    const rates = { anonymous: TIMES, session: 1, signIn: 1 }
    const limits = new RateLimits({
      store,
      clock: store.clock,
      rates,
      plans: plansWith({ requestsPerHour: 1 }),
    })
    const caller = { account: undefined, address: '192.0.2.1', signedInWith: 'anonymous' } as const
    const charged: RateLimitStatus[] = []
    for (let time = 0; time < TIMES; time++) charged.push(await limits.charge(caller, 'api'))
    return charged.map(({ admitted, reset }) => ({ admitted, reset }))
  },

  /** Stores a challenge for two minutes; returns how many challenges are valid now. */
  async challenge(store) {
    const now = store.clock()
    const challenge = { type: 'http-01', name: 'a.test', token: randomUUID(), keyAuthorization: '' } as const
    await store.execute('durable', ({ acme }) =>
      acme.putChallenge({ ...challenge, expiresAt: now + 2 * MINUTE_MS }),
    )
    return (await store.read.acme.challenges('http-01', now)).length
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
