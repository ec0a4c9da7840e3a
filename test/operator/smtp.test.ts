import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { makeLog } from '../../server/lib/log.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { smtpMail } from '../../server/mail/smtp.ts'
import { listen } from '../support/listen.ts'
import { silentLog } from '../support/silent-log.ts'

const EMAIL = { kind: 'sign-in-code', to: 'owner@slip.test', subject: 'Code', text: 'Code', html: 'Code' }

test('an email that no server accepts is tried again after a pause, and the log has neither its address nor a stack', async () => {
  const lines: string[] = []
  const log = makeLog({ level: 'info', text: false, write: (line) => void lines.push(line) })
  const pauses: number[] = []
  const mail = smtpMail({
    // Port 1 of the loopback address refuses connections.
    url: 'smtp://127.0.0.1:1',
    from: 'slipway@slip.test',
    log,
    pause: async (milliseconds) => pauses.push(milliseconds),
  })
  await assert.rejects(mail.send(EMAIL), { code: 'UNAVAILABLE' })
  assert.deepEqual(pauses, [500])
  const entries = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    entries.map(({ to, attempt }) => [to, attempt]),
    [
      ['o...@slip.test', 1],
      ['o...@slip.test', 2],
    ],
  )
  for (const { cause } of entries) assert.match(cause, /ECONNREFUSED/)
  assert.doesNotMatch(lines.join(), /owner@|\\n +at /)
})

test('a mail server that takes longer to check the content than to connect gets each email once', async (t) => {
  const [connect, { setTimeout: later }] = [50, globalThis]
  // Its connection and its greeting may take longer.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let contents = 0
  const server = createServer((socket) => {
    const reply = (text: string) => socket.write(`${text}\r\n`)
    socket.on('error', () => undefined).setEncoding('latin1')
    reply('220 ready')
    socket.on('data', (command: string) => {
      if (/^DATA/.test(command)) reply('354 continue')
      else if (/^QUIT/.test(command)) socket.end('221 bye\r\n')
      else if (/^(EHLO|MAIL|RCPT)/.test(command)) reply('250 fine')
      else if (command.endsWith('\r\n.\r\n') && ++contents > 0) later(reply, 3 * connect, '250 queued')
    })
  })
  await using _ = {
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
  const mail = smtpMail({
    ...{ url: `smtp://127.0.0.1:${await listen(server)}`, from: 'slipway@slip.test', log: silentLog },
    pause: async () => undefined,
    deadlines: { connect, send: HOUR_MS, background: HOUR_MS },
  })
  await mail.send(EMAIL)
  assert.equal(contents, 1)
})

test('an email that no request waits for has a minute', async () => {
  const timeouts: number[] = []
  const mail = smtpMail({
    ...{ url: 'smtp://127.0.0.1:1', from: 'slipway@slip.test', log: silentLog, pause: async () => undefined },
    createTimeout: (milliseconds) => {
      timeouts.push(milliseconds)
      return new AbortController().signal
    },
  })
  for (const isAwaited of [true, false])
    await assert.rejects(mail.send({ ...EMAIL, isAwaited }), { code: 'UNAVAILABLE' })
  assert.deepEqual(timeouts, [15_000, 60_000])
})

test('a mail server that never ends its reply delays a request for 15 seconds at most', async () => {
  const timeout = new AbortController()
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 ready\r\n')
    socket.on('data', () => {
      socket.write('250-more\r\n')
      timeout.abort()
    })
  })
  const port = await listen(server)
  const timeouts: number[] = []
  const mail = smtpMail({
    ...{ url: `smtp://127.0.0.1:${port}`, from: 'slipway@slip.test', log: silentLog },
    createTimeout: (milliseconds) => {
      timeouts.push(milliseconds)
      return timeout.signal
    },
  })
  await assert.rejects(mail.send(EMAIL), { code: 'UNAVAILABLE' })
  assert.deepEqual(timeouts, [15_000])
  // The connection has ended.
  await new Promise((resolve) => server.close(resolve))
})
