import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TransferRates } from '../../packages/http-server/clients/transfer-rates.ts'
import { KIB } from '../support/units.ts'

/** Received bytes as [seconds, bytes per second], and the second of the abort (undefined: never). */
// biome-ignore format: one row per case
const transfers: [
  sentence: string,
  phases: [seconds: number, bytes: number][],
  endsAfter: number | undefined,
][] = [
  ['of 1 KiB a second may take an hour', [[3600, KIB]], undefined],
  ['of a byte a second ends after 30 seconds', [[600, 1]], 31],
  ['that never begins ends after 30 seconds', [[600, 0]], 30],
  ['of half a KiB a second ends after a minute', [[600, KIB / 2]], 60],
  [
    'that was fast may pause for less than a minute, as often as it was',
    [10, 59, 10, 59, 1].map((seconds, index) => [seconds, index % 2 === 0 ? 100 * KIB : 0]),
    undefined,
  ],
  ['that was fast for an hour ends after a minute without a byte', [[3600, 100 * KIB], [600, 0]], 3660],
]

describe('a transfer', () => {
  for (const [sentence, phases, endsAfter] of transfers) {
    test(sentence, (t) => {
      const { transfer, second, ended } = watched(t.mock.timers)
      for (const [seconds, bytes] of phases) {
        for (let n = 0; n < seconds; n++) {
          transfer.receivedBytes += bytes
          second()
        }
      }
      assert.deepEqual(ended(), endsAfter === undefined ? [] : [endsAfter])
    })
  }

  test('with bytes that this process has not read yet is not too slow', (t) => {
    const { transfer, second, ended } = watched(t.mock.timers)
    transfer.unreadBytes = 1
    for (let n = 0; n < 600; n++) second()
    assert.deepEqual(ended(), [])
    transfer.unreadBytes = 0
    for (let n = 0; n < 600; n++) second()
    assert.deepEqual(ended(), [630])
  })

  test('that is finished is not watched any more', (t) => {
    const { transfer, second, ended } = watched(t.mock.timers)
    second()
    transfer.isFinished = true
    for (let n = 0; n < 600; n++) second()
    assert.deepEqual(ended(), [])
  })
})

/** Watches a transfer on a fake clock. */
function watched(timers: TestContext['mock']['timers']) {
  timers.enable({ apis: ['setInterval'] })
  let now = 0
  const ended: number[] = []
  const transfer = { receivedBytes: 0, unreadBytes: 0, isFinished: false }
  new TransferRates({ clock: () => now }).watch(transfer, () => ended.push(now / 1000))
  const second = () => {
    now += 1000
    timers.tick(1000)
  }
  return { transfer, second, ended: () => ended }
}
