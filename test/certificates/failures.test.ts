import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AcmeError } from '../../packages/acme-client/acme.ts'
import { refreshRenewalInfo } from '../../server/certificates/ari.ts'
import type { CaaRecord } from '../../server/domains/dns/dns.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { siteRow } from '../store/rows.ts'
import { activate, activateMany, deactivate, NAME, startActive, startIssuing } from './fixture.ts'
import { SimulatedCa } from './simulated-ca.ts'

test('two concurrent nodes place one order for a name', async () => {
  await using issuing = await startIssuing()
  const nodes = [issuing.node(), issuing.node({ store: await issuing.openStore() }), issuing.node()]
  const names = await activateMany(issuing.store, nodes[0]!, 30)
  await Promise.all([...nodes, ...nodes].map((node) => node.runDue()))
  issuing.time.now += 10 * SECOND_MS
  await Promise.all(nodes.map((node) => node.runDue()))
  assert.deepEqual(
    names.map((name) => issuing.ca.ordered.get(name)),
    names.map(() => 1),
  )
  for (const name of names) assert.ok((await issuing.served(name))!.fits)
})

test('a new name does not wait for a hundred renewals at a slow CA', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  const names = await activateMany(store, certificates, 40)
  while (ca.certificates < names.length) {
    await certificates.runDue()
    time.now += 10 * SECOND_MS
  }
  time.now += 70 * DAY_MS
  const ordered: string[] = []
  ca.before = async (step, [name]) => {
    if (step !== 'order') return
    time.now += 5 * SECOND_MS
    if (ordered.push(name!) === 5) await activate(store, certificates, 'new.test')
  }
  while (ordered.length < names.length + 1) {
    await certificates.runDue()
    time.now += 10 * SECOND_MS
  }
  assert.ok(ordered.indexOf('new.test') < 25, `${ordered.indexOf('new.test')}`)
})

test('a failure backs off with its reason, and ends when its cause is fixed', async () => {
  await using issuing = await startActive()
  const { ca, certificates } = issuing
  ca.before = (step) => {
    if (step === 'authorize') throw new AcmeError('rejected', 'CAA forbids it', { type: 'caa' })
  }
  await certificates.runDue()
  assert.match((await issuing.row()).problem!, /^CAA forbids it/)
  assert.equal(await certificates.runDue(), 0, 'no order before it is due')
  const record = (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(record.status, 'pending')
  assert.equal(Date.parse(record.renewsAt!), (await issuing.row()).dueAt)
  ca.before = () => undefined
  assert.equal(await issuing.next(certificates), 1)
  assert.deepEqual([(await issuing.row()).failures, (await issuing.row()).problem], [0, null])
  assert.deepEqual(ca.limits.passed, [])
  assert.ok(issuing.log.some((line) => line.name === NAME && line.level === 'warn'))
})

test('a renewal that new CAA records forbid is not ordered, keeps its certificate and follows once they permit it', async () => {
  await using issuing = await startIssuing()
  const { ca, store } = issuing
  const records: CaaRecord[] = []
  const certificates = issuing.node({
    dns: { caa: async (name) => ({ records: name === NAME ? records : [] }) },
  })
  await activate(store, certificates)
  assert.equal(await certificates.runDue(), 1)
  issuing.time.now = (await issuing.row()).renewAt!
  records.push({ critical: false, tag: 'issue', value: 'other.example' })
  const [before, orders] = [await issuing.served(), ca.requests.order]
  for (let tries = 0; tries < 3; tries++) assert.equal(await issuing.next(certificates), 0)
  assert.equal(ca.requests.order, orders)
  assert.deepEqual(await issuing.served(), before)
  const { status, problem, renewsAt } = (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(status, 'active')
  assert.match(
    problem!,
    /^www\.example\.test has the CAA record 0 issue "other\.example", which does not permit .+ add the CAA record 0 issue "ca\.example" to www\.example\.test\.$/,
  )
  assert.equal(Date.parse(renewsAt!), (await issuing.row()).dueAt)
  records.push({ critical: false, tag: 'issue', value: 'ca.example' })
  assert.equal(await issuing.next(certificates), 1)
  assert.equal((await issuing.row()).problem, null)
})

test('a certificate that expired because of CAA records does not stay the first to expire', async () => {
  await using issuing = await startIssuing()
  const { store, time } = issuing
  const records: CaaRecord[] = []
  const certificates = issuing.node({
    dns: { caa: async (name) => ({ records: name === NAME ? records : [] }) },
  })
  await activate(store, certificates)
  await certificates.runDue()
  const { notAfter } = (await store.read.certificates.nextToExpire())!
  records.push({ critical: false, tag: 'issue', value: 'other.example' })
  time.now = (await issuing.row()).renewAt!
  while (time.now < notAfter) {
    assert.notEqual(await store.read.certificates.nextToExpire(), undefined)
    await issuing.next(certificates)
  }
  if ((await issuing.row()).dueAt !== null) await issuing.next(certificates)
  assert.equal(await store.read.certificates.nextToExpire(), undefined)
  assert.match((await issuing.row()).problem!, /CAA record .* to retry, run: slipway domains check/)
  records.length = 0
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 1)
})

test('retries end after a week of failures, with that reason, and restart when the domain is active again', async () => {
  await using issuing = await startActive()
  const { ca, store, time, certificates } = issuing
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
  const started = time.now
  await certificates.runDue()
  for (let tries = 0; tries < 30 && (await issuing.row()).dueAt !== null; tries++)
    await issuing.next(certificates)
  assert.ok(time.now - started >= 7 * DAY_MS && time.now - started < 9 * DAY_MS)
  const lastProblem =
    /^nothing was found .* Retries ended after a week; to retry, run: slipway domains check www\.example\.test$/
  assert.match((await issuing.row()).problem!, lastProblem)
  const { renewsAt } = (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(renewsAt, null)
  time.now += 30 * DAY_MS
  const orders = ca.requests.order
  await certificates.runDue()
  assert.equal(ca.requests.order, orders)
  ca.before = () => undefined
  await store.write('durable', {}, (tx) => certificates.request(tx, NAME))
  assert.equal(await certificates.runDue(), 1)
})

test('names of the service are retried daily without an end, and its own also at each start', async () => {
  await using issuing = await startIssuing()
  const { ca, store, time } = issuing
  const [own, site] = ['slipway.test', 'blog.sites.test']
  const deps = { own: [own], sites: { domain: 'sites.test', perWeek: 40 } }
  await store.write('durable', {}, (tx) =>
    tx.sites.insert(siteRow('blog', { ownerId: 'ann', liveVersionId: 'v' })),
  )
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
  const certificates = issuing.node(deps)
  for (const end = time.now + 20 * DAY_MS; time.now < end; time.now += 15 * MINUTE_MS)
    await certificates.runDue()
  for (const name of [own, site]) {
    const { failures, dueAt } = await issuing.row(name)
    assert.ok(failures > 15 && dueAt! - time.now <= 1.1 * DAY_MS, name)
  }
  ca.before = () => undefined
  assert.equal(await certificates.runDue(), 0, 'it waits')
  assert.equal(await issuing.node(deps).runDue(), 1)
  assert.ok((await issuing.served(own))!.fits)
  assert.equal(await issuing.next(certificates, site), 1)
  assert.deepEqual(ca.limits.passed, [])
})

test('a start orders no certificate for a name of the service before the time that the CA named for it', async () => {
  await using issuing = await startIssuing()
  const { ca, time } = issuing
  const own = 'slipway.test'
  const start = () => issuing.node({ own: [own] })
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
  await start().runDue()
  const until = time.now + DAY_MS
  ca.before = (step) => {
    if (step === 'order')
      throw new AcmeError('rate-limited', `too many certificates for ${own}`, { notBefore: until })
  }
  await start().runDue()
  const { failures, dueAt } = await issuing.row(own)
  assert.deepEqual([failures, dueAt], [1, until])
  ca.before = () => undefined
  assert.equal(await start().runDue(), 0)
  time.now = until
  assert.equal(await start().runDue(), 1)
})

for (const [kind, problem] of [
  ['rate-limited', 'too many new orders (300) from this account'],
  ['unreachable', 'the service is down for maintenance'],
] as const)
  test(`a Retry-After of a day pauses all names and nodes, without failures of names: ${problem}`, async () => {
    await using issuing = await startIssuing()
    const { ca, store, time } = issuing
    const certificates = issuing.node()
    const names = await activateMany(store, certificates, 40)
    const until = time.now + DAY_MS
    ca.before = (step) => {
      if (step === 'order' && time.now < until) throw new AcmeError(kind, problem, { notBefore: until })
    }
    await certificates.runDue()
    const orders = ca.requests.order
    assert.ok(orders <= 10, `${orders} concurrent orders`)
    const other = issuing.node({ store: await issuing.openStore() })
    for (let hours = 0; hours < 23; hours++) {
      time.now += HOUR_MS
      for (const node of [certificates, other]) assert.equal(await node.runDue(), 0)
    }
    assert.equal(ca.requests.order, orders)
    for (const name of names) assert.equal((await issuing.row(name)).failures, 0)
    time.now = until + MINUTE_MS
    assert.equal(await other.runDue(), names.length)
  })

test('a start with another CA orders what waits for the former one, within limits of its own', async () => {
  await using issuing = await startIssuing()
  const { ca, store, time } = issuing
  const certificates = issuing.node()
  const [refused, ...names] = [NAME, ...Array.from({ length: 30 }, (_, number) => `www.many-${number}.test`)]
  ca.before = (step, [name]) => {
    if (step === 'authorize' && name === refused) throw ca.failValidation([refused])
  }
  await activate(store, certificates, refused)
  await certificates.runDue()
  while ((await issuing.row(refused)).dueAt !== null) await issuing.next(certificates, refused)
  ca.before = (step) => {
    if (step === 'finalize')
      throw new AcmeError('rate-limited', 'too many new orders (300) from this account', {
        notBefore: time.now + 2 * DAY_MS,
      })
  }
  for (const name of names) await activate(store, certificates, name, 'ann')
  for (let run = 0; run < 5; run++) await certificates.runDue()
  const other = new SimulatedCa({ clock: () => time.now, life: 90 * DAY_MS })
  const deps = { acme: other, directory: 'https://other.example/directory' }
  assert.equal(await issuing.node(deps).runDue(), 21)
  assert.ok((await issuing.served(refused))!.fits, 'its retries had ended')
  assert.equal(await issuing.node(deps).runDue(), 0, 'the limit of the account')
  assert.equal(await certificates.runDue(), 0, 'the former CA')
})

test('a start with another CA orders what waits for the former one, also weeks after its last order', async () => {
  await using issuing = await startActive()
  const { ca, time, certificates } = issuing
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
  while ((await issuing.row()).dueAt !== null) await issuing.next(certificates)
  for (let weeks = 0; weeks < 3; weeks++) {
    time.now += 7 * DAY_MS
    await certificates.runDue()
  }
  const other = new SimulatedCa({ clock: () => time.now, life: 90 * DAY_MS })
  const deps = { acme: other, directory: 'https://other.example/directory' }
  assert.equal(await issuing.node(deps).runDue(), 1)
  assert.ok((await issuing.served())!.fits)
})

test('a certificate whose renewal is brought forward is replaced at another CA', async () => {
  await using issuing = await startActive()
  const { store, certificates, time } = issuing
  await certificates.runDue()
  const change = { dueAt: 0, renewAt: 0, hasRenewalInfo: false }
  await store.write('durable', {}, (tx) => tx.certificates.update(NAME, change))
  const other = new SimulatedCa({ clock: () => time.now, life: 80 * DAY_MS })
  await issuing.node({ acme: other, directory: 'https://other.example/directory' }).runDue()
  assert.equal((await issuing.served())!.notAfter, other.issued.values().next().value!.notAfter)
})

test('a limit for one name delays only that name', async () => {
  for (const sentence of [
    `too many certificates (5) already issued for this exact set of identifiers in the last 168h0m0s`,
    `too many failed authorizations (5) for "${NAME}" in the last 1h0m0s`,
    `too many certificates (50) already issued for "example.test" in the last 168h0m0s`,
  ]) {
    await using issuing = await startActive()
    const { ca, store, time, certificates } = issuing
    const notBefore = time.now + 2 * DAY_MS
    ca.before = (step, [name]) => {
      if (step === 'order' && name === NAME && time.now < notBefore)
        throw new AcmeError('rate-limited', sentence, { notBefore })
    }
    await certificates.runDue()
    await activate(store, certificates, 'www.other.test')
    assert.equal(await certificates.runDue(), 1, sentence)
    assert.equal((await issuing.row()).dueAt, notBefore)
    const { order: before } = { ...ca.requests }
    await deactivate(store, certificates, NAME)
    await activate(store, certificates, NAME)
    assert.equal(await certificates.runDue(), 0, 'removed and added again')
    assert.equal(ca.requests.order, before)
    assert.equal((await issuing.row()).dueAt, notBefore)
    assert.equal(await issuing.next(certificates), 1)
  }
})

test('an unavailable CA is probed with one name, and issuance resumes within minutes', async () => {
  await using issuing = await startIssuing()
  const { ca, store, time } = issuing
  const certificates = issuing.node()
  const names = await activateMany(store, certificates, 50)
  let away = true
  ca.before = () => {
    if (away) throw new AcmeError('unreachable', 'the CA does not answer')
  }
  const started = time.now
  for (; time.now - started < 3 * HOUR_MS; time.now += 10 * SECOND_MS) await certificates.runDue()
  assert.ok(ca.requests.order < 3 * 14 + 20, `${ca.requests.order} orders`)
  for (const name of names) assert.ok((await issuing.row(name)).failures <= 1)
  away = false
  const back = time.now
  for (let got = 0; got < names.length; time.now += 10 * SECOND_MS) got += await certificates.runDue()
  assert.ok(time.now - back <= 12 * MINUTE_MS)
})

test('renewal information that the CA refuses for one certificate is requested for the others', async () => {
  await using issuing = await startIssuing()
  const { store, ca, parts } = issuing
  const certificates = issuing.node()
  const names = await activateMany(store, certificates, 3)
  await certificates.runDue()
  const requested: string[] = []
  ca.before = (step, [name]) => {
    if (step !== 'information') return
    requested.push(name!)
    if (name === names[0]) throw new AcmeError('rejected', 'unknown issuer')
  }
  await refreshRenewalInfo(parts, await store.read.certificates.summaries(names))
  assert.deepEqual(requested.sort(), names)
  const rows = await Promise.all(names.map((name) => issuing.row(name)))
  assert.deepEqual(
    rows.map((row) => row.hasRenewalInfo),
    [false, true, true],
  )
  const notBefore = issuing.time.now + 5 * HOUR_MS
  ca.before = () => {
    throw new AcmeError('unreachable', 'down', { notBefore })
  }
  await refreshRenewalInfo(parts, await store.read.certificates.summaries(names))
  for (const name of names) assert.equal((await issuing.row(name)).informationAt, notBefore, 'Retry-After')
})

test('checks of names do not wait for a CA that does not answer, one after the other', async () => {
  await using issuing = await startIssuing()
  const certificates = issuing.node()
  let requests = 0
  issuing.ca.caaIdentity = async () => {
    requests++
    throw new AcmeError('unreachable', 'the CA does not answer')
  }
  for (let check = 0; check < 3; check++) assert.equal(await certificates.caaPolicy(NAME), undefined)
  assert.equal(requests, 1)
  issuing.time.now += MINUTE_MS
  await certificates.caaPolicy(NAME)
  assert.equal(requests, 2)
})

test('a CA that fails for some names delays no other', async () => {
  await using issuing = await startActive({ renewalInformation: false })
  const { ca, store, time, certificates } = issuing
  await certificates.runDue()
  const first = (await issuing.served())!
  const [bad, worse] = ['www.bad.test', 'www.worse.test']
  ca.before = (_step, [name]) => {
    if (name === bad || name === worse) throw new AcmeError('unreachable', 'the CA responds with 503')
  }
  const { renewAt } = await issuing.row()
  time.now = renewAt! - 2 * HOUR_MS
  for (const name of [bad, worse]) await activate(store, certificates, name)
  for (const end = time.now + 3 * HOUR_MS; time.now < end; time.now += 10 * SECOND_MS)
    await certificates.runDue()
  assert.notEqual((await issuing.served())!.id, first.id)
  for (const name of [bad, worse]) assert.ok((await issuing.row(name)).failures > 0, name)
})

test('an order for which the CA fails is replaced, also when no other name is due', async () => {
  await using issuing = await startActive()
  const { ca, time, certificates } = issuing
  ca.before = (step) => {
    if (step !== 'order' && ca.ordered.get(NAME) === 1)
      throw new AcmeError('unreachable', 'the CA responds with 503')
  }
  for (const end = time.now + HOUR_MS; time.now < end; time.now += 10 * SECOND_MS) await certificates.runDue()
  assert.ok((await issuing.served())!.fits)
  assert.equal(ca.requests.order, 2)
})

for (const [kind, firstWithin, renewalWithin] of [
  ['unreachable', 20 * MINUTE_MS, 20 * MINUTE_MS],
  ['timeout', 1.1 * DAY_MS, 12 * HOUR_MS],
] as const)
  test(`first certificates and renewals follow after hours in which the CA could not sign: ${kind}`, async () => {
    await using issuing = await startActive({ life: 160 * HOUR_MS })
    const { ca, time, certificates } = issuing
    const cannotSign = async () => {
      ca.before = (step) => {
        if (step === 'finalize') throw new AcmeError(kind, 'the CA cannot sign')
      }
      const end = time.now + 3 * HOUR_MS
      while (time.now < end) await issuing.next(certificates)
      assert.ok(time.now < end + DAY_MS, 'no limit of the service is reached')
      ca.before = () => undefined
    }
    const followsWithin = async (milliseconds: number) => {
      const [issued, end] = [ca.certificates, time.now + milliseconds]
      while (ca.certificates === issued) await issuing.next(certificates)
      assert.ok(time.now <= end, `${time.now - end}`)
      assert.equal(ca.certificates, issued + 1)
      assert.ok((await issuing.served())!.fits)
    }
    await cannotSign()
    assert.ok(ca.ordered.get(NAME)! > 1, 'the order may be the cause')
    await followsWithin(firstWithin)
    const first = (await issuing.served())!
    await issuing.next(certificates)
    time.now = (await issuing.row()).renewAt!
    await cannotSign()
    assert.equal((await issuing.row()).hasRenewalInfo, true, 'nothing was issued in its place')
    await followsWithin(renewalWithin)
    assert.ok(!ca.issued.has(first.id), 'the order names the replaced certificate')
    assert.deepEqual(ca.limits.passed, [])
  })

test('an order that the CA invalidates instead of signing is replaced, and does not count as a certificate', async () => {
  await using issuing = await startActive()
  const { ca, store, time, parts, certificates } = issuing
  let signs = false
  const began = time.now
  ca.before = (step, names) => {
    if (step !== 'finalize' || signs) return
    ca.failValidation(names)
    throw new AcmeError('rejected', 'a CAA record of the name forbids it', { type: 'caa' })
  }
  for (let tries = 0; tries < 6; tries++) {
    await issuing.next(certificates)
    time.now += HOUR_MS
  }
  const counted = { kind: 'certificate', directory: parts.directory, names: [NAME] } as const
  assert.equal(await store.read.acme.nthLatestRequest(counted, 2, began), undefined)
  signs = true
  assert.equal(await issuing.next(certificates), 1)
})

test('four certificates of a name in a week keep the next order waiting, and its record says so', async () => {
  await using issuing = await startActive({ renewalInformation: false })
  const { ca, time, certificates } = issuing
  ca.chain = (issued) => ({ ...issued, key: 'of another name' })
  const began = time.now
  for (let tries = 0; tries < 5; tries++) await issuing.next(certificates)
  const [{ dueAt }, record] = [await issuing.row(), (await certificates.statuses([NAME])).get(NAME)!]
  assert.ok(dueAt! >= began + 7 * DAY_MS)
  assert.match(
    record.problem!,
    /^The issued certificate is not usable: .+\. The order waits until \S+ for the rate limits of the certificate authority\.$/,
  )
  assert.equal(record.renewsAt, new Date(dueAt!).toISOString())
  assert.ok(
    issuing.log.some(
      ({ message, name }) => message === 'certificate order waits: rate limit' && name === NAME,
    ),
  )
  assert.equal(ca.certificates, 4)
})

test('a chain that does not match is not used; the old one remains, and the record has the reason', async () => {
  await using issuing = await startActive()
  const { ca, time, certificates } = issuing
  await certificates.runDue()
  const first = (await issuing.served())!
  await issuing.next(certificates)
  assert.equal((await issuing.row()).hasRenewalInfo, true)
  time.now = (await issuing.row()).renewAt!
  ca.chain = (issued) => ({ ...issued, key: 'of another name' })
  const orders = ca.requests.order
  await certificates.runDue()
  assert.equal((await issuing.row()).hasRenewalInfo, false, 'a replaced certificate is not replaced again')
  while ((await issuing.row()).dueAt! < first.notAfter) await issuing.next(certificates)
  assert.ok(ca.requests.order - orders < 30, 'no loop of orders')
  assert.deepEqual(ca.limits.passed, [])
  assert.deepEqual(await issuing.served(), first)
  const record = (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(record.status, 'active')
  assert.match(record.problem!, /is not usable: it is for another key/)
  ca.chain = (issued) => issued
  await issuing.next(certificates)
  assert.notEqual((await issuing.served())!.id, first.id)
})

test('a clock ahead by three years orders a few certificates a day, within the limits', async () => {
  await using issuing = await startIssuing()
  const { ca, store, time, parts } = issuing
  let jump = 0
  const certificates = issuing.node({ ...parts, clock: () => time.now + jump })
  const names = ['www.one.test', 'www.two.test', 'www.three.test']
  for (const name of names) await activate(store, certificates, name)
  await certificates.runDue()
  time.now += 2 * DAY_MS
  jump = 3 * 365 * DAY_MS
  for (const stop = time.now + DAY_MS; time.now < stop; time.now += 15 * MINUTE_MS)
    await certificates.runDue()
  const orders = ca.requests.order - names.length
  assert.ok(orders <= names.length * 6, `${orders} orders in a day`)
  assert.deepEqual(ca.limits.passed, [])
})

test('a clock set back by four hours, after an order and while the CA is unreachable, delays renewals by no more', async () => {
  await using issuing = await startActive()
  const { ca, store, time, certificates } = issuing
  await certificates.runDue()
  await activate(store, certificates, 'www.next.test')
  ca.before = () => {
    throw new AcmeError('unreachable', 'the CA does not answer')
  }
  await certificates.runDue()
  ca.before = () => undefined
  time.now -= 4 * HOUR_MS
  let orders = ca.requests.order
  for (const stop = time.now + 4 * HOUR_MS + 10 * MINUTE_MS; time.now < stop; time.now += MINUTE_MS)
    await certificates.runDue()
  assert.ok((await issuing.served('www.next.test'))!.fits)
  assert.equal(ca.requests.order - orders, 1)
  orders = ca.requests.order
  for (const stop = time.now + 100 * DAY_MS; time.now < stop; time.now += 12 * HOUR_MS)
    await certificates.runDue()
  for (const name of [NAME, 'www.next.test'])
    assert.ok((await issuing.served(name))!.notAfter - time.now > 25 * DAY_MS, name)
  assert.ok(ca.requests.order - orders <= 4)
  assert.deepEqual(ca.limits.passed, [])
})

test('a name that waits is retried on request of its owner, once an hour, and for as many days', async () => {
  await using issuing = await startActive()
  const { ca, time, certificates } = issuing
  ca.before = (step, names) => {
    if (step === 'authorize') throw ca.failValidation(names)
  }
  for (let tries = 0; tries < 4; tries++) await issuing.next(certificates)
  const { dueAt, failures } = await issuing.row()
  const [orders, began] = [ca.requests.order, time.now]
  await certificates.retry(NAME)
  assert.equal((await issuing.row()).dueAt, dueAt, 'an order was placed a moment ago')
  for (; time.now < began + 20 * HOUR_MS; time.now += 5 * MINUTE_MS) {
    await certificates.retry(NAME)
    await certificates.runDue()
  }
  assert.ok(ca.requests.order - orders >= 15 && ca.requests.order - orders <= 20, `${ca.requests.order}`)
  assert.equal((await issuing.row()).failures, failures)
  assert.deepEqual(ca.limits.passed, [])
  ca.before = () => undefined
  time.now += HOUR_MS
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 1)
})

test('a name whose retries have ended is retried once on request of its owner', async () => {
  await using issuing = await startActive()
  const { ca, certificates } = issuing
  let provable = false
  ca.validate = async () => {
    if (!provable) throw ca.failValidation([NAME])
  }
  await certificates.runDue()
  while ((await issuing.row()).dueAt !== null) await issuing.next(certificates)
  const failed = ca.requests.order
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 0)
  assert.equal(ca.requests.order, failed + 1)
  assert.equal((await issuing.row()).dueAt, null, 'no further retries')
  provable = true
  assert.equal(await certificates.runDue(), 0)
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 1)
  await certificates.retry(NAME)
  await certificates.retry('unknown.example.test')
  assert.equal(await certificates.runDue(), 0)
})

test('removing and adding a failing name does not reset its back-off', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  ca.validate = async () => {
    throw ca.failValidation([NAME])
  }
  const again = async () => {
    await deactivate(store, certificates)
    await activate(store, certificates)
    await certificates.runDue()
  }
  await activate(store, certificates)
  await certificates.runDue()
  for (let time = 0; time < 5; time++) await again()
  assert.equal(ca.requests.order, 1)
  time.now += 2 * MINUTE_MS
  await certificates.runDue()
  assert.equal(ca.requests.order, 2)
  await deactivate(store, certificates)
  time.now += 2 * DAY_MS
  await activate(store, certificates)
  await certificates.runDue()
  assert.equal(ca.requests.order, 3, 'old failures do not count')
})
