import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { type Log, type LogFields, MAX_LOGGED_PATH_LENGTH, makeLog, maskPath } from '../../server/lib/log.ts'
import { formatCode } from '../../server/mail/mail.ts'

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

describe('an outage', () => {
  const cause = new Error(`connect ECONNREFUSED\n${'x'.repeat(1000)}`)
  const unavailable = new ApiError('UNAVAILABLE', 'The database is unavailable.', { cause })

  test('has one line a minute for each message, with the number of what happened since, when the last did, and no stack', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    const { log, lines } = openLog()
    const happen = (path: string) => {
      log.warn('a visit failed', { path, error: unavailable })
      log.summarize('error', 'sign-in failed', { path }, 'mail')
    }
    const error = `The database is unavailable. (connect ECONNREFUSED ${'x'.repeat(279)})`
    for (const path of ['/1', '/2', '/3']) {
      happen(path)
      t.mock.timers.tick(1000)
    }
    const visit = { level: 'warn', message: 'a visit failed', error }
    const signIn = { level: 'error', message: 'sign-in failed' }
    assert.deepEqual(lines.splice(0), [
      { ...visit, path: '/1' },
      { ...signIn, path: '/1' },
    ])
    t.mock.timers.tick(57_000)
    const repeated = { repeated: 2, seconds: 60, lastAt: '1970-01-01T00:00:02.000Z', path: '/3' }
    assert.deepEqual(lines.splice(0), [
      { ...visit, ...repeated },
      { ...signIn, ...repeated },
    ])
    t.mock.timers.tick(60_000)
    happen('/4')
    assert.deepEqual(lines, [
      { ...visit, path: '/4' },
      { ...signIn, path: '/4' },
    ])
  })

  test('of two servers has a line for each', () => {
    const { log, lines } = openLog()
    log.error('sweep failed', { error: unavailable })
    log.error('sweep failed', { error: new ApiError('UNAVAILABLE', 'File storage is unavailable') })
    assert.equal(lines.length, 2)
  })
})

test('an error whose clean-up failed as well is logged as what failed first', async () => {
  const { log, lines } = openLog()
  const work = async () => {
    await using stack = new AsyncDisposableStack()
    stack.defer(() => Promise.reject(new Error('the clean-up')))
    throw new ApiError('UNAVAILABLE', 'The database is away')
  }
  await work().catch((error: unknown) => log.error('sweep failed', { error }))
  assert.deepEqual(lines, [{ level: 'error', message: 'sweep failed', error: 'The database is away' }])
})

function openLog(): { log: Log; lines: object[] } {
  const lines: object[] = []
  const write = (line: string) => {
    const { time: _, ...rest } = JSON.parse(line)
    lines.push(rest)
  }
  return { log: makeLog({ level: 'debug', text: false, write }), lines }
}

test('a path has a maximum length', () => {
  assert.equal(maskPath(`/${'x'.repeat(9000)}?key`).length, MAX_LOGGED_PATH_LENGTH)
})

test('a sign-in code is boxed on a terminal, and a line of its own elsewhere', () => {
  const shown = { email: 'a\u001b@example.test', code: 'ABCD-2345' }
  assert.equal(formatCode(shown, false), 'Sign-in code for a\uFFFD@example.test: ABCD-2345\n')
  const [, top, line, bottom] = formatCode(shown, true).split('\n')
  assert.match(line!, /^ {2}│ {2}Sign-in code for \S+: ABCD-2345 {2}│$/)
  assert.ok(top!.length === line!.length && bottom!.length === line!.length)
})
