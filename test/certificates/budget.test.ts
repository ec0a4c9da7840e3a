import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countCertificate, countFailure, takeRoom, tidyRequests } from '../../server/tls/issuing/budget.ts'
import { activate, DAY, HOUR, type Issuing, MINUTE, NAME, SECOND, startIssuing } from './fixture.ts'

function ask(issuing: Issuing, name: string, { renewal = false, left = 0 } = {}) {
  const { store, time } = issuing
  return store.write('soft', (tx) => takeRoom(tx, { name, renewal, left }, time.now))
}

/** How many orders of a kind there is room for now. */
async function roomFor(issuing: Issuing, request: { renewal?: boolean; left?: number }): Promise<number> {
  for (let orders = 0; ; orders++)
    if ((await ask(issuing, `www.domain-${orders}.test`, request)) !== undefined) return orders
}

test('what can wait leaves room for names without a certificate, and both for what is about to end', async () => {
  await using issuing = await startIssuing()
  assert.equal(await roomFor(issuing, { left: 0.4 }), 100)
  assert.equal(await roomFor(issuing, { left: 0 }), 100)
  assert.equal(await roomFor(issuing, { left: 0.1 }), 70)
  const soon = (await ask(issuing, NAME, { left: 0.01 }))! - issuing.time.now
  const late = (await ask(issuing, NAME, { left: 0.3 }))! - issuing.time.now
  assert.ok(soon >= 3 * HOUR && soon < 3 * HOUR + 2 * MINUTE && late > soon + 30 * MINUTE, `${soon} ${late}`)
  assert.equal(await ask(issuing, NAME, { renewal: true, left: 0.4 }), undefined, 'renewals do not count')
  issuing.time.now += 3 * HOUR + SECOND
  assert.equal(await roomFor(issuing, { left: 0.1 }), 270)
})

test('four certificates for the same names in 7 days, and four failures of a name in an hour', async () => {
  await using issuing = await startIssuing()
  const { store, time } = issuing
  const start = time.now
  for (let order = 0; order < 4; order++, time.now += HOUR) {
    assert.equal(await ask(issuing, '*.sites.test'), undefined)
    const count = () =>
      store.write('soft', (tx) => countCertificate(tx, '*.sites.test', `order/${order}`, time.now))
    await count()
    await count()
  }
  assert.equal(await ask(issuing, '*.sites.test'), start + 7 * DAY)
  assert.equal(await ask(issuing, NAME), undefined)
  time.now = start + 7 * DAY + SECOND
  assert.equal(await ask(issuing, '*.sites.test'), undefined)

  const failing = time.now
  for (let order = 0; order < 4; order++, time.now += MINUTE)
    await store.write('soft', (tx) => countFailure(tx, NAME, `order/f${order}`, time.now))
  assert.equal(await ask(issuing, NAME, { renewal: true }), failing + HOUR)
  assert.equal(await ask(issuing, '*.sites.test'), undefined)
})

test('what was counted by a clock that was ahead counts as of now, and what is old is dropped', async () => {
  await using issuing = await startIssuing()
  const { store, time } = issuing
  time.now += 400 * DAY
  assert.equal(await roomFor(issuing, { left: 0.1 }), 270)
  time.now -= 400 * DAY
  await store.write('soft', (tx) => tidyRequests(tx, time.now))
  assert.ok((await ask(issuing, NAME, { left: 0.1 }))! <= time.now + 4 * HOUR)
  time.now += 9 * DAY
  await store.write('soft', (tx) => tidyRequests(tx, time.now))
  assert.equal(await store.read.authorities.requestBefore({ kind: 'order' }, 1, 0), undefined)
})

test('five hundred names at once get their certificates without a limit being passed', async () => {
  await using issuing = await startIssuing()
  const { store, ca, time } = issuing
  const certificates = issuing.node()
  for (let number = 0; number < 500; number++)
    await activate(store, certificates, `www.domain-${number}.test`)
  const start = time.now
  for (; ca.certificates < 500 && time.now < start + DAY; time.now += 2 * MINUTE) await certificates.tend()
  assert.equal(ca.certificates, 500)
  assert.deepEqual(ca.limits.passed, [])
  assert.ok(time.now - start < 8 * HOUR)
})
