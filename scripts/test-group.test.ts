import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortenOutput } from './test-group.ts'

test('the report of a failure begins with the seeds of its tests, however much they print', () => {
  const printed = Array.from({ length: 200 }, (_, index) => `line ${index}`)
  const lines = shortenOutput(['SEED=7', ...printed].join('\n')).split('\n')
  assert.equal(lines[0], 'SEED=7')
  assert.equal(lines.at(-1), 'line 199')
  assert.ok(lines.length < printed.length)
  assert.equal(shortenOutput('SEED=7\nfailed\n'), 'SEED=7\nfailed')
})
