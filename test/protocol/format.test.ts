import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  formatBytes,
  formatCountLimit,
  formatDuration,
  formatExcess,
  formatFileCount,
  formatLimit,
  formatUtc,
  pluralize,
  stripControlChars,
  truncate,
  UNLIMITED,
} from '../../protocol/format.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'

describe('formatting', () => {
  it('formats counts', () => {
    assert.deepEqual(
      [pluralize(0, 'file'), pluralize(1, 'file'), pluralize(1204, 'file')],
      ['0 files', '1 file', '1,204 files'],
    )
    assert.deepEqual(
      [formatCountLimit(1, 'site'), formatCountLimit(1204, 'site'), formatCountLimit(UNLIMITED, 'site')],
      ['1 site', '1,204 sites', 'unlimited sites'],
    )
  })
  const sizes: [number, string][] = [
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1.0 kB'],
    [1234, '1.2 kB'],
    [9999, '10 kB'],
    [123_456, '123 kB'],
    [999_600, '1.0 MB'],
    [3_940_000, '3.9 MB'],
    [12_300_000, '12 MB'],
    [5_000_000_000, '5.0 GB'],
    [123_000_000_000_000, '123 TB'],
  ]
  it('formats sizes', () => {
    for (const [bytes, words] of sizes) assert.equal(formatBytes(bytes), words)
  })
  it('cuts a text before an emoji of which only a half would remain', () => {
    const cases: [args: [string, number, string?], cut: string][] = [
      [['a😀b', 1], 'a'],
      [['a😀b', 2, '…'], 'a…'],
      [['a😀b', 3, '…'], 'a😀…'],
      [['a😀b', 4, '…'], 'a😀b'],
    ]
    for (const [args, cut] of cases) assert.equal(truncate(...args), cut)
    assert.equal(sanitizePath('😀'.repeat(45)), `${'😀'.repeat(38)}...`)
  })
  const limits: [number, string][] = [
    [999, '999 bytes'],
    [2 * 2 ** 20, '2 MB'],
    [250 * 2 ** 20, '262 MB'],
    [2 ** 30, '1 GB'],
    [5 * 2 ** 30, '5.3 GB'],
    [10 * 2 ** 30, '10 GB'],
    [3_000_000, '3 MB'],
    [10 ** 15, '1,000 TB'],
  ]
  it('rounds limits down', () => {
    for (const [bytes, words] of limits) assert.equal(formatLimit(bytes), words)
  })
  it('formats a size beyond a limit in bytes where it would read as the limit', () => {
    const limit = 250 * 2 ** 20
    assert.deepEqual(formatExcess(limit + 1, limit), {
      found: '262,144,001 bytes',
      limit: '262,144,000 bytes',
    })
    assert.deepEqual(formatExcess(limit + 1e6, limit), { found: '263 MB', limit: '262 MB' })
  })
  it('formats files with their size', () => {
    assert.equal(formatFileCount([{ size: 1000 }, { size: 2000 }]), '2 files (3.0 kB)')
  })
  it('formats durations', () => {
    assert.deepEqual([0.2, 42, 150, 86_400, 604_800].map(formatDuration), [
      '1 s',
      '42 s',
      '3 min',
      '24 hours',
      '7 days',
    ])
  })
  it('formats times', () => assert.equal(formatUtc('2030-01-02T03:04:05.678Z'), '2030-01-02 03:04 UTC'))
  it('removes control characters', () => {
    assert.equal(stripControlChars('\u001b[2Jhello\r\n\u009b\u202e'), `\uFFFD[2Jhello${'\uFFFD'.repeat(4)}`)
  })
})
