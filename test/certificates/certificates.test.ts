import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { AcmeError } from '../../server/certificates/acme/acme.ts'
import { domainRow } from '../store/rows.ts'
import { activate, DAY_MS, deactivate, HOUR_MS, MINUTE_MS, NAME, SECOND_MS, startIssuing } from './fixture.ts'

test('a domain that becomes active gets a certificate at the next turn, and its record says so', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  const record = async () => (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(await record(), undefined)
  await activate(store, certificates)
  assert.equal((await record()).status, 'pending')
  const changed: string[] = []
  store.onChange((names) => void changed.push(...names!))
  assert.equal(await certificates.runDue(), 1)
  assert.deepEqual(changed, [NAME], 'every node hears of it')
  const served = (await issuing.served())!
  assert.ok(served.fits, 'the key is that of the certificate, and sealed')
  assert.deepEqual(served.names, [NAME])
  const { status, expiresAt, renewsAt, problem } = await record()
  assert.deepEqual([status, problem], ['active', null])
  assert.equal(expiresAt, new Date(time.now - HOUR_MS + 90 * DAY_MS).toISOString())
  const left = Date.parse(expiresAt!) - Date.parse(renewsAt!)
  assert.ok(left >= 30 * DAY_MS && left <= 33 * DAY_MS)
  assert.equal(await certificates.runDue(), 0, 'and nothing more is done')
  assert.equal(ca.asked.order, 1)
})

test('a certificate is renewed in the window of the CA, which is asked at least every six hours', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  await activate(store, certificates)
  await certificates.runDue()
  const first = (await issuing.served())!
  let longest = 0
  for (let last = time.now; ca.certificates === 1; last = time.now) {
    await issuing.next(certificates)
    longest = Math.max(longest, time.now - last)
  }
  const { start, end } = ca.window(first)
  assert.ok(time.now >= start && time.now <= end + MINUTE_MS, new Date(time.now).toISOString())
  assert.ok(longest <= 6 * HOUR_MS)
  assert.notEqual((await issuing.served())!.key, first.key, 'a new key for every certificate')
  assert.ok(!ca.issued.has(first.id), 'the order says what it replaces')
})

test('a window that is suddenly over renews at once', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  await activate(store, certificates)
  await certificates.runDue()
  time.now += 3 * DAY_MS
  ca.window = () => ({ start: time.now - 2 * HOUR_MS, end: time.now - HOUR_MS })
  await certificates.runDue()
  time.now += 10 * SECOND_MS
  assert.equal(await certificates.runDue(), 1)
})

test('a CA without renewal information is not asked about certificates, and they are renewed by the rule', async () => {
  await using issuing = await startIssuing({ renewalInformation: false, life: 160 * HOUR_MS })
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  await activate(store, certificates)
  await certificates.runDue()
  const first = (await issuing.served())!
  for (let turns = 0; ca.certificates === 1; turns++) {
    await issuing.next(certificates)
    assert.ok(turns < 3, 'nothing is done in between')
  }
  assert.ok(first.notAfter - time.now >= 80 * HOUR_MS && first.notAfter - time.now < 86 * HOUR_MS)
  assert.equal(ca.asked.information, 0)
})

test('what the CA does not say when it is asked leaves the rule', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  ca.before = (step) => {
    if (step === 'information') throw new AcmeError('unreachable', 'not now')
  }
  const certificates = issuing.node()
  await activate(store, certificates)
  await certificates.runDue()
  const first = (await issuing.served())!
  while (ca.certificates === 1) await issuing.next(certificates)
  assert.ok(first.notAfter - time.now >= 30 * DAY_MS && first.notAfter - time.now < 34 * DAY_MS)
})

test('a name that is no longer requested is left alone, and its certificate is there again within 8 days', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  await activate(store, certificates)
  await certificates.runDue()
  await deactivate(store, certificates)
  time.now += 7 * DAY_MS
  await certificates.runDue()
  assert.equal((await certificates.statuses([NAME])).get(NAME), undefined)
  await activate(store, certificates)
  await certificates.runDue()
  assert.equal((await certificates.statuses([NAME])).get(NAME)!.status, 'active')
  assert.equal(ca.asked.order, 1)
  await deactivate(store, certificates)
  time.now += 9 * DAY_MS
  await certificates.runDue()
  assert.equal(await store.read.certificates.find(NAME), undefined)
})

test('a domain that is gone while its order is under way is not renewed, and a domain without a plan gets one', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  await activate(store, certificates)
  ca.before = async (step) => {
    if (step === 'finalize') await deactivate(store, certificates)
  }
  assert.equal(await certificates.runDue(), 1)
  assert.equal((await issuing.row()).due_at, null)
  await store.write('relaxed', async (tx) => {
    await tx.domains.insert(domainRow('shop.example.test', { status: 'active' }))
    await tx.domains.insert(domainRow('waits.example.test', { status: 'pending' }))
  })
  time.now += HOUR_MS
  assert.equal(await certificates.runDue(), 1)
  assert.ok(await issuing.served('shop.example.test'))
  assert.equal(await store.read.certificates.find('waits.example.test'), undefined)
})

test('a challenge is in the store before the CA validates it, http-01 first and tls-alpn-01 after a failure', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const types: string[] = []
  ca.after = (step) => {
    if (step === 'prove' && types.length === 1) throw ca.fails([NAME])
  }
  ca.look = async ({ type, name, token, keyAuthorization }) => {
    types.push(type)
    assert.ok(type !== 'dns-01')
    const found = await store.read.acme.challenge(type, name, time.now)
    assert.deepEqual(
      found.map((one) => [one.token, one.key_authorization]),
      [[token, keyAuthorization]],
    )
  }
  const certificates = issuing.node()
  await activate(store, certificates)
  assert.equal(await certificates.runDue(), 0)
  assert.equal(await issuing.next(certificates), 1)
  assert.deepEqual(types, ['http-01', 'tls-alpn-01'])
  for (const type of ['http-01', 'tls-alpn-01'] as const)
    assert.deepEqual(await store.read.acme.challenge(type, NAME, time.now), [], 'and is taken away')
})

test('a name is proven as it was last time, and otherwise only after a CA has looked in vain', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const types: string[] = []
  let provable = 'tls-alpn-01'
  ca.look = async ({ type }) => {
    types.push(type)
    if (type !== provable) throw ca.fails([NAME])
  }
  const certificates = issuing.node()
  await activate(store, certificates)
  const renewed = async () => {
    types.length = 0
    for (const before = ca.certificates; ca.certificates === before; ) await issuing.next(certificates)
    return [...types]
  }
  assert.deepEqual(await renewed(), ['http-01', 'tls-alpn-01'])
  assert.deepEqual(await renewed(), ['tls-alpn-01'])
  let refusals = 3
  ca.before = (step) => {
    if (step === 'order' && refusals-- > 0) throw new AcmeError('rejected', 'not now')
    if (step === 'finalize' && refusals-- > -2) throw new AcmeError('timeout', 'it takes its time')
  }
  assert.deepEqual(await renewed(), ['tls-alpn-01'], 'whatever else went wrong')
  await deactivate(store, certificates)
  time.now += DAY_MS
  await activate(store, certificates)
  assert.deepEqual(await renewed(), ['tls-alpn-01'], 'although it was not requested in between')
  provable = 'http-01'
  assert.deepEqual(await renewed(), ['tls-alpn-01', 'http-01'])
  assert.deepEqual(await renewed(), ['http-01'])
})

test('the wildcard of the site domain is proven in DNS by the hook, and goes when it is no longer set', async () => {
  await using issuing = await startIssuing()
  const { ca, time } = issuing
  const wildcard = '*.sites.test'
  const calls: string[] = []
  const hook = {
    present: async (name: string, value: string) => void calls.push(`present ${name} ${value}`),
    cleanup: async (name: string, value: string) => void calls.push(`cleanup ${name} ${value}`),
  }
  let digest = ''
  ca.look = ({ type, keyAuthorization }) => {
    assert.equal(type, 'dns-01')
    digest = createHash('sha256').update(keyAuthorization).digest('base64url')
  }
  assert.equal(await issuing.node({ own: [wildcard], hook }).runDue(), 1)
  assert.deepEqual((await issuing.served(wildcard))!.names, [wildcard, 'sites.test'])
  assert.deepEqual(calls.slice(-2), [
    `present _acme-challenge.sites.test ${digest}`,
    `cleanup _acme-challenge.sites.test ${digest}`,
  ])
  time.now += HOUR_MS
  await issuing.node().runDue()
  assert.equal((await issuing.row(wildcard)).due_at, null)
})

test('a hook that fails is logged, and tried again', async () => {
  await using issuing = await startIssuing()
  let works = false
  const hook = {
    async present() {
      if (!works) throw new Error('no such zone')
    },
    cleanup: async () => undefined,
  }
  const certificates = issuing.node({ own: ['*.sites.test'], hook })
  await certificates.runDue()
  const { problem } = await issuing.row('*.sites.test')
  assert.match(problem!, /_acme-challenge\.sites\.test could not be entered: no such zone/)
  works = true
  assert.equal(await issuing.next(certificates, '*.sites.test'), 1)
})
