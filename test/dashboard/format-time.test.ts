import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRelative, formatRemaining } from '../../dashboard/app/format-time.ts'

test('a time is "yesterday" on the day after it only', () => {
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime()
  const relative = (from: number, now: number) => formatRelative(new Date(from).toISOString(), now)
  assert.equal(relative(at(22, 23), at(24, 22)), '2 days ago')
  assert.equal(relative(at(22, 1), at(23, 23)), 'yesterday')
  assert.equal(relative(at(22, 23), at(23, 1)), '2 hours ago')
  assert.equal(relative(at(17, 23), at(24, 22)), '7 days ago')
})

test('a remaining time of whole hours has no minutes', () => {
  const minutes = (count: number) => formatRemaining(count * 60_000)
  assert.deepEqual([minutes(24 * 60), minutes(24 * 60 - 1), minutes(60)], ['24 h', '23 h 59 min', '1 h'])
})
