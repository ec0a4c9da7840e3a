import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortenOutput } from './test-group.ts'

test('the report of a failure has the last lines that its process printed', () => {
  const lines = shortenOutput(Array.from({ length: 200 }, (_, index) => `line ${index}`).join('\n')).split(
    '\n',
  )
  assert.equal(lines.at(-1), 'line 199')
  assert.ok(lines.length < 100)
})
