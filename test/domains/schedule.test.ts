import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activeLook, failingLook, pendingLook, revived } from '../../server/domain/schedule.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SINCE = Date.UTC(2026, 0, 1)

const waits: [age: number, wait: number | null][] = [
  [-DAY, 10 * SECOND],
  [0, 10 * SECOND],
  [10 * MINUTE - 1, 10 * SECOND],
  [10 * MINUTE, MINUTE],
  [HOUR - 1, MINUTE],
  [HOUR, 5 * MINUTE],
  [6 * HOUR - 1, 5 * MINUTE],
  [6 * HOUR, 30 * MINUTE],
  [48 * HOUR - 1, 30 * MINUTE],
  [48 * HOUR, DAY],
  [9 * DAY - 1, DAY],
  [9 * DAY, null],
  [400 * DAY, null],
]
for (const [age, wait] of waits) {
  test(`a name that has waited ${age / SECOND} s is looked up again ${wait === null ? 'when somebody asks' : `in ${wait / SECOND} s`}`, () => {
    const now = SINCE + age
    assert.equal(pendingLook(SINCE, now), wait === null ? null : now + wait)
  })
}

test('a name whose DNS does not answer is looked up once a minute at most', () => {
  const after = (age: number) => pendingLook(SINCE, SINCE + age, true)! - SINCE - age
  assert.deepEqual([0, HOUR, 7 * HOUR].map(after), [MINUTE, 5 * MINUTE, 30 * MINUTE])
  assert.equal(pendingLook(SINCE, SINCE + 9 * DAY, true), null)
})

test('a name that waits is looked up at least hourly for two days, then daily for a week', () => {
  const looks: number[] = []
  for (let at: number | null = SINCE; at !== null; at = pendingLook(SINCE, at)) looks.push(at - SINCE)
  const gaps = looks.map((at, number) => at - (looks[number - 1] ?? 0))
  assert.ok(looks.every((at, number) => at > 48 * HOUR || gaps[number]! <= HOUR))
  assert.equal(looks.filter((at) => at > 49 * HOUR).length, 7)
  assert.ok(looks.length < 400, 'and costs little')
})

test('a name that was given up and asked for is looked up daily for two more days', () => {
  const now = SINCE + 100 * DAY
  const since = revived(now)
  assert.equal(pendingLook(since, now), now + DAY)
  assert.equal(pendingLook(since, now + DAY), now + 2 * DAY)
  assert.equal(pendingLook(since, now + 2 * DAY), null)
})

test('an active name is looked up every twelve hours, give or take a tenth', () => {
  const waits = [0, 0.5, 1].map((random) => activeLook(SINCE, () => random) - SINCE)
  assert.deepEqual(waits, [10.8 * HOUR, 12 * HOUR, 13.2 * HOUR])
})

test('an active name that fails is looked up every hour and at the end of its day of grace', () => {
  assert.equal(failingLook(SINCE, SINCE), SINCE + HOUR)
  assert.equal(failingLook(SINCE, SINCE + 23.5 * HOUR), SINCE + DAY)
  assert.equal(failingLook(SINCE, SINCE + DAY - SECOND), SINCE + DAY - SECOND + MINUTE)
})
