import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LogFields, makeLog } from '../server/lib/log.ts'

function lineOf(fields: LogFields, text: boolean): string {
  const lines: string[] = []
  makeLog({ level: 'debug', text, write: (line) => void lines.push(line) }).warn('it happened', fields)
  assert.equal(lines.length, 1)
  return lines[0]!
}

describe('a log line', () => {
  const hostile = 'page\n12:00:00 error all is lost\u001b[2J\u009b31m\u202e'

  for (const text of [true, false])
    test(`is one line for any external input, as ${text ? 'text' : 'JSON'}`, () => {
      const line = lineOf({ page: hostile, list: [hostile] }, text)
      assert.equal(line.indexOf('\n'), line.length - 1)
      assert.ok(!line.includes('\u001b'))
    })

  test('as text escapes invisible characters', () => {
    const shown = 'page\\u{a}12:00:00 error all is lost\\u{1b}[2J\\u{9b}31m\\u{202e}'
    assert.ok(lineOf({ page: hostile }, true).endsWith(`  page=${shown}\n`))
  })

  test('as text has the stack of an error unchanged', () => {
    const error = new Error('all is lost')
    assert.ok(lineOf({ error }, true).endsWith(`  error=${error.stack}\n`))
  })
})
