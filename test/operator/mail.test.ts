import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { type RunningService, startTestService } from '../service.ts'
import type { ReadLetter } from '../tools/letter.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { type SmtpServer, startSmtp } from '../tools/smtp.ts'
import { type Behaviour, type MailRelay, startRelay } from './mail-relay.ts'
import { ask } from './requests.ts'

const EMAIL = 'ann@example.test'
const HOUR_MS = 3_600_000

test(
  'the letter with a code has it on a line of its own and says what it is for',
  requires('smtp'),
  async () => {
    await using town = await startTown({ MAIL_FROM: 'Sliproad Ünlimited <codes@slipway.example>' })
    await town.client.requestCode(EMAIL)
    const [letter, ...more] = await town.smtp.letters()
    assert.deepEqual(more, [])
    assert.deepEqual([letter!.from, letter!.to], ['Sliproad Ünlimited <codes@slipway.example>', EMAIL])
    const code = codeOf(letter!)
    assert.ok(letter!.subject.includes(code))
    assert.match(letter!.text, /10 minutes/)
    assert.match(letter!.text, /did not ask/)
    assert.ok(letter!.text.includes(town.service.baseUrl))
    assertWellFormed(letter!)
    assert.equal((await town.client.verifyCode(EMAIL, code.toLowerCase().replace('-', ' '))).email, EMAIL)
    await assert.rejects(town.client.verifyCode(EMAIL, code), { code: 'INVALID_CODE' })
    await assert.rejects(readdir(`${town.service.data}/mail`), { code: 'ENOENT' }, 'no letter lies about')
    assert.ok(!JSON.stringify(town.service.log).includes(code))
  },
)

test('who is locked out after a hundred wrong codes is told so by a letter', requires('smtp'), async () => {
  await using town = await startTown({})
  for (let code = 0; code < 20; code++) {
    await town.client.requestCode(EMAIL)
    await town.smtp.letters()
    for (let wrong = 0; wrong < 5; wrong++)
      await assert.rejects(town.client.verifyCode(EMAIL, 'AAAA-2222'), { code: 'INVALID_CODE' })
    if (code % 5 === 4) town.service.clock.now += HOUR_MS
  }
  const [letter] = await town.smtp.letters()
  assert.match(letter!.subject, /paused/)
  assert.match(letter!.text, /24 hours/)
  assert.match(letter!.text, /keeps working/)
  assertWellFormed(letter!)
})

const failures: Record<string, { behaviours: Behaviour[]; connections: number }> = {
  'hangs up': { behaviours: ['hangs up'], connections: 2 },
  'is busy for now': { behaviours: [{ says: '451 later', to: /^MAIL/ }], connections: 2 },
  'takes nothing for this address': {
    behaviours: [{ says: '550 no such user', to: /^RCPT/ }],
    connections: 1,
  },
  'takes no letters at all': { behaviours: [{ says: '554 no', to: /^(EHLO|HELO)/ }], connections: 2 },
  'breaks off in the letter': { behaviours: [{ says: '421 closing', to: /Subject/ }], connections: 2 },
  'says nothing': { behaviours: ['says nothing'], connections: 2 },
}

for (const [what, { behaviours, connections }] of Object.entries(failures)) {
  test(
    `a mail server that ${what} is a 503 with Retry-After, and nothing is lost by it`,
    requires('smtp'),
    async () => {
      await using town = await startTown({})
      await town.client.requestCode(EMAIL)
      const [before] = await town.smtp.letters()
      town.relay.behave(...behaviours)
      town.relay.connections = 0
      const answer = await town.requestCode()
      assert.deepEqual([answer.status, answer.json.code], [503, 'UNAVAILABLE'])
      assert.ok(Number(answer.headers['retry-after']) > 0)
      assert.doesNotMatch(answer.json.error, /relay|127\.0\.0\.1|ECONN/, 'what is inside stays inside')
      assert.ok(town.relay.connections <= connections)
      assert.equal(
        (await town.client.verifyCode(EMAIL, codeOf(before!))).email,
        EMAIL,
        'the letter before holds',
      )
      town.relay.behave('passes on')
      await town.client.requestCode(EMAIL)
      const [after] = await town.smtp.letters()
      await town.client.verifyCode(EMAIL, codeOf(after!))
    },
  )
}

test('what fails for a moment is tried once more, and one letter comes', requires('smtp'), async () => {
  for (const behaviour of ['hangs up', { says: '421 busy', to: /^EHLO/ }] as const) {
    await using town = await startTown({})
    town.relay.behave(behaviour, 'passes on')
    assert.equal((await town.requestCode()).status, 200)
    const letters = await town.smtp.letters()
    assert.equal(letters.length, 1)
    await town.client.verifyCode(EMAIL, codeOf(letters[0]!))
  }
})

test(
  'letters that were not sent do not count: who tries until mail works again gets in',
  requires('smtp'),
  async () => {
    await using town = await startTown({})
    town.relay.behave('hangs up')
    for (let time = 0; time < 8; time++) assert.equal((await town.requestCode()).status, 503)
    town.relay.behave('passes on')
    assert.equal((await town.requestCode()).status, 200)
    const [letter] = await town.smtp.letters()
    await town.client.verifyCode(EMAIL, codeOf(letter!))
  },
)

test(
  'the password of the mail server is in no line of the log, whatever it says',
  requires('smtp'),
  async () => {
    const secret = 'hush-hush-password'
    await using town = await startTown({}, `somebody:${secret}@`)
    town.relay.behave({ says: '535 Authentication failed', to: /^AUTH/ })
    assert.equal((await town.requestCode()).status, 503)
    const log = JSON.stringify(town.service.log)
    assert.match(log, /mail server rejected a message/)
    for (const hidden of [secret, base64(secret), base64(`\0somebody\0${secret}`)])
      assert.ok(!log.includes(hidden))
  },
)

interface Town extends AsyncDisposable {
  service: RunningService
  smtp: SmtpServer
  relay: MailRelay
  client: Slipway
  requestCode(): ReturnType<typeof ask>
}

/** A service whose letters go over a relay to a real mail server. */
async function startTown(settings: Record<string, string>, user = ''): Promise<Town> {
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
      ask(service.port, {
        method: 'POST',
        path: '/api/auth/agent/request-code',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: EMAIL }),
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The code, which stands on a line of its own and nowhere else in the text. */
function codeOf({ text }: ReadLetter): string {
  const lines = text.split('\n').filter((line) => /[A-Z2-9]{4}-[A-Z2-9]{4}/.test(line))
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, /^\s*[A-Z2-9]{4}-[A-Z2-9]{4}\s*$/)
  return lines[0]!.trim()
}

/** RFC 5322: the headers a letter needs, each once, and lines that every mail program can show. */
function assertWellFormed({ headers, raw, text }: ReadLetter): void {
  for (const name of ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type']) {
    assert.equal(raw.match(new RegExp(`^${name}:`, 'gim'))?.length, 1, `${name} stands there once`)
  }
  assert.match(headers.get('content-type')!, /^text\/plain; charset=utf-8$/i)
  assert.ok(!Number.isNaN(Date.parse(headers.get('date')!)))
  assert.match(headers.get('message-id')!, /^<[^<>@\s]+@[^<>@\s]+>$/)
  assert.ok(raw.split('\n').every((line) => line.length <= 998))
  assert.ok(
    text.split('\n').every((line) => line.length <= 100),
    'no line runs out of the window',
  )
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
