import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_SILENCE_MS, NOTICE_INTERVAL_MS, Silence } from './silence.ts'

const START = { nowMs: 0, cpuMs: 0, idleMs: 0 }

const cases = [
  { what: 'one that uses this much CPU time', share: { cpuMs: 1, idleMs: 0 }, endsAfterMs: MAX_SILENCE_MS },
  { what: 'one that waits on an idle machine', share: { cpuMs: 0, idleMs: 2 }, endsAfterMs: MAX_SILENCE_MS },
  {
    what: 'one that gets a tenth of a core, on a machine that is busy',
    share: { cpuMs: 0.1, idleMs: 0 },
    endsAfterMs: MAX_SILENCE_MS * 10,
  },
  {
    what: 'one that waits, on a machine that is always busy',
    share: { cpuMs: 0, idleMs: 0 },
    endsAfterMs: MAX_SILENCE_MS * 20,
  },
]

for (const { what, share, endsAfterMs } of cases)
  test(`a group without the end of a test is silent for too long: ${what}`, () => {
    const silence = new Silence(START)
    const at = (nowMs: number) => ({ nowMs, cpuMs: nowMs * share.cpuMs, idleMs: nowMs * share.idleMs })
    assert.equal(silence.isTooLong(at((endsAfterMs * NOTICE_INTERVAL_MS) / MAX_SILENCE_MS - 1000)), false)
    assert.equal(silence.takeNotice(), undefined)
    assert.equal(silence.isTooLong(at(endsAfterMs - 1000)), false)
    const last = MAX_SILENCE_MS - NOTICE_INTERVAL_MS
    assert.deepEqual([silence.takeNotice(), silence.takeNotice()], [last, undefined])
    assert.equal(silence.isTooLong(at(endsAfterMs + 1000)), true)
  })

test('the end of a test starts the silence of a group again', () => {
  const silence = new Silence(START)
  assert.equal(silence.isTooLong({ nowMs: MAX_SILENCE_MS - 1, cpuMs: MAX_SILENCE_MS - 1, idleMs: 0 }), false)
  silence.end()
  assert.equal(
    silence.isTooLong({ nowMs: 2 * MAX_SILENCE_MS - 2, cpuMs: 2 * MAX_SILENCE_MS - 2, idleMs: 0 }),
    false,
  )
})
