import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { pauseCa } from '../../server/certificates/ca-rate-limits.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { domainRow } from '../store/rows.ts'
import { activate, deactivate, NAME, startActive, startIssuing } from './fixture.ts'

test('a domain that becomes active gets a certificate in the next run, and its record has it', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  const record = async () => (await certificates.statuses([NAME])).get(NAME)!
  assert.equal(await record(), undefined)
  await activate(store, certificates)
  assert.equal((await record()).status, 'pending')
  const changed: unknown[] = []
  store.onChange((_names, _own, effects) => void changed.push(...effects))
  assert.equal(await certificates.runDue(), 1)
  assert.deepEqual(changed, [[NAME, 'outdated']], 'every node is notified')
  const served = (await issuing.served())!
  assert.ok(served.fits, 'the encrypted key matches the certificate')
  assert.deepEqual(served.names, [NAME])
  const { status, expiresAt, renewsAt, problem } = await record()
  assert.deepEqual([status, problem], ['active', null])
  assert.equal(expiresAt, new Date(time.now - HOUR_MS + 90 * DAY_MS).toISOString())
  const left = Date.parse(expiresAt!) - Date.parse(renewsAt!)
  assert.ok(left >= 30 * DAY_MS && left <= 33 * DAY_MS)
  assert.equal(await certificates.runDue(), 0, 'no further order')
  assert.equal(ca.requests.order, 1)
})

test('a certificate is renewed in the window of the CA, which is requested as the CA asks', async () => {
  await using issuing = await startActive()
  const { ca, time, certificates } = issuing
  await certificates.runDue()
  const first = (await issuing.served())!
  let longest = 0
  for (let last = time.now; ca.certificates === 1; last = time.now) {
    await issuing.next(certificates)
    longest = Math.max(longest, time.now - last)
  }
  const { start, end } = ca.window(first)
  assert.ok(time.now >= start && time.now <= end + MINUTE_MS, new Date(time.now).toISOString())
  assert.ok(longest >= 6 * HOUR_MS && longest <= 6.3 * HOUR_MS)
  assert.notEqual((await issuing.served())!.key, first.key, 'a new key for every certificate')
  assert.ok(!ca.issued.has(first.id), 'the order names the replaced certificate')
})

test('a released name is not renewed, and keeps its certificate for 8 days', async () => {
  await using issuing = await startActive()
  const { store, ca, time, certificates } = issuing
  await certificates.runDue()
  await deactivate(store, certificates)
  time.now += 7 * DAY_MS
  await certificates.runDue()
  assert.equal((await certificates.statuses([NAME])).get(NAME), undefined)
  await activate(store, certificates)
  await certificates.runDue()
  assert.equal((await certificates.statuses([NAME])).get(NAME)!.status, 'active')
  assert.equal(ca.requests.order, 1)
  await deactivate(store, certificates)
  time.now += 9 * DAY_MS
  await certificates.runDue()
  assert.equal(await store.read.certificates.find(NAME), undefined)
})

test('a domain removed during its order is not renewed, and an active domain without a schedule gets one', async () => {
  await using issuing = await startActive()
  const { store, ca, certificates } = issuing
  ca.before = async (step) => {
    if (step === 'finalize') await deactivate(store, certificates)
  }
  assert.equal(await certificates.runDue(), 1)
  assert.equal((await issuing.row()).dueAt, null)
  await store.write('relaxed', {}, async (tx) => {
    await tx.domains.insert(domainRow('shop.example.test', { status: 'active' }))
    await tx.domains.insert(domainRow('waits.example.test', { status: 'pending' }))
  })
  assert.equal(await certificates.repairNames(store), 1)
  assert.equal(await certificates.runDue(), 1)
  assert.ok(await issuing.served('shop.example.test'))
  assert.equal(await store.read.certificates.find('waits.example.test'), undefined)
})

test('a domain removed while its CAA records are looked up is neither ordered nor due, also when the CA pauses', async () => {
  for (const isPaused of [false, true]) {
    await using issuing = await startIssuing()
    const { store, ca, time, parts } = issuing
    const remove = async () => {
      await deactivate(store, certificates)
      const pause = { until: time.now + HOUR_MS, names: [NAME] }
      if (isPaused) await store.write('relaxed', {}, (tx) => pauseCa({ tx, ...parts }, pause, time.now))
      return { records: [] }
    }
    const certificates = issuing.node({ dns: { caa: remove } })
    await activate(store, certificates)
    assert.equal(await certificates.runDue(), 0)
    assert.equal((await issuing.row()).dueAt, null)
    time.now += 2 * HOUR_MS
    await certificates.runDue()
    assert.equal(ca.requests.order, 0, 'no order, which would count in the share of no account')
  }
})

test('a challenge is stored before the CA validates it, http-01 first and tls-alpn-01 after a failure', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const types: string[] = []
  ca.after = (step) => {
    if (step === 'authorize' && types.length === 1) throw ca.failValidation([NAME])
  }
  ca.validate = async ({ type, name, token, keyAuthorization }) => {
    types.push(type)
    assert.ok(type !== 'dns-01')
    const challenges = await store.read.acme.challenges(type, time.now)
    const stored = challenges.map((one) => [one.name, one.token, one.keyAuthorization])
    assert.deepEqual(stored, [[name, token, keyAuthorization]])
  }
  const certificates = issuing.node()
  await activate(store, certificates)
  assert.equal(await certificates.runDue(), 0)
  assert.equal(await issuing.next(certificates), 1)
  assert.deepEqual(types, ['http-01', 'tls-alpn-01'])
  for (const type of ['http-01', 'tls-alpn-01'] as const)
    assert.deepEqual(await store.read.acme.challenges(type, time.now), [], 'the challenge is removed')
})

test('the host of the service is validated over HTTP when the DNS hook has no access to its zone, and the wildcard by the hook only', async () => {
  await using issuing = await startIssuing()
  const { ca, time } = issuing
  const present = async (name: string) => {
    if (!name.endsWith('.sites.test')) throw new Error(`no zone for ${name}`)
  }
  const hook = { present, cleanup: async () => undefined }
  const validated: string[] = []
  ca.validate = ({ type, name }) => void validated.push(`${name} ${type}`)
  const certificates = issuing.node({ own: ['*.sites.test', 'slipway.test'], hook })
  await certificates.runDue()
  assert.match((await issuing.row('slipway.test')).problem!, /no zone for _acme-challenge\.slipway\.test/)
  time.now += 2 * MINUTE_MS
  await certificates.runDue()
  assert.ok((await issuing.served('slipway.test'))!.fits)
  assert.deepEqual(validated, ['sites.test dns-01', 'sites.test dns-01', 'slipway.test http-01'])
})

test('the wildcard of the site domain is validated by the DNS hook, and released when no longer configured', async () => {
  await using issuing = await startIssuing()
  const { ca } = issuing
  const wildcard = '*.sites.test'
  const calls: string[] = []
  const hook = {
    present: async (name: string, value: string) => void calls.push(`present ${name} ${value}`),
    cleanup: async (name: string, value: string) => void calls.push(`cleanup ${name} ${value}`),
  }
  let digest = ''
  ca.validate = ({ type, keyAuthorization }) => {
    assert.equal(type, 'dns-01')
    digest = createHash('sha256').update(keyAuthorization).digest('base64url')
  }
  assert.equal(await issuing.node({ own: [wildcard], hook }).runDue(), 1)
  assert.deepEqual((await issuing.served(wildcard))!.names, [wildcard, 'sites.test'])
  assert.deepEqual(calls.slice(-2), [
    `present _acme-challenge.sites.test ${digest}`,
    `cleanup _acme-challenge.sites.test ${digest}`,
  ])
  await issuing.node().repairNames(issuing.store)
  assert.equal((await issuing.row(wildcard)).dueAt, null)
})
