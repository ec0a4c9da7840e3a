import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  nextActiveCheck,
  nextFailingCheck,
  nextPendingCheck,
  restartedAt,
} from '../../server/domains/schedule.ts'
import { nextState } from '../../server/domains/transition.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { domainRow } from '../store/rows.ts'

const SINCE = Date.UTC(2026, 0, 1)

const waits: [age: number, wait: number | null][] = [
  [-DAY_MS, 10 * SECOND_MS],
  [0, 10 * SECOND_MS],
  [10 * MINUTE_MS - 1, 10 * SECOND_MS],
  [10 * MINUTE_MS, MINUTE_MS],
  [HOUR_MS - 1, MINUTE_MS],
  [HOUR_MS, 5 * MINUTE_MS],
  [6 * HOUR_MS - 1, 5 * MINUTE_MS],
  [6 * HOUR_MS, 30 * MINUTE_MS],
  [48 * HOUR_MS - 1, 30 * MINUTE_MS],
  [48 * HOUR_MS, DAY_MS],
  [9 * DAY_MS - 1, DAY_MS],
  [9 * DAY_MS, null],
  [400 * DAY_MS, null],
]
test('a pending domain is checked less often with its age, and only on request after nine days', () => {
  for (const [age, wait] of waits) {
    const now = SINCE + age
    assert.equal(
      nextPendingCheck(SINCE, now),
      wait === null ? null : now + wait,
      `after ${age / SECOND_MS} s`,
    )
  }
})

test('a domain whose DNS does not respond is checked at most once a minute', () => {
  const after = (age: number) => nextPendingCheck(SINCE, SINCE + age, true)! - SINCE - age
  assert.deepEqual([0, HOUR_MS, 7 * HOUR_MS].map(after), [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS])
  assert.equal(nextPendingCheck(SINCE, SINCE + 9 * DAY_MS, true), null)
})

test('a domain checked on request after its schedule ended is checked daily for two more days', () => {
  const now = SINCE + 100 * DAY_MS
  const since = restartedAt(now)
  assert.equal(nextPendingCheck(since, now), now + DAY_MS)
  assert.equal(nextPendingCheck(since, now + DAY_MS), now + 2 * DAY_MS)
  assert.equal(nextPendingCheck(since, now + 2 * DAY_MS), null)
})

test('an active domain is checked every twelve hours, with a jitter of a tenth', () => {
  const waits = [0, 0.5, 1].map((random) => nextActiveCheck(SINCE, () => random) - SINCE)
  assert.deepEqual(waits, [10.8 * HOUR_MS, 12 * HOUR_MS, 13.2 * HOUR_MS])
})

test('an active domain that fails is checked every hour and at the end of its grace period of a day', () => {
  assert.equal(nextFailingCheck(SINCE, SINCE), SINCE + HOUR_MS)
  assert.equal(nextFailingCheck(SINCE, SINCE + 23.5 * HOUR_MS), SINCE + DAY_MS)
  assert.equal(nextFailingCheck(SINCE, SINCE + DAY_MS - SECOND_MS), SINCE + DAY_MS - SECOND_MS + MINUTE_MS)
})

test('a second check confirms a domain if it began three seconds after the first one, however long it takes', () => {
  const proven = domainRow('www.example.test', { provenSince: SINCE })
  const there = { is: 'there' } as const
  const result = {
    pointing: there,
    text: there,
    texts: [],
    found: { pointing: [], texts: [], right: null } as never,
  }
  const statusAfter = (began: number, now: number) =>
    nextState(proven, result, {
      ...{ began: SINCE + began, now: SINCE + now, slow: false, random: () => 0 },
      ...{ currentOwner: undefined, reservation: undefined },
    }).nextStatus
  assert.equal(statusAfter(3 * SECOND_MS, 3 * SECOND_MS), 'active')
  assert.equal(statusAfter(3 * SECOND_MS - 1, MINUTE_MS), 'pending')
})
