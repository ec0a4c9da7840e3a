import assert from 'node:assert/strict'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { Accounts } from '../../server/accounts/account.ts'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { RateLimits } from '../../server/accounts/rate-limits.ts'
import { Sessions } from '../../server/accounts/session.ts'
import { TicketKeys } from '../../server/certificates/ticket-keys.ts'
import { JobLease, LeaseLostError } from '../../server/jobs/job-lease.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import type { Email } from '../../server/mail/mail.ts'
import type { Store } from '../../server/store/store.ts'
import { CLOCK_TOLERANCE_MS } from '../../server/store/tables/nodes.ts'
import { plansWith } from '../support/plans.ts'
import { silentLog } from '../support/silent-log.ts'
import type { Promises } from './contract.ts'
import { accountRow, domainRow, plain, siteRow } from './rows.ts'

const RATES = { anonymous: 50, session: 50, signIn: 50 }
const PLANS = plansWith({ requestsPerHour: 50 })
const CLIENT = { address: '192.0.2.1', browserTokens: [] }

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

  promises('nodes that start at the same time have the same keys of session tickets', async (open) => {
    const stores = [await open(), await open()]
    for (let start = 1; start <= 5; start++) {
      const clock = () => start * 10 * DAY_MS
      const nodes = stores.map(
        (store) => new TicketKeys({ store, clock, log: silentLog, secretBox: new SecretBox('a secret') }),
      )
      await Promise.all(nodes.map((node) => node.refresh()))
      const [one, other] = nodes.map(({ current }) => current.key.toString('hex'))
      assert.equal(one, other)
      await stores[0]!.write('relaxed', {}, (tx) => tx.ticketKeys.dropBefore(1_000_000))
    }
  })

  promises('a failed statement is rejected and changes nothing', async (open) => {
    const store = await open()
    await store.execute('durable', ({ sites }) => sites.insert(siteRow('a-site', { title: 'as it was' })))
    await assert.rejects(store.execute('durable', ({ sites }) => sites.insert(siteRow('a-site'))))
    assert.equal((await store.read.sites.find('a-site'))?.title, 'as it was')
  })

  promises('the key of a caller far beyond its limit is looked up once a second', async (open) => {
    const clock = { now: 1000 * HOUR_MS }
    const limits = rateLimits(await open(), () => clock.now)
    const lookUp = () => ({
      ...{ account: accountRow('ann'), keyHash: 'a hash', grant: FULL_GRANT },
      ...({ address: '', signedInWith: 'key' } as const),
    })
    const caller = lookUp()
    for (let request = 0; request < RATES.session + 100; request++) await limits.charge(caller, 'api')
    assert.equal(limits.findFlooding('a hash'), undefined)
    await limits.charge(caller, 'api')
    await limits.charge(caller, 'api')
    assert.equal(limits.findFlooding('a hash')?.account.id, 'ann')
    clock.now += 1000
    assert.equal(limits.findFlooding('a hash'), undefined)
    await limits.charge(caller, 'api')
    assert.equal(limits.findFlooding('a hash'), undefined, 'an account from the cache does not return to it')
    await limits.charge(lookUp(), 'api')
    assert.equal(limits.findFlooding('a hash')?.account.id, 'ann')
    clock.now += HOUR_MS
    assert.equal((await limits.charge(caller, 'api')).admitted, true)
    assert.equal(limits.findFlooding('a hash'), undefined)
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
      const expected = names.slice(0, 20).filter((name) => name !== names[7])
      assert.deepEqual((await claim(1019, 40)).sort(), expected)
    },
  )

  promises('new visitors are added up over all nodes and sites', async (open) => {
    const nodes = [await open(), await open()]
    const slugs = ['one', 'two']
    await nodes[0]!.write('relaxed', {}, async (tx) => {
      await tx.visits.getOrCreateSalt(DAY_MS, 'a salt')
      for (const slug of slugs) await tx.sites.insert(siteRow(slug))
    })
    const add = (number: number) => {
      const visitors = ['a visitor', `visitor ${number}`]
      const visits = slugs.map((slug) => ({ slug, requests: 1, bytes: 1, visitors, names: [] }))
      return nodes[number % 2]!.write('relaxed', {}, (tx) => tx.visits.add(DAY_MS, DAY_MS, visits))
    }
    const written = await Promise.all(Array.from({ length: 20 }, (_, number) => add(number)))
    assert.equal(Math.max(...written.map(({ total }) => total)), 42)
    const sum = written.reduce((sum, { added }) => sum + added, 0)
    assert.equal(sum, 42)
  })

  promises('a lease is extended by its holder only, and names its holder to others', async (open) => {
    const [one, other] = [await open(), await open()]
    const ann = { name: 'a-job', holder: 'Ann', until: 100 }
    const bob = { ...ann, holder: 'Bob', until: 200 }
    const acquire = (store: Store, lease: typeof ann, now: number, latest = 1000) =>
      store.execute('relaxed', ({ leases }) => leases.acquireOrFind(lease, now, latest))
    assert.deepEqual(plain(await acquire(one, ann, 0)), { ...ann, fence: 1 })
    assert.deepEqual(plain(await acquire(other, bob, 50)), { ...ann, fence: 1 })
    const extend = (until: number) =>
      one.execute('relaxed', ({ leases }) => leases.extend({ ...ann, fence: 1, until }))
    assert.equal(await extend(150), true)
    assert.deepEqual(plain(await acquire(other, bob, 149)), { ...ann, until: 150, fence: 1 })
    assert.deepEqual(plain(await acquire(other, bob, 150)), { ...bob, fence: 2 })
    assert.equal(await extend(300), false)
    // Bob's clock was ahead, by as much as clocks may differ, and by more.
    const [tolerated, wrong] = [200 - CLOCK_TOLERANCE_MS, 199 - CLOCK_TOLERANCE_MS]
    assert.deepEqual(plain(await acquire(one, ann, 50, tolerated)), { ...bob, fence: 2 })
    const isTaken = (latest: number) => one.read.leases.isTaken('a-job', 50, latest)
    assert.deepEqual([await isTaken(tolerated), await isTaken(wrong)], [true, false])
    assert.deepEqual(plain(await acquire(one, ann, 50, wrong)), { ...ann, fence: 3 })
    assert.equal(await extend(300), false, 'with the token of the earlier lease')
  })

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
    const found = await Promise.all(['before', 'late', 'after'].map((slug) => one.read.sites.find(slug)))
    const slugs = found.map((site) => site?.slug)
    assert.deepEqual(slugs, ['before', undefined, 'after'])
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
  return new RateLimits({ store, clock, rates: RATES, plans: PLANS, secret: 'a secret' })
}
