import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AcmeError } from '../../packages/acme-client/acme.ts'
import { countFailure, reserve, type Share } from '../../server/certificates/ca-rate-limits.ts'
import { requestCertificate } from '../../server/certificates/maintenance.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { siteRow } from '../store/rows.ts'
import { activate, type Issuing, NAME, startIssuing } from './fixture.ts'
import type { SimulatedCa } from './simulated-ca.ts'

interface OrderOptions {
  renewal?: boolean
  left?: number
  share?: Share
}

function earliestOrder(
  issuing: Issuing,
  name: string,
  { renewal: isRenewal = false, left: lifeLeft = 0, share }: OrderOptions = {},
) {
  const { store, time, parts } = issuing
  return store.write('relaxed', {}, (tx) =>
    reserve({ tx, directory: parts.directory }, { name, isRenewal, lifeLeft, share }, time.now),
  )
}

/** More than the CA accepts in three hours. */
const MAX_ORDERS = 301

/** The number of orders of a kind that the budget allows now. */
async function roomFor(issuing: Issuing, request: { renewal?: boolean; left?: number }): Promise<number> {
  let orders = 0
  while (
    orders < MAX_ORDERS &&
    (await earliestOrder(issuing, `www.domain-${orders}.test`, request)) === undefined
  )
    orders++
  return orders
}

test('renewals that can wait leave budget for names without a certificate, and both for urgent ones', async () => {
  await using issuing = await startIssuing()
  assert.equal(await roomFor(issuing, { left: 0.4 }), 100)
  assert.equal(await roomFor(issuing, { left: 0 }), 100)
  assert.equal(await roomFor(issuing, { left: 0.1 }), 70)
  const soon = (await earliestOrder(issuing, NAME, { left: 0.01 }))! - issuing.time.now
  const late = (await earliestOrder(issuing, NAME, { left: 0.3 }))! - issuing.time.now
  assert.ok(
    soon >= 3 * HOUR_MS && soon < 3 * HOUR_MS + 2 * MINUTE_MS && late > soon + 30 * MINUTE_MS,
    `${soon} ${late}`,
  )
  assert.equal(
    await earliestOrder(issuing, NAME, { renewal: true, left: 0.4 }),
    undefined,
    'renewals do not count',
  )
  issuing.time.now += 3 * HOUR_MS + SECOND_MS
  assert.equal(await roomFor(issuing, { left: 0.1 }), 270)
})

test('the budget is four certificates for the same names in 7 days, and four failures of a name in an hour', async () => {
  await using issuing = await startIssuing()
  const { store, time, parts } = issuing
  const { directory } = parts
  const start = time.now
  for (let order = 0; order < 4; order++, time.now += HOUR_MS) {
    assert.equal(await earliestOrder(issuing, '*.sites.test'), undefined)
    const certificate = { name: '*.sites.test', order: `order/${order}`, isRenewal: false, lifeLeft: 0 }
    const count = () => store.write('relaxed', {}, (tx) => reserve({ tx, directory }, certificate, time.now))
    assert.equal(await count(), undefined)
    if (order < 3) assert.equal(await count(), undefined)
  }
  assert.equal(await earliestOrder(issuing, '*.sites.test'), start + 7 * DAY_MS)
  const share = { accountId: 'ann', root: 'sites.test' }
  assert.equal(await earliestOrder(issuing, '*.sites.test', { share }), start + 7 * DAY_MS)
  assert.equal(await earliestOrder(issuing, NAME), undefined)
  time.now = start + 7 * DAY_MS + SECOND_MS
  assert.equal(await earliestOrder(issuing, '*.sites.test'), undefined)

  const failing = time.now
  for (let order = 0; order < 4; order++, time.now += MINUTE_MS)
    await store.write('relaxed', {}, (tx) =>
      countFailure({ tx, directory }, { name: NAME, order: `order/f${order}` }, time.now),
    )
  assert.equal(await earliestOrder(issuing, NAME, { renewal: true }), failing + HOUR_MS)
  assert.equal(await earliestOrder(issuing, '*.sites.test'), undefined)
})

/** Orders certificates for the names in sequence; returns how many were issued without a wait. */
async function certified(issuing: Issuing, names: readonly string[], account: string): Promise<number> {
  const certificates = issuing.node()
  for (const name of names) await activate(issuing.store, certificates, name, account)
  await certificates.runDue()
  const rows = await Promise.all(names.map((name) => issuing.row(name)))
  return rows.filter((row) => row.chain !== null).length
}

test('an account cannot exhaust the orders of others, and gets its remaining certificates later', async () => {
  await using issuing = await startIssuing()
  const many = Array.from({ length: 30 }, (_, number) => `www.many-${number}.test`)
  assert.equal(await certified(issuing, many, 'greedy'), 20)
  assert.equal(await certified(issuing, ['www.modest.test'], 'modest'), 1)
  const certificates = issuing.node()
  issuing.time.now += 3 * HOUR_MS + SECOND_MS
  await certificates.runDue()
  assert.ok((await issuing.row(many.at(-1))).chain)
})

test('a registrable domain has its own budget, across accounts', async () => {
  await using issuing = await startIssuing()
  let count = 0
  for (let account = 0; account < 5; account++) {
    const names = Array.from({ length: 10 }, (_, number) => `n${number}.of-${account}.shared.test`)
    count += await certified(issuing, names, `account-${account}`)
  }
  assert.equal(count, 40)
  assert.equal(await certified(issuing, ['www.shared.co.uk'], 'other'), 1)
  assert.equal(await certified(issuing, ['www.other.co.uk'], 'other'), 1)
})

for (const [what, fail] of [
  ['orders that the CA does not accept', (ca: SimulatedCa) => failOrders(ca)],
  ['failed validations', (ca: SimulatedCa) => failValidations(ca)],
] as const)
  test(`${what} for half a day use up no certificates of the week`, async () => {
    await using issuing = await startIssuing()
    const { store, ca, time } = issuing
    const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 8 } })
    await store.write('durable', {}, async (tx) => {
      for (let number = 0; number < 3; number++) {
        const live = { ownerId: `owner-${number}`, liveVersionId: 'v', createdAt: number }
        await tx.sites.insert(siteRow(`site-${number}`, live))
      }
    })
    for (let number = 0; number < 3; number++)
      await activate(store, certificates, `n${number}.shared.test`, `account-${number}`)
    fail(ca)
    const pass = async (milliseconds: number) => {
      for (const end = time.now + milliseconds; time.now < end && ca.certificates < 6; )
        await certificates.runDue().then(() => (time.now += 5 * MINUTE_MS))
    }
    await pass(DAY_MS / 2)
    assert.ok(ca.requests.order >= 24, `${ca.requests.order}`)
    ca.before = () => undefined
    await pass(1.2 * DAY_MS)
    assert.equal(ca.certificates, 6)
    assert.deepEqual(ca.limits.passed, [])
  })

function failOrders(ca: SimulatedCa): void {
  ca.before = (step) => {
    if (step === 'order') throw new AcmeError('unreachable', 'status 503')
  }
}

function failValidations(ca: SimulatedCa): void {
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
}

test('orders that were placed concurrently exceed no limit of certificates, and those that wait are kept', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 8 } })
  const { promise: allPlaced, resolve } = Promise.withResolvers<void>()
  ca.before = (step) => {
    if (step !== 'authorize') return undefined
    if (ca.requests.authorize === 10) resolve()
    return allPlaced
  }
  const names = Array.from({ length: 10 }, (_, number) => `site-${number}.sites.test`)
  await store.write('durable', {}, async (tx) => {
    for (const [number, name] of names.entries()) {
      const live = { ownerId: `owner-${number}`, liveVersionId: 'v', updatedAt: 1 }
      await tx.sites.insert(siteRow(`site-${number}`, live))
      await requestCertificate(tx, name, time.now)
    }
  })
  await certificates.runDue()
  assert.deepEqual([ca.requests.order, ca.certificates], [10, 8])
  const rows = await Promise.all(names.map((name) => issuing.row(name)))
  const waiting = rows.filter((row) => row.chain === null)
  assert.ok(waiting.every(({ dueAt, orderUrl }) => dueAt! > time.now + 6 * DAY_MS && orderUrl !== null))
  time.now = Math.max(...waiting.map(({ dueAt }) => dueAt!)) + SECOND_MS
  await certificates.runDue()
  assert.deepEqual(ca.certificates, 10)
})

test('sites of accounts get certificates of their own within the budget, and names without a site never do', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 30 } })
  const live = { ownerId: 'ann', liveVersionId: 'v' }
  await store.write('durable', {}, async (tx) => {
    for (let number = 0; number < 50; number++) {
      const ownerId = `owner-${number % 5}`
      await tx.sites.insert(siteRow(`site-${number}`, { ...live, ownerId, createdAt: number }))
      await tx.sites.insert(siteRow(`anonymous-${number}`, { ...live, ownerId: null }))
    }
    await tx.sites.insert(siteRow('pending', { ...live, liveVersionId: null }))
    await tx.sites.insert(siteRow('deleted', { ...live, deletedAt: 1 }))
  })
  const pass = async (milliseconds: number) => {
    const step = Math.max(10 * MINUTE_MS, milliseconds / 50)
    for (const end = time.now + milliseconds; time.now < end; time.now += step) await certificates.runDue()
  }
  await pass(HOUR_MS)
  assert.equal(ca.certificates, 20, 'in three hours')
  await pass(DAY_MS)
  assert.equal(ca.certificates, 30, 'in a week')
  assert.ok([...ca.ordered.keys()].every((name) => /^site-\d+\.sites\.test$/.test(name)))
  assert.ok(ca.ordered.has('site-49.sites.test') && !ca.ordered.has('site-0.sites.test'), 'the newest first')
  assert.ok((await store.read.certificates.requested()).length < 36, 'others do not enter the queue')

  await store.write('durable', {}, (tx) => tx.sites.update('site-49', { deletedAt: time.now }))
  await activate(store, certificates)
  await pass(2 * HOUR_MS)
  assert.equal(await certificates.repairNames(store), 1)
  assert.ok((await issuing.served())!.fits, 'a custom domain has a budget of its own')
  assert.notEqual((await issuing.row('site-49.sites.test')).unusedSince, null)
  assert.equal((await issuing.row('site-48.sites.test')).unusedSince, null)

  await store.write('durable', {}, async (tx) => {
    await tx.sites.update('site-49', { deletedAt: null, updatedAt: time.now })
    await tx.sites.rename('site-48', 'renamed', time.now)
  })
  await pass(2 * HOUR_MS)
  assert.equal(await certificates.repairNames(store), 1)
  assert.equal((await issuing.row('site-48.sites.test')).unusedSince, null, 'the former name redirects')
  assert.deepEqual(
    [(await issuing.row('site-49.sites.test')).unusedSince, ca.ordered.get('site-49.sites.test')],
    [null, 1],
    'a restored site keeps its certificate',
  )
  await pass(7 * DAY_MS)
  assert.ok(ca.certificates > 45, 'the next week')
})

test('a renamed site that had a certificate gets its next one before newer sites', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 30 } })
  const insert = (name: string, createdAt: number) =>
    store.write('durable', {}, (tx) =>
      tx.sites.insert(siteRow(name, { ownerId: name, liveVersionId: 'v', createdAt, updatedAt: time.now })),
    )
  await insert('old-name', 1)
  await certificates.runDue()
  for (let number = 0; number < 10; number++) await insert(`newer-${number}`, 10 + number)
  await store.write('durable', {}, (tx) => tx.sites.rename('old-name', 'new-name', time.now))
  await certificates.runDue()
  assert.ok(ca.ordered.has('new-name.sites.test'))
  assert.ok(!ca.ordered.has('newer-0.sites.test'))
})

test('an account uses at most a quarter of the certificates of sites', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 40 } })
  const insert = (name: string, ownerId: string, createdAt: number) =>
    store.write('durable', {}, (tx) =>
      tx.sites.insert(siteRow(name, { ownerId, liveVersionId: 'v', createdAt, updatedAt: time.now })),
    )
  for (let number = 0; number < 20; number++) await insert(`many-${number}`, 'greedy', 1000 + number)
  await certificates.runDue()
  for (let number = 0; number < 12; number++) await insert(`one-${number}`, `owner-${number}`, number)
  for (let run = 0; run < 4; run++) await certificates.runDue()
  const countOf = (prefix: string) => [...ca.ordered.keys()].filter((name) => name.startsWith(prefix)).length
  assert.deepEqual([countOf('many'), countOf('one')], [10, 10], 'twenty in three hours')
  for (const end = time.now + 5 * DAY_MS; time.now < end; time.now += HOUR_MS) await certificates.runDue()
  // As the sweep of names does for a restored site.
  await store.write('durable', {}, (tx) => requestCertificate(tx, 'many-0.sites.test', time.now))
  await certificates.runDue()
  assert.deepEqual([countOf('many'), countOf('one')], [10, 12])
  await insert('late', 'late', 0)
  await certificates.runDue()
  assert.ok((await issuing.served('late.sites.test'))!.fits)
})

test('a certificate that is due is issued although the sites without one cannot be listed', async (t) => {
  await using issuing = await startIssuing()
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 30 } })
  t.mock.method(issuing.store.read.certificates, 'missingSites', async () => {
    throw new Error('the query took too long')
  })
  await activate(issuing.store, certificates)
  await certificates.runDue()
  assert.ok((await issuing.served())!.fits)
})

test('a site that changes after all others have certificates gets one, too, and no other site is read again', async (t) => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node({ sites: { domain: 'sites.test', perWeek: 30 } })
  const live = { ownerId: 'ann', liveVersionId: 'v', createdAt: 1, updatedAt: 1 }
  await store.write('durable', {}, async (tx) => {
    await tx.sites.insert(siteRow('first', live))
    await tx.sites.insert(siteRow('claimed', { ...live, ownerId: null }))
  })
  for (let run = 0; run < 2; run++) await certificates.runDue()
  const missingSites = t.mock.method(store.read.certificates, 'missingSites')
  // A change that was committed after the last run.
  const change = { ownerId: 'ann', updatedAt: time.now - SECOND_MS }
  await store.write('durable', {}, (tx) => tx.sites.update('claimed', change))
  await certificates.runDue()
  assert.deepEqual([...ca.ordered.keys()].sort(), ['claimed.sites.test', 'first.sites.test'])
  const since = missingSites.mock.calls.map((call) => call.arguments[2].changedSince)
  assert.deepEqual(since, [time.now - MINUTE_MS])
})
