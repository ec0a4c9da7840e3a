import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activate, DAY_MS, deactivate, MINUTE_MS, NAME, startIssuing } from './fixture.ts'

test('what was given up is tried once more when the owner of the name asks, and only then', async () => {
  await using issuing = await startIssuing()
  const { store, ca } = issuing
  const certificates = issuing.node()
  let provable = false
  ca.look = async () => {
    if (!provable) throw ca.fails([NAME])
  }
  await activate(store, certificates)
  await certificates.runDue()
  while ((await issuing.row()).due_at !== null) await issuing.next(certificates)
  const failed = ca.asked.order
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 0)
  assert.equal(ca.asked.order, failed + 1)
  assert.equal((await issuing.row()).due_at, null, 'and is given up again')
  provable = true
  assert.equal(await certificates.runDue(), 0)
  await certificates.retry(NAME)
  assert.equal(await certificates.runDue(), 1)
  await certificates.retry(NAME)
  await certificates.retry('nobody.example.test')
  assert.equal(await certificates.runDue(), 0)
})

test('to remove a name that fails and to add it again is no way around its wait', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  ca.look = async () => {
    throw ca.fails([NAME])
  }
  const again = async () => {
    await deactivate(store, certificates)
    await activate(store, certificates)
    await certificates.runDue()
  }
  await activate(store, certificates)
  await certificates.runDue()
  for (let time = 0; time < 5; time++) await again()
  assert.equal(ca.asked.order, 1)
  time.now += 2 * MINUTE_MS
  await certificates.runDue()
  assert.equal(ca.asked.order, 2)
  await deactivate(store, certificates)
  time.now += 2 * DAY_MS
  await activate(store, certificates)
  await certificates.runDue()
  assert.equal(ca.asked.order, 3, 'what is long ago is forgiven')
})
