import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LogFields, makeLog } from '../../server/lib/log.ts'
import { formatCode } from '../../server/mail/show-code.ts'

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

test('a sign-in code is boxed on a terminal, and a line of its own elsewhere', () => {
  const shown = { email: 'a\u001b@example.test', code: 'ABCD-2345' }
  assert.equal(formatCode(shown, false), 'Sign-in code for a\uFFFD@example.test: ABCD-2345\n')
  const [, top, line, bottom] = formatCode(shown, true).split('\n')
  assert.match(line!, /^ {2}│ {2}Sign-in code for \S+: ABCD-2345 {2}│$/)
  assert.ok(top!.length === line!.length && bottom!.length === line!.length)
})
