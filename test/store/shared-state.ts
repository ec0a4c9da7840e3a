import assert from 'node:assert/strict'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { Accounts } from '../../server/accounts/account.ts'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { Sessions } from '../../server/accounts/session.ts'
import { AttemptLimiter } from '../../server/edge/password/attempt-limiter.ts'
import { JobLease, LeaseLostError } from '../../server/jobs/job-lease.ts'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import type { Email } from '../../server/mail/mail.ts'
import type { Store } from '../../server/store/store.ts'
import { plansWith } from '../support/plans.ts'
import type { Promises } from './contract.ts'
import { domainRow, siteRow } from './rows.ts'

const RATES = { anonymous: 50, session: 50, signIn: 50 }
const PLANS = plansWith({ requestsPerHour: 50 })
const CLIENT = { address: '192.0.2.1', browserTokens: [] }
const CALLER = { account: undefined, address: '192.0.2.1', signedInWith: 'anonymous' } as const

export function storeSharedState(promises: Promises): void {
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

  promises('parallel guesses of a password never exceed the limit, over all nodes', async (open) => {
    const clock = () => 1000 * HOUR_MS
    const nodes = [await open(), await open()].map((store) => new AttemptLimiter({ store, clock }))
    const begun = await Promise.all(
      Array.from({ length: 40 }, (_, number) => nodes[number % 2]!.begin('192.0.2.1', 'a-site')),
    )
    assert.equal(begun.filter((attempt) => 'windows' in attempt).length, 5)
  })

  promises('parallel guesses of a sign-in code end it after five, over all nodes', async (open) => {
    const sent: Email[] = []
    const nodes = [await open(), await open()].map((store) => accounts(store, sent))
    const { attempt } = await nodes[0]!.requestCode('ann@example.com', CLIENT)
    const guess = (code: string, node: number) =>
      nodes[node]!.verifyCode({ email: 'ann@example.com', code, attempt }, CLIENT)
    const guesses = await Promise.allSettled(
      Array.from({ length: 20 }, (_, number) => guess('AAAA-AAAA', number % 2)),
    )
    for (const { status } of guesses) assert.equal(status, 'rejected')
    const store = await open()
    const [code] = await store.read.signIns.codes('ann@example.com')
    assert.equal(code?.attemptTries, 5)
    await assert.rejects(guess(sent[0]!.code!, 1), { code: 'INVALID_CODE' })
  })

  promises(
    'a due domain is claimed by one of several nodes, and again after the claim has ended',
    async (open) => {
      const nodes = [await open(), await open()]
      const names = Array.from({ length: 40 }, (_, number) => `site-${String(number).padStart(2, '0')}.test`)
      await nodes[0]!.write('relaxed', {}, async (tx) => {
        for (const [number, name] of names.entries())
          await tx.domains.insert(domainRow(name, { nextCheckAt: number, isSlow: number >= 30 }))
      })
      const claim = async (now: number, limit: number, slow = false) => {
        const claims = nodes.map(({ execute }) =>
          execute('relaxed', ({ domains }) => domains.claimDue(now, { limit, slow, until: now + 1000 })),
        )
        return (await Promise.all(claims)).flat().map(({ domain }) => domain)
      }
      const first: string[] = []
      for (let round = 0; round < 10; round++) first.push(...(await claim(19, 4)))
      assert.deepEqual(first.sort(), names.slice(0, 20))
      assert.deepEqual((await claim(1018, 40)).sort(), names.slice(20, 30))
      assert.deepEqual((await claim(1018, 40, true)).sort(), names.slice(30))
      await nodes[0]!.write('relaxed', {}, (tx) =>
        tx.domains.update({ accountId: 'an-account', domain: names[7]! }, { nextCheckAt: 1000 }),
      )
      assert.deepEqual(await claim(1018, 40), [names[7]])
      assert.deepEqual(
        (await claim(1019, 40)).sort(),
        names.slice(0, 20).filter((name) => name !== names[7]),
      )
    },
  )

  promises('a job writes nothing after another node has acquired its lease', async (open) => {
    const clock = { now: 1000 * HOUR_MS }
    const acquire = async (store: Store, holder: string) => {
      const options = { store, name: 'a-job', holder, intervalMs: HOUR_MS, clock: () => clock.now }
      const lease = await JobLease.acquire(options)
      return lease instanceof JobLease ? lease : undefined
    }
    const [one, other] = [await open(), await open()]
    await using paused = await acquire(one, 'Ann')
    await paused!.store.write('durable', {}, (tx) => tx.sites.insert(siteRow('before')))
    assert.equal(await acquire(other, 'Bob'), undefined)
    clock.now += MINUTE_MS
    await using successor = await acquire(other, 'Bob')
    await assert.rejects(
      paused!.store.write('durable', {}, (tx) => tx.sites.insert(siteRow('late'))),
      LeaseLostError,
    )
    await assert.rejects(
      paused!.store.execute('durable', ({ sites }) => sites.insert(siteRow('late'))),
      LeaseLostError,
    )
    await successor!.store.execute('durable', ({ sites }) => sites.insert(siteRow('after')))
    const found = await Promise.all(['before', 'late', 'after'].map((slug) => one.read.sites.bySlug(slug)))
    assert.deepEqual(
      found.map((site) => site?.slug),
      ['before', undefined, 'after'],
    )
  })
}

function accounts(store: Store, sent: Email[]): Accounts {
  const { clock } = store
  return new Accounts({
    branding: DEFAULT_BRANDING,
    store,
    clock,
    mail: { delivery: 'log', send: async (message) => void sent.push(message) },
    signUp: { kind: 'open' },
    sessions: new Sessions({ store, clock }),
    baseUrl: 'https://example.com',
    secret: 'a secret',
  })
}

function rateLimits(store: Store, clock = store.clock): RateLimits {
  return new RateLimits({ store, clock, rates: RATES, plans: PLANS })
}
