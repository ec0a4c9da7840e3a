import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { obtain, startAcmeFixture } from './acme-fixture.ts'
import { FakeCa } from './fake-ca.ts'
import { NullSolver } from './null-solver.ts'
import { PublishedLimits } from './published-limits.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let now: number
let limits: PublishedLimits

beforeEach(() => {
  now = Date.UTC(2031, 0, 1)
  limits = new PublishedLimits(() => now)
})

test('300 orders in 3 hours are accepted, not counting renewals', () => {
  const begin = now
  for (let order = 0; order < 300; order++) {
    now += 1000
    assert.equal(limits.order([`${order}.test`], false), undefined)
    assert.equal(limits.order([`${order}.test`], true), undefined)
  }
  assert.deepEqual(limits.order(['more.test'], false), {
    limit: 'order',
    notBefore: begin + 1000 + 3 * HOUR_MS,
  })
  now = begin + 1000 + 3 * HOUR_MS
  assert.equal(limits.order(['more.test'], false), undefined)
  assert.equal(limits.passed.length, 1)
})

test('5 certificates for the same names are issued in 7 days', () => {
  for (let issued = 0; issued < 5; issued++) {
    assert.equal(limits.order(['b.test', 'a.test'], false), undefined)
    limits.issued(['a.test', 'b.test'], false)
  }
  assert.equal(limits.order(['a.test'], false), undefined)
  assert.equal(limits.order(['a.test', 'b.test'], true), undefined)
  assert.deepEqual(limits.order(['a.test', 'b.test'], false), {
    limit: 'duplicate',
    notBefore: now + 7 * DAY_MS,
  })
})

test('a name may fail 5 times in an hour', () => {
  for (let failed = 0; failed < 5; failed++) limits.failed('a.test')
  assert.equal(limits.order(['b.test', 'a.test'], false)?.limit, 'failure')
  now += HOUR_MS
  assert.equal(limits.order(['b.test', 'a.test'], false), undefined)
})

test('the fake CA refuses orders beyond its limits, with Retry-After', async () => {
  now = Date.now()
  await using ca = await FakeCa.start({ clock: () => now })
  await using service = await startAcmeFixture(ca, { clock: () => now })
  const proofs = new NullSolver('http-01')
  for (let times = 0; times < 5; times++) await obtain(service.acme, ['a.test'], { proofs })
  await assert.rejects(service.acme.newOrder(['a.test']), {
    kind: 'rate-limited',
    notBefore: now + 7 * DAY_MS,
  })
  await service.acme.newOrder(['a.test'], ca.issued.at(-1)!.id)
  ca.validate = () => 'nothing there'
  for (let times = 0; times < 5; times++)
    await assert.rejects(service.acme.authorize(await service.acme.newOrder(['b.test']), proofs), {
      kind: 'challenge-failed',
    })
  await assert.rejects(service.acme.newOrder(['b.test']), { kind: 'rate-limited', notBefore: now + HOUR_MS })
})
