import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numbers } from '../support/random.ts'
import { openLanes } from './lane-sites.ts'
import { compareLanes } from './lanes.ts'

// `npm run lanes -- --requests 1000000 --seed N` is the long run of the same.

test('the fast lane answers whatever comes as the slow one does, and with nothing but what was published', async (t) => {
  const pick = numbers(t)
  await using lanes = await openLanes()
  const { faults, requests, statuses } = await compareLanes(lanes, 20_000, pick)
  assert.deepEqual(faults, [])
  assert.ok(requests >= 20_000)
  for (const status of [200, 206, 301, 304, 400, 401, 404, 405, 412, 416]) {
    assert.ok(statuses.has(status), `no answer was ${status}`)
  }
  t.diagnostic(told(statuses))
  for (const { log } of [lanes.fast, lanes.plain]) {
    assert.deepEqual(
      log.filter(({ level }) => level === 'error'),
      [],
    )
  }
})

function told(statuses: Map<number, number>): string {
  const sorted = [...statuses].sort(([one], [other]) => one - other)
  return sorted.map(([status, count]) => `${status}: ${count}`).join(', ')
}
