import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activate, DAY_MS, deactivate, MINUTE_MS, NAME, startIssuing } from './fixture.ts'

test('a name whose retries have ended is retried once on request of its owner', async () => {
  await using issuing = await startIssuing()
  const { store, ca } = issuing
  const certificates = issuing.node()
  let provable = false
  ca.validate = async () => {
    if (!provable) throw ca.failValidation([NAME])
  }
  await activate(store, certificates)
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
  await certificates.retry('nobody.example.test')
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
