import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AcmeError, type AcmeErrorKind } from '../../packages/acme-client/acme.ts'
import {
  firstPlan,
  nextRetry,
  planFromAri,
  planWithoutAri,
  retryTime,
} from '../../server/certificates/schedule.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import type { CertificateSummary } from '../../server/store/tables/certificates.ts'

const NOW = Date.UTC(2030, 0, 1)

function lived(length: number, name = 'www.example.test') {
  return { name, notBefore: NOW, notAfter: NOW + length, issuedAt: NOW }
}

const names = Array.from({ length: 1000 }, (_, number) => `www.domain-${number}.test`)

test('without renewal information, a certificate is renewed with a third of its validity left, a short one with half', () => {
  const lives: [life: number, leastLeft: number, mostLeft: number][] = [
    [90 * DAY_MS, 30 * DAY_MS, 33 * DAY_MS],
    [64 * DAY_MS, (64 / 3) * DAY_MS, (64 / 3 + 64 / 30) * DAY_MS],
    [45 * DAY_MS, 15 * DAY_MS, 16.5 * DAY_MS],
    [10 * DAY_MS, (10 / 3) * DAY_MS, (10 / 3 + 1 / 3) * DAY_MS],
    [239 * HOUR_MS, 119.5 * HOUR_MS, (119.5 + 239 / 30) * HOUR_MS],
    [160 * HOUR_MS, 80 * HOUR_MS, (80 + 160 / 30) * HOUR_MS],
    [24 * HOUR_MS, 12 * HOUR_MS, 12.8 * HOUR_MS],
  ]
  for (const [length, least, most] of lives) {
    const left = names.map((name) => NOW + length - firstPlan(lived(length, name), NOW).renewAt)
    const [lowest, highest] = [Math.min(...left), Math.max(...left)]
    assert.ok(lowest >= least - 1 && highest <= most + 1, `${length / DAY_MS} days: ${lowest} to ${highest}`)
    assert.ok(new Set(left).size > 900, 'a thousand renewals spread out')
  }
})

test('a renewal time is stable for a window, and differs between names', () => {
  const window = { start: NOW + 59 * DAY_MS, end: NOW + 61 * DAY_MS, nextRequestAt: NOW + HOUR_MS }
  const later = NOW + 5 * DAY_MS
  const moments = names.map((name) => planFromAri(lived(90 * DAY_MS, name), window, NOW).renewAt)
  assert.ok(moments.every((moment) => moment >= window.start && moment <= window.end))
  assert.ok(Math.max(...moments) - Math.min(...moments) > 1.9 * DAY_MS)
  const momentsLater = names.map((name) => planFromAri(lived(90 * DAY_MS, name), window, later).renewAt)
  assert.deepEqual(momentsLater, moments)
})

test('renewal information moves a renewal only within safe limits', () => {
  const later = NOW + 20 * DAY_MS
  const rule = firstPlan(lived(90 * DAY_MS), NOW).renewAt
  const cases: [why: string, start: number, end: number, now: number, least: number, most: number][] = [
    ['a window that is over: now', NOW + 10 * DAY_MS, NOW + 11 * DAY_MS, later, 0, later],
    ['a window that has begun', later - DAY_MS, later + DAY_MS, later, later - DAY_MS, later + DAY_MS],
    [
      'immediately after the issue: a day later',
      NOW - DAY_MS,
      NOW - HOUR_MS,
      NOW,
      NOW + DAY_MS,
      NOW + DAY_MS,
    ],
    ['too late', NOW + 89 * DAY_MS, NOW + 89.5 * DAY_MS, NOW, NOW + 75 * DAY_MS, NOW + 75 * DAY_MS],
    ['after the end', NOW + 900 * DAY_MS, NOW + 901 * DAY_MS, NOW, NOW + 75 * DAY_MS, NOW + 75 * DAY_MS],
  ]
  for (const [why, start, end, now, least, most] of cases) {
    const { renewAt } = planFromAri(lived(90 * DAY_MS), { start, end, nextRequestAt: now }, now)
    assert.ok(renewAt >= least && renewAt <= most, `${why}: ${new Date(renewAt).toISOString()}`)
  }
  assert.equal(planFromAri(lived(90 * DAY_MS), undefined, NOW).renewAt, rule, 'the default schedule')
})

test('a failed request for renewal information delays no renewal', () => {
  const life = lived(90 * DAY_MS)
  const rule = firstPlan(life, NOW).renewAt
  for (const [planned, expected] of [
    [rule - DAY_MS, rule - DAY_MS],
    [rule + DAY_MS, rule],
    [null, rule],
  ] as const)
    assert.equal(planWithoutAri(life, planned, NOW).renewAt, expected)
})

test('a failed request for renewal information is repeated within an hour, or as Retry-After says, within a day', () => {
  for (const [retryAfter, least, most] of [
    [undefined, HOUR_MS / 2, HOUR_MS],
    [MINUTE_MS, HOUR_MS / 2, HOUR_MS],
    [5 * HOUR_MS, 5 * HOUR_MS, 5 * HOUR_MS],
    [7 * DAY_MS, DAY_MS, DAY_MS],
  ] as const) {
    const notBefore = retryAfter && NOW + retryAfter
    const error = new AcmeError('unreachable', 'no', { notBefore })
    const wait = planWithoutAri(lived(90 * DAY_MS), null, NOW, error).informationAt - NOW
    assert.ok(wait >= least && wait <= most, `${retryAfter}: ${wait}`)
  }
})

test('renewal information is requested again as Retry-After says, between a minute and a day', () => {
  const window = { start: NOW + 59 * DAY_MS, end: NOW + 61 * DAY_MS }
  const cases: [nextRequestAt: number, least: number, most: number][] = [
    [NOW - DAY_MS, MINUTE_MS, 1.05 * MINUTE_MS],
    [NOW + 5 * HOUR_MS, 5 * HOUR_MS, 5.25 * HOUR_MS],
    [NOW + 20 * HOUR_MS, 20 * HOUR_MS, 21 * HOUR_MS],
    [NOW + 7 * DAY_MS, DAY_MS, 1.05 * DAY_MS],
  ]
  for (const [nextRequestAt, least, most] of cases) {
    const { informationAt } = planFromAri(lived(90 * DAY_MS), { ...window, nextRequestAt }, NOW)
    assert.ok(informationAt - NOW >= least && informationAt - NOW <= most, `${nextRequestAt}`)
  }
})

test('a certificate about to expire is retried more often, at most hourly', () => {
  for (const [left, least, most] of [
    [30 * DAY_MS, DAY_MS, 1.1 * DAY_MS],
    [2 * DAY_MS, 6 * HOUR_MS, 6.6 * HOUR_MS],
    [8 * HOUR_MS, HOUR_MS, 1.1 * HOUR_MS],
    [MINUTE_MS, HOUR_MS, 1.1 * HOUR_MS],
    [-MINUTE_MS, DAY_MS, 1.1 * DAY_MS],
  ] as const) {
    const time = retryTime(9, NOW + left, 'www.example.test', NOW) - NOW
    assert.ok(time >= least && time <= most, `${left / HOUR_MS} hours left: ${time / HOUR_MS}`)
  }
})

const SUMMARY: CertificateSummary = {
  ...{ name: 'www.example.test', notBefore: null, notAfter: null, issuedAt: null, certificateId: null },
  ...{
    hasRenewalInfo: false,
    renewAt: null,
    informationAt: null,
    orderUrl: 'order/1',
    failures: 0,
    problem: null,
  },
  ...{ dueAt: NOW, unusedSince: null },
}

// biome-ignore format: one row for each error
const RETRIES: [error: string, AcmeErrorKind, Partial<CertificateSummary>, expected: { after: number | null; keepsOrder: boolean; counts?: true; pauses?: true; hasOwner?: false; outages?: number }][] = [
  ['the CA is unreachable', 'unreachable', {}, { after: 3 * MINUTE_MS, keepsOrder: true }],
  ['the CA is unreachable for this name again', 'unreachable', { problem: 'as before' }, { after: MINUTE_MS, keepsOrder: true }],
  ['the CA is unreachable for the third time in a row', 'unreachable', { problem: 'as before' }, { after: 3 * MINUTE_MS, keepsOrder: false, outages: 2 }],
  ['the order takes long', 'timeout', {}, { after: MINUTE_MS, keepsOrder: true }],
  ['the order takes long for the third time', 'timeout', { failures: 2 }, { after: 100 * MINUTE_MS, keepsOrder: false }],
  ['the CA limits requests', 'rate-limited', {}, { after: HOUR_MS, keepsOrder: true, pauses: true }],
  ['a challenge fails', 'challenge-failed', {}, { after: MINUTE_MS, keepsOrder: false, counts: true }],
  ['a challenge fails for a week', 'challenge-failed', { failures: 10 }, { after: null, keepsOrder: false, counts: true }],
  ['a challenge of the service\'s own name fails for a week', 'challenge-failed', { failures: 10 }, { after: DAY_MS, keepsOrder: false, counts: true, hasOwner: false }],
  ['a challenge fails for a week, with a valid certificate', 'challenge-failed', { failures: 10, notAfter: NOW + 30 * DAY_MS }, { after: DAY_MS, keepsOrder: false, counts: true }],
  ['a challenge fails for a week, with an expired certificate', 'challenge-failed', { failures: 10, notAfter: NOW - 1 }, { after: null, keepsOrder: false, counts: true }],
  ['the CA rejects the order', 'rejected', { failures: 1 }, { after: 10 * MINUTE_MS, keepsOrder: false }],
  ['the CA rejects the order for a week', 'rejected', { failures: 10 }, { after: DAY_MS, keepsOrder: false }],
]
for (const [
  what,
  kind,
  change,
  { after, keepsOrder, counts = false, pauses = false, hasOwner = true, outages = 0 },
] of RETRIES) {
  test(`when ${what}, the name is retried ${after === null ? 'on request' : `after ${after / MINUTE_MS} minutes`}`, () => {
    const error = new AcmeError(kind, 'no')
    const certificate = { ...SUMMARY, ...change }
    const plan = nextRetry(error, { certificate, now: NOW, outages, hasOwner })
    const { dueAt, orderUrl } = plan.changes
    if (after === null) assert.equal(dueAt, null)
    else assert.ok(dueAt! - NOW >= after && dueAt! - NOW <= Math.max(1.1 * after, 5 * MINUTE_MS), `${dueAt}`)
    assert.equal(orderUrl === undefined, keepsOrder)
    assert.deepEqual([plan.countsAsFailure, plan.pause?.names.length === 0], [counts, pauses])
  })
}
