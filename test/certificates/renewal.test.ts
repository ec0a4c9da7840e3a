import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  firstPlan,
  informedPlan,
  isHopeless,
  lifeLeft,
  retryTime,
  uninformedPlan,
  urgencyOf,
} from '../../server/tls/issuing/renewal.ts'
import { DAY, HOUR, MINUTE } from './fixture.ts'

const NOW = Date.UTC(2030, 0, 1)

function lived(length: number, name = 'www.example.test') {
  return { name, notBefore: NOW, notAfter: NOW + length, issuedAt: NOW }
}

const names = Array.from({ length: 1000 }, (_, number) => `www.domain-${number}.test`)

test('without a word of the CA, a third of a life is left at renewal, and half of a short one', () => {
  const lives: [life: number, leastLeft: number, mostLeft: number][] = [
    [90 * DAY, 30 * DAY, 33 * DAY],
    [64 * DAY, (64 / 3) * DAY, (64 / 3 + 64 / 30) * DAY],
    [45 * DAY, 15 * DAY, 16.5 * DAY],
    [10 * DAY, (10 / 3) * DAY, (10 / 3 + 1 / 3) * DAY],
    [160 * HOUR, 80 * HOUR, (80 + 160 / 30) * HOUR],
    [24 * HOUR, 12 * HOUR, 12.8 * HOUR],
  ]
  for (const [length, least, most] of lives) {
    const left = names.map((name) => NOW + length - firstPlan(lived(length, name), NOW).renewAt)
    const [lowest, highest] = [Math.min(...left), Math.max(...left)]
    assert.ok(lowest >= least - 1 && highest <= most + 1, `${length / DAY} days: ${lowest} to ${highest}`)
    assert.ok(new Set(left).size > 900, 'a thousand do not come at once')
  }
})

test('the CA is first asked about certificates at different times, all within six hours', () => {
  const times = names.map((name) => firstPlan(lived(90 * DAY, name), NOW).informationAt - NOW)
  assert.ok(Math.min(...times) >= 0 && Math.max(...times) <= 6 * HOUR)
  assert.ok(Math.max(...times) - Math.min(...times) > 5 * HOUR)
})

test('a window is kept: the same moment for the same window, another one for another name', () => {
  const window = { start: NOW + 59 * DAY, end: NOW + 61 * DAY, askAgainAt: NOW + HOUR }
  const later = NOW + 5 * DAY
  const moments = names.map((name) => informedPlan(lived(90 * DAY, name), window, NOW).renewAt)
  assert.ok(moments.every((moment) => moment >= window.start && moment <= window.end))
  assert.ok(Math.max(...moments) - Math.min(...moments) > 1.9 * DAY)
  assert.deepEqual(
    names.map((name) => informedPlan(lived(90 * DAY, name), window, later).renewAt),
    moments,
  )
})

test('what the CA says moves a renewal only within what is safe', () => {
  const later = NOW + 20 * DAY
  const rule = firstPlan(lived(90 * DAY), NOW).renewAt
  const cases: [why: string, start: number, end: number, now: number, least: number, most: number][] = [
    ['a window that is over: now', NOW + 10 * DAY, NOW + 11 * DAY, later, 0, later],
    ['a window that has begun', later - DAY, later + DAY, later, later - DAY, later + DAY],
    ['at once after the issue: a day later', NOW - DAY, NOW - HOUR, NOW, NOW + DAY, NOW + DAY],
    ['too late', NOW + 89 * DAY, NOW + 89.5 * DAY, NOW, NOW + 75 * DAY, NOW + 75 * DAY],
    ['after the end', NOW + 900 * DAY, NOW + 901 * DAY, NOW, NOW + 75 * DAY, NOW + 75 * DAY],
  ]
  for (const [why, start, end, now, least, most] of cases) {
    const { renewAt } = informedPlan(lived(90 * DAY), { start, end, askAgainAt: now }, now)
    assert.ok(renewAt >= least && renewAt <= most, `${why}: ${new Date(renewAt).toISOString()}`)
  }
  assert.equal(informedPlan(lived(90 * DAY), undefined, NOW).renewAt, rule, 'no word: the rule')
})

test('the CA is asked again when it says so, but within six hours, and not more often than each minute', () => {
  const window = { start: NOW + 59 * DAY, end: NOW + 61 * DAY }
  const cases: [askAgainAt: number, least: number, most: number][] = [
    [NOW - DAY, MINUTE, MINUTE],
    [NOW + 5 * HOUR, 5 * HOUR, 5 * HOUR],
    [NOW + 7 * DAY, 5.7 * HOUR, 6 * HOUR],
    [Number.POSITIVE_INFINITY, 5.7 * HOUR, 6 * HOUR],
  ]
  for (const [askAgainAt, least, most] of cases) {
    const { informationAt } = informedPlan(lived(90 * DAY), { ...window, askAgainAt }, NOW)
    assert.ok(informationAt - NOW >= least && informationAt - NOW <= most, `${askAgainAt}`)
  }
})

test('a CA that cannot be asked never delays a renewal, and is asked again within the hour', () => {
  const life = lived(90 * DAY)
  const rule = firstPlan(life, NOW).renewAt
  for (const [planned, expected] of [
    [null, rule],
    [rule + DAY, rule],
    [rule - DAY, rule - DAY],
  ] as const) {
    const plan = uninformedPlan(life, planned, NOW)
    assert.equal(plan.renewAt, expected)
    assert.ok(plan.informationAt > NOW + 20 * MINUTE && plan.informationAt <= NOW + HOUR)
  }
})

test('a clock that is ahead does not make certificates chase each other', () => {
  for (const [length, least] of [
    [90 * DAY, DAY],
    [160 * HOUR, 16 * HOUR],
  ] as const) {
    const ahead = NOW + 0.8 * length
    const life = { ...lived(length), issuedAt: ahead }
    assert.ok(firstPlan(life, ahead).renewAt >= ahead + least)
    const past = { start: NOW, end: NOW + HOUR, askAgainAt: ahead }
    assert.ok(informedPlan(life, past, ahead).renewAt >= ahead + Math.min(least, DAY))
    const back = informedPlan({ ...life, issuedAt: NOW + 900 * DAY }, undefined, NOW).renewAt
    assert.ok(back < NOW + length, 'and one that was set back does not put renewal off')
  }
})

test('failures back off: a minute, ten, a hundred, then daily', () => {
  for (const [failures, delay] of [
    [1, MINUTE],
    [2, 10 * MINUTE],
    [3, 100 * MINUTE],
    [4, DAY],
    [400, DAY],
  ] as const) {
    const time = retryTime(failures, null, 'www.example.test', NOW) - NOW
    assert.ok(time >= delay && time <= 1.1 * delay, `${failures}: ${time}`)
  }
})

test('a certificate that is about to end is tried more often, but not more than each hour', () => {
  for (const [left, least, most] of [
    [30 * DAY, DAY, 1.1 * DAY],
    [2 * DAY, 6 * HOUR, 6.6 * HOUR],
    [8 * HOUR, HOUR, 1.1 * HOUR],
    [MINUTE, HOUR, 1.1 * HOUR],
    [-MINUTE, DAY, 1.1 * DAY],
  ] as const) {
    const time = retryTime(9, NOW + left, 'www.example.test', NOW) - NOW
    assert.ok(time >= least && time <= most, `${left / HOUR} hours left: ${time / HOUR}`)
  }
})

test('a name is given up after a week of failures, and not while its certificate is valid', () => {
  let time = NOW
  let failures = 0
  while (!isHopeless(++failures, null, time)) time = retryTime(failures, null, 'www.example.test', time)
  assert.ok(time - NOW >= 7 * DAY && time - NOW < 9 * DAY, `${(time - NOW) / DAY} days`)
  assert.equal(isHopeless(100, NOW + 1, NOW), false)
  assert.equal(isHopeless(100, NOW - 1, NOW), true)
})

test('what is urgent goes by the life that is left', () => {
  for (const [left, urgency] of [
    [1, 'relaxed'],
    [0.2, 'relaxed'],
    [0.16, 'urgent'],
    [0, 'first'],
  ] as const)
    assert.equal(urgencyOf(left), urgency)
  assert.equal(lifeLeft(null, null, NOW), 0)
  assert.equal(lifeLeft(NOW - DAY, NOW + DAY, NOW), 0.5)
  assert.equal(lifeLeft(NOW + DAY, NOW + 3 * DAY, NOW), 1)
  assert.equal(lifeLeft(NOW - 3 * DAY, NOW - DAY, NOW), 0)
})
