import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import type { ReadLetter } from '../tools/letter.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { type SmtpServer, startSmtp } from '../tools/smtp.ts'
import { type Behaviour, type MailRelay, startRelay } from './mail-relay.ts'

const EMAIL = 'ann@example.test'
const HOUR_MS = 3_600_000

test('a mail has its code on a line of its own and explains its purpose', requires('smtp'), async () => {
  await using fixture = await startFixture({ MAIL_FROM: 'Sliproad Ünlimited <codes@slipway.example>' })
  await fixture.client.requestCode(EMAIL)
  const [letter, ...more] = await fixture.smtp.letters()
  assert.deepEqual(more, [])
  const sent = fixture.service.log.find((line) => JSON.stringify(line).includes('email sent'))
  assert.match(JSON.stringify(sent), /sign-in-code.*durationMs/)
  assert.doesNotMatch(JSON.stringify(sent), /example\.test/)
  assert.deepEqual([letter!.from, letter!.to], ['Sliproad Ünlimited <codes@slipway.example>', EMAIL])
  const code = parseCode(letter!)
  assert.ok(letter!.subject.includes(code))
  assert.match(letter!.text, /10 minutes/)
  assert.match(letter!.text, /Didn't request it\? Ignore this email/)
  assert.ok(letter!.text.includes(fixture.service.baseUrl))
  assertWellFormed(letter!)
  assert.equal((await fixture.client.verifyCode(EMAIL, code.toLowerCase().replace('-', ' '))).email, EMAIL)
  await assert.rejects(fixture.client.verifyCode(EMAIL, code), { code: 'INVALID_CODE' })
  await assert.rejects(
    readdir(`${fixture.service.data}/mail`),
    { code: 'ENOENT' },
    'no mail is written to the data folder',
  )
  assert.ok(!JSON.stringify(fixture.service.log).includes(code))
})

test('the lock after a hundred wrong codes is announced by mail', requires('smtp'), async () => {
  await using fixture = await startFixture({})
  for (let code = 0; code < 20; code++) {
    await fixture.client.requestCode(EMAIL)
    await fixture.smtp.letters()
    for (let wrong = 0; wrong < 5; wrong++)
      await assert.rejects(fixture.client.verifyCode(EMAIL, 'AAAA-2222'), { code: 'INVALID_CODE' })
    if (code % 5 === 4) fixture.service.clock.now += HOUR_MS
  }
  const [letter] = await fixture.smtp.letters()
  assert.match(letter!.subject, /paused/)
  assert.match(letter!.text, /24 hours/)
  assert.match(letter!.text, /keeps working/)
  assertWellFormed(letter!)
})

const NO_RESPONSE = /mail server does not respond\. Try again later/
const REJECTED = /mail server rejected it\. Try again later/

const failures: Record<string, { behaviours: Behaviour[]; connections: number; sentence: RegExp }> = {
  'hangs up': { behaviours: ['hangs up'], connections: 2, sentence: NO_RESPONSE },
  'is temporarily busy': {
    behaviours: [{ reply: '451 later', to: /^MAIL/ }],
    connections: 2,
    sentence: REJECTED,
  },
  'rejects this address': {
    behaviours: [{ reply: '550 no such user', to: /^RCPT/ }],
    connections: 1,
    sentence: /rejected the address\. Check it/,
  },
  'rejects every mail': {
    behaviours: [{ reply: '554 no', to: /^(EHLO|HELO)/ }],
    connections: 2,
    sentence: REJECTED,
  },
  'disconnects during the mail': {
    behaviours: [{ reply: '421 closing', to: /Subject/ }],
    connections: 2,
    sentence: REJECTED,
  },
  'does not respond': { behaviours: ['does not respond'], connections: 2, sentence: NO_RESPONSE },
}

for (const [what, { behaviours, connections, sentence }] of Object.entries(failures)) {
  test(
    `a mail server that ${what} causes a 503, and earlier codes stay valid`,
    requires('smtp'),
    async () => {
      await using fixture = await startFixture({})
      await fixture.client.requestCode(EMAIL)
      const [before] = await fixture.smtp.letters()
      fixture.relay.behave(...behaviours)
      fixture.relay.connections = 0
      const answer = await fixture.requestCode()
      assert.deepEqual([answer.status, answer.json.code], [503, 'UNAVAILABLE'])
      assert.ok(Number(answer.headers['retry-after']) > 0)
      assert.match(answer.json.error, sentence)
      assert.doesNotMatch(answer.json.error, /relay|127\.0\.0\.1|ECONN/, 'no internal details')
      assert.ok(fixture.relay.connections <= connections)
      assert.equal(
        (await fixture.client.verifyCode(EMAIL, parseCode(before!))).email,
        EMAIL,
        'the earlier code stays valid',
      )
      fixture.relay.behave('forwards')
      await fixture.client.requestCode(EMAIL)
      const [after] = await fixture.smtp.letters()
      await fixture.client.verifyCode(EMAIL, parseCode(after!))
    },
  )
}

test('a temporary failure is retried once, and one mail is sent', requires('smtp'), async () => {
  for (const behaviour of ['hangs up', { reply: '421 busy', to: /^EHLO/ }] as const) {
    await using fixture = await startFixture({})
    fixture.relay.behave(behaviour, 'forwards')
    assert.equal((await fixture.requestCode()).status, 200)
    const letters = await fixture.smtp.letters()
    assert.equal(letters.length, 1)
    await fixture.client.verifyCode(EMAIL, parseCode(letters[0]!))
  }
})

test('mails that could not be sent do not count against the limit of codes', requires('smtp'), async () => {
  await using fixture = await startFixture({})
  fixture.relay.behave('hangs up')
  for (let time = 0; time < 8; time++) assert.equal((await fixture.requestCode()).status, 503)
  fixture.relay.behave('forwards')
  assert.equal((await fixture.requestCode()).status, 200)
  const [letter] = await fixture.smtp.letters()
  await fixture.client.verifyCode(EMAIL, parseCode(letter!))
})

test('the password of the mail server is never logged', requires('smtp'), async () => {
  const secret = 'hush-hush-password'
  await using fixture = await startFixture({}, `user:${secret}@`)
  fixture.relay.behave({ reply: '535 Authentication failed', to: /^AUTH/ })
  assert.equal((await fixture.requestCode()).status, 503)
  const log = JSON.stringify(fixture.service.log)
  assert.match(log, /mail server rejected an email/)
  for (const hidden of [secret, base64(secret), base64(`\0user\0${secret}`)]) assert.ok(!log.includes(hidden))
})

interface MailFixture extends AsyncDisposable {
  service: RunningService
  smtp: SmtpServer
  relay: MailRelay
  client: Slipway
  requestCode(): ReturnType<typeof sendRequest>
}

/** A service that sends mail through a relay to a real mail server. */
async function startFixture(settings: Record<string, string>, user = ''): Promise<MailFixture> {
  await using started = new AsyncDisposableStack()
  const { path } = started.use(await memoryFolder())
  const smtp = started.use(await startSmtp())
  const relay = started.use(await startRelay(smtp.url))
  const service = started.use(
    await startTestService({ ...settings, DATA: path, SMTP_URL: relay.url.replace('://', `://${user}`) }),
  )
  const client = service.client()
  const owned = started.move()
  return {
    service,
    smtp,
    relay,
    client,
    requestCode: () =>
      sendRequest(service.port, {
        method: 'POST',
        path: '/api/auth/agent/request-code',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: EMAIL }),
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

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
  assert.ok(
    text.split('\n').every((line) => line.length <= 100),
    'lines have at most 100 characters',
  )
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
