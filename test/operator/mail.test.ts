import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import type { ReadLetter } from '../tools/letter.ts'
import { requires } from '../tools/part.ts'
import { type SmtpServer, startSmtp } from '../tools/smtp.ts'
import { type Behavior, type MailRelay, startRelay } from './mail-relay.ts'

const SENDER = 'Sliproad Ünlimited <codes@slipway.example>'
const MINUTE_MS = 60_000

const NO_RESPONSE = /mail server does not respond\. Try again later/
const REJECTED = /mail server rejected it\. Try again later/

const failures: [what: string, Behavior, connections: number, sentence: RegExp][] = [
  ['hangs up', 'hangs up', 2, NO_RESPONSE],
  ['is temporarily busy', { reply: '451 later', to: /^MAIL/ }, 2, REJECTED],
  ['rejects this address', { reply: '550 no such user', to: /^RCPT/ }, 1, /rejected the address\. Check it/],
  ['relays no more', { reply: '554 5.7.1 Relay access denied', to: /^RCPT/ }, 1, REJECTED],
  ['rejects every mail', { reply: '554 no', to: /^(EHLO|HELO)/ }, 2, REJECTED],
  ['disconnects during the mail', { reply: '421 closing', to: /Subject/ }, 2, REJECTED],
]

/** A service that sends mail through a relay to a real mail server. Each test has its own address. */
describe('a mail with a sign-in code', requires('smtp'), () => {
  const started = new AsyncDisposableStack()
  let smtp: SmtpServer
  let relay: MailRelay
  let service: RunningService
  let client: Slipway
  let email: string
  before(async () => {
    smtp = started.use(await startSmtp())
    relay = started.use(await startRelay(smtp.url))
    service = started.use(await startTestService({ SMTP_URL: relay.url, MAIL_FROM: SENDER }))
    client = service.client()
  })
  after(() => started.disposeAsync())
  beforeEach((t) => {
    email = `${t.name.replaceAll(/\W/g, '-').slice(0, 40)}@example.test`
    relay.behave('forwards')
    relay.connections = 0
  })

  const requestCode = (port = service.port) =>
    sendRequest(port, {
      method: 'POST',
      path: '/api/auth/agent/request-code',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email }),
    })
  const nextCode = async () => parseCode((await smtp.letters())[0]!)
  const verify = async (code: string) => assert.equal((await client.verifyCode(email, code)).email, email)

  test('has it on a line of its own and explains its purpose', async () => {
    const from = service.log.length
    await client.requestCode(email)
    const [letter, ...more] = await smtp.letters()
    assert.deepEqual(more, [])
    const log = service.log.slice(from).map((line) => JSON.stringify(line))
    const sent = log.find((line) => line.includes('email sent'))!
    assert.match(sent, /sign-in-code.*durationMs/)
    assert.doesNotMatch(sent, /example\.test/)
    assert.deepEqual([letter!.from, letter!.to], [SENDER, email])
    const code = parseCode(letter!)
    assert.ok(letter!.subject.includes(code))
    assert.match(letter!.text, /10 minutes/)
    assert.match(letter!.text, /Didn't request it\? Ignore this email/)
    assert.ok(letter!.text.includes(service.baseUrl))
    assertWellFormed(letter!)
    await verify(code.toLowerCase().replace('-', ' '))
    await assert.rejects(client.verifyCode(email, code), { code: 'INVALID_CODE' })
    await assert.rejects(readdir(`${service.data}/mail`), { code: 'ENOENT' }, 'no mail is in the data folder')
    assert.ok(!log.join().includes(code))
  })

  for (const [what, behavior, connections, sentence] of failures)
    test(`causes a 503 when the mail server ${what}, and earlier codes stay valid`, async () => {
      await client.requestCode(email)
      const before = await nextCode()
      relay.behave(behavior)
      relay.connections = 0
      const from = service.log.length
      const answer = await requestCode()
      assert.deepEqual([answer.status, answer.json.code], [503, 'UNAVAILABLE'])
      assert.doesNotMatch(JSON.stringify(service.log.slice(from)), /\\n +at /, 'no stack')
      assert.ok(Number(answer.headers['retry-after']) > 0)
      assert.match(answer.json.error, sentence)
      assert.doesNotMatch(answer.json.error, /relay|127\.0\.0\.1|ECONN/, 'no internal details')
      assert.ok(relay.connections <= connections)
      await verify(before)
      relay.behave('forwards')
      await client.requestCode(email)
      await verify(await nextCode())
    })

  test('causes a 503 when the mail server does not respond in time', async () => {
    const settings = { SMTP_URL: relay.url, MAIL_FROM: SENDER }
    const deadlines = { mail: { connect: 500, send: 500, background: MINUTE_MS } }
    await using impatient = await startTestService(settings, Date.now(), { deadlines })
    relay.behave('does not respond')
    const answer = await requestCode(impatient.port)
    assert.deepEqual([answer.status, answer.json.code], [503, 'UNAVAILABLE'])
    assert.match(answer.json.error, NO_RESPONSE)
    assert.ok(relay.connections <= 2)
  })

  test('is sent once when the mail server fails once', async () => {
    for (const behavior of ['hangs up', { reply: '421 busy', to: /^EHLO/ }] as const) {
      relay.behave(behavior, 'forwards')
      assert.equal((await requestCode()).status, 200)
      const letters = await smtp.letters()
      assert.equal(letters.length, 1)
      await verify(parseCode(letters[0]!))
    }
  })

  test('does not count against the limit of codes when it could not be sent', async () => {
    relay.behave('hangs up')
    for (let time = 0; time < 8; time++) assert.equal((await requestCode()).status, 503)
    relay.behave('forwards')
    assert.equal((await requestCode()).status, 200)
    await verify(await nextCode())
  })

  test('is sent with a password that is never logged', async () => {
    const secret = 'hush-hush-password'
    const SMTP_URL = relay.url.replace('://', `://user:${secret}@`)
    await using other = await startTestService({ SMTP_URL })
    relay.behave({ reply: '535 Authentication failed', to: /^AUTH/ })
    assert.equal((await requestCode(other.port)).status, 503)
    const log = JSON.stringify(other.log)
    assert.match(log, /mail server rejected an email/)
    for (const hidden of [secret, base64(secret), base64(`\0user\0${secret}`)])
      assert.ok(!log.includes(hidden))
  })
})

/** The code, which is on a line of its own, in the link, in the HTML part, and nowhere else. */
function parseCode({ text, html }: ReadLetter): string {
  const found = text.match(/[A-Z2-9]{4}-[A-Z2-9]{4}/g) ?? []
  const code = /^ {4}([A-Z2-9]{4}-[A-Z2-9]{4})$/m.exec(text)?.[1]
  assert.deepEqual(found, [code, code])
  assert.match(text, new RegExp(`^https?://\\S+/sign-in#code=${code}$`, 'm'))
  assert.match(html, new RegExp(`>${code}<`))
  assert.match(html, new RegExp(`<a href="[^"]+/sign-in#code=${code}"`))
  return code!
}

/** RFC 5322: required headers, each once, and lines within the length limits. */
function assertWellFormed({ headers, raw, text, html }: ReadLetter): void {
  const head = raw.replaceAll('\r\n', '\n').split('\n\n', 1)[0]!
  for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type']) {
    assert.equal(head.match(new RegExp(`^${name}:`, 'gim'))?.length, 1, `${name} is there once`)
  }
  assert.match(headers.get('content-type')!, /^multipart\/alternative; boundary=/i)
  assert.doesNotMatch(html, /<(img|link|script|iframe|style)\b|url\(|@import/i, 'the HTML loads nothing')
  assert.ok(!Number.isNaN(Date.parse(headers.get('date')!)))
  assert.match(headers.get('message-id')!, /^<[^<>@\s]+@[^<>@\s]+>$/)
  assert.ok(raw.split('\n').every((line) => line.length <= 998))
  const isNarrow = text.split('\n').every((line) => line.length <= 100)
  assert.ok(isNarrow, 'lines have at most 100 characters')
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
