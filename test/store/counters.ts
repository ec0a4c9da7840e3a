import assert from 'node:assert/strict'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import type { Promises } from './contract.ts'
import { siteRow } from './rows.ts'

const RATES = { anonymous: 50, session: 50, signIn: 50 }
const PLAN = { name: 'A plan', requestsPerHour: 50, domains: 1 }
const CALLER = { account: undefined, address: '192.0.2.1', signedInWith: 'anonymous' } as const

export function storeCounters(promises: Promises): void {
  promises('a statement adds to a counter exactly, from several stores at the same time', async (open) => {
    const stores = [await open(), await open()]
    const counts = await Promise.all(
      Array.from({ length: 60 }, (_, number) =>
        stores[number % 2]!.execute(number % 3 === 0 ? 'durable' : 'relaxed', ({ counters }) =>
          counters.add('a caller', 0),
        ),
      ),
    )
    assert.deepEqual(
      counts.toSorted((one, other) => one - other),
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
    assert.equal(await stores[0]!.read.counters.value('a caller', 0), 60)
  })

  promises('a failed statement is rejected and changes nothing', async (open) => {
    const store = await open()
    await store.execute('durable', ({ sites }) => sites.insert(siteRow('a-site', { title: 'as it was' })))
    await assert.rejects(store.execute('durable', ({ sites }) => sites.insert(siteRow('a-site'))))
    assert.equal((await store.read.sites.bySlug('a-site'))?.title, 'as it was')
  })

  promises(
    'the limit of a caller admits exactly as many requests as it says, over all nodes',
    async (open) => {
      const clock = () => 1000 * HOUR_MS
      const nodes = [await open(), await open()].map((store) => rateLimits(store, clock))
      const charged = await Promise.all(
        Array.from({ length: 120 }, (_, number) => nodes[number % 2]!.charge(CALLER, 'api')),
      )
      assert.equal(charged.filter(({ admitted }) => admitted).length, RATES.anonymous)
    },
  )
}

function rateLimits(store: Store, clock = store.clock): RateLimits {
  return new RateLimits({ store, clock, rates: RATES, plans: { free: PLAN, hobby: PLAN } })
}
