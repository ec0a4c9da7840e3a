import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { NOTICE_KINDS } from '../../protocol/api/account.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { databaseUnavailable } from '../../server/lib/errors.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import {
  certificateNoticeId,
  domainNoticeId,
  expiryNoticeId,
  type NoticeEvent,
} from '../../server/store/tables/notices.ts'
import { Api, expectFailure } from '../api/api.ts'
import { toFiles } from '../api/content.ts'
import { certificateRow, domainRow } from '../store/rows.ts'
import { sendRequest } from '../support/http-client.ts'
import { pluck } from '../support/pluck.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { type ReadLetter, readLetter } from '../tools/letter.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { type MailRelay, startRelay } from './mail-relay.ts'
import { run } from './program.ts'

const DAY_MS = 86_400_000

/** Of a mail server. */
const ACCEPTS = { reply: '', to: /$^/ }

/** Kinds of emails that a person asks for, and those to addresses without an account. */
const ALWAYS_SENT = [
  ...['sign-in-code', 'sign-in-paused', 'sign-up-closed', 'invitation', 'test'],
  ...['account-deleted', 'site-shared', 'site-reported'],
]

describe('emails about events', () => {
  const disposal = new AsyncDisposableStack()
  let service: RunningService
  let client: Slipway
  let accountId: string
  /** Of the service, for the account. */
  let writes = 0
  let operator: Awaited<ReturnType<typeof openOperator>>
  before(async () => {
    const wrapStore = (store: Store): Store => ({
      ...store,
      write: (durability, scope, work) => {
        if ('account' in scope && scope.account === accountId) writes++
        return store.write(durability, scope, work)
      },
    })
    service = disposal.use(await startTestService({}, undefined, { wrapStore }))
    operator = disposal.use(await openOperator(service, {}))
    client = service.client(await service.signIn('ann@example.test'))
    accountId = (await operator.store.read.accounts.byEmail('ann@example.test'))!.id
  })
  after(() => disposal.disposeAsync())

  let added = 0
  /** Adds an event and sends what is due; returns the new emails. */
  async function notice(event: NoticeEvent, id = `${event.kind} ${++added}`): Promise<ReadLetter[]> {
    // Files of emails are named by their time.
    service.clock.now++
    await operator.store.write('durable', {}, (tx) =>
      tx.notices.add({ id, accountId, event, createdAt: service.clock.now }),
    )
    return send()
  }

  /** Sends what is to be repeated; returns the new emails. */
  async function sendLater(): Promise<ReadLetter[]> {
    service.clock.now += DAY_MS / 96
    return send()
  }

  async function send(): Promise<ReadLetter[]> {
    const before = await readdir(join(service.data, 'mail'))
    await sendDue(operator)
    const names = (await readdir(join(service.data, 'mail'))).filter((name) => !before.includes(name))
    return Promise.all(
      names.map(async (name) => readLetter(await readFile(join(service.data, 'mail', name), 'utf8'))),
    )
  }

  /** Adds events that the mail server does not accept now. */
  async function addDuringOutage(events: readonly { id: string; event: NoticeEvent }[]): Promise<void> {
    const [folder, away] = [join(service.data, 'mail'), join(service.data, 'away')]
    await rename(folder, away)
    await writeFile(folder, 'a file where the folder should be')
    await operator.store.write('durable', {}, async (tx) => {
      for (const event of events) await tx.notices.add({ ...event, accountId, createdAt: service.clock.now })
    })
    // The first one that fails ends a run.
    for (let runs = 0; runs <= events.length; runs++) await sendDue(operator)
    await rm(folder)
    await rename(away, folder)
  }

  const deleted = { kind: 'site-deleted', slug: 'a', title: null, at: 0, keptUntil: null } as const
  const linkOf = (letter: ReadLetter) =>
    new URL(/^<(.*)>$/.exec(letter.headers.get('list-unsubscribe')!)![1]!)
  const follow = (link: URL, method: string) =>
    sendRequest(service.port, {
      method,
      path: link.pathname + link.search,
      headers: { host: link.host, 'content-type': 'application/x-www-form-urlencoded' },
      ...(method === 'POST' && { body: 'List-Unsubscribe=One-Click' }),
    })

  test('are turned off one by one, and reminders are both kinds about sites', async () => {
    const all = Object.fromEntries(Object.keys(NOTICE_KINDS).map((kind) => [kind, true]))
    assert.deepEqual((await client.me()).notices, all)
    assert.deepEqual(await client.updateMe({ notices: { 'site-deleted': false } }), {
      reminders: true,
      notices: { ...all, 'site-deleted': false },
    })
    assert.deepEqual(await notice(deleted), [])
    assert.equal((await client.updateMe({ notices: { 'site-expires': false } })).reminders, false)
    assert.deepEqual(await client.updateMe({ reminders: true }), { reminders: true, notices: all })
    assert.equal((await notice(deleted)).length, 1)
    assert.deepEqual(await client.updateMe({ reminders: false, notices: { 'site-expires': true } }), {
      reminders: true,
      notices: { ...all, 'site-deleted': false },
    })
    await client.updateMe({ reminders: true })
  })

  test('that an operator causes are turned off together, also by the link of one of them', async () => {
    const suspended = { kind: 'account-suspended', reason: 'spam' } as const
    const released = { kind: 'domain-released', domain: 'a.example', slug: 'a', reason: 'spam' } as const
    const [letter] = await notice(suspended)
    assert.equal((await notice(released)).length, 1)
    assert.equal((await follow(linkOf(letter!), 'POST')).status, 200)
    assert.equal((await client.me()).notices.moderation, false)
    for (const event of [suspended, released]) assert.deepEqual(await notice(event), [])
    assert.equal((await notice(deleted)).length, 1)
    await client.updateMe({ notices: { moderation: true } })
  })

  test('have a link that turns their kind off with one click, and not when a program opens it', async () => {
    const [letter] = await notice(deleted)
    assert.equal(letter!.headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click')
    const link = linkOf(letter!)
    const page = await follow(link, 'GET')
    assert.equal(page.status, 200)
    assert.match(page.text, /A site was deleted: turn off/)
    assert.equal((await client.me()).notices['site-deleted'], true)
    for (const [name, value] of [
      ['kind', 'new-browser'],
      ['account', 'another-account'],
      ['signature', 'x'],
    ] as const) {
      const forged = new URL(link)
      forged.searchParams.set(name, value)
      assert.equal((await follow(forged, 'POST')).status, 404, name)
    }
    assert.equal((await follow(link, 'POST')).status, 200)
    const { notices } = await client.me()
    const turnedOff = Object.entries(notices).filter(([, isOn]) => !isOn)
    assert.deepEqual(turnedOff, [['site-deleted', false]])
    writes = 0
    assert.equal((await follow(link, 'POST')).status, 200)
    assert.equal(writes, 0, 'a repetition, which no limit counts, writes nothing')
    await client.updateMe({ reminders: true })
  })

  test('have no control characters and marks of text direction from titles in any part', async () => {
    const [letter] = await notice({
      ...deleted,
      title: 'moc.knab\u202e\u2066\u0007\u200b\nBcc: x@example.com',
    })
    for (const part of [letter!.subject, letter!.text, letter!.html])
      assert.doesNotMatch(part, /[^\P{C}\r\n]/u)
    assert.match(letter!.html, /moc\.knab +Bcc/)
  })

  test('report that another account has verified a domain, unless it is active again', async () => {
    const domain = { domain: 'lost.example.test', slug: 'a' }
    const row = domainRow(domain.domain, { accountId, slug: 'a', status: 'pending' })
    await operator.store.write('durable', {}, (tx) => tx.domains.insert(row))
    const lost = {
      kind: 'domain-fails',
      ...domain,
      problem: 'Another account has it',
      servedUntil: null,
    } as const
    const [letter] = await notice(lost, domainNoticeId({ ...row, failingSince: 3 }))
    assert.match(
      letter!.text,
      /lost\.example\.test no longer shows your site at .*\sAnother account has it\./s,
    )
    await operator.store.write('durable', {}, (tx) => tx.domains.update(row, { status: 'active' }))
    assert.deepEqual(await notice(lost, domainNoticeId({ ...row, failingSince: 4 })), [])
  })

  test('report that a domain works again only after they reported that it does not', async () => {
    const domain = { domain: 'www.example.test', slug: 'a' }
    const works = { kind: 'domain-works', ...domain, failingSince: 7 } as const
    assert.deepEqual(await notice(works), [])
    const fails = { kind: 'domain-fails', ...domain, problem: 'no record', servedUntil: 0 } as const
    await operator.store.write('durable', {}, (tx) =>
      tx.domains.insert(
        domainRow(domain.domain, { accountId, slug: 'a', status: 'active', failingSince: 7 }),
      ),
    )
    assert.equal((await notice(fails, `domain-fails ${accountId} www.example.test 7`)).length, 1)
    const [letter] = await notice(works)
    assert.equal(letter!.subject, 'www.example.test points to your site again')
  })

  test('are sent after all if the event lasts, when the mail server accepted none for a day', async () => {
    const domain = { domain: 'lasting.example.test', slug: 'a' }
    const row = domainRow(domain.domain, { accountId, slug: 'a', status: 'active', failingSince: 7 })
    await operator.store.write('durable', {}, (tx) => tx.domains.insert(row))
    const [folder, away] = [join(service.data, 'mail'), join(service.data, 'away')]
    await rename(folder, away)
    await writeFile(folder, 'a file where the folder should be')
    const attempts = async () => (await operator.store.read.notices.find(domainNoticeId(row)))!.attempts
    const pass = async (days: number) => {
      for (const end = service.clock.now + days * DAY_MS; service.clock.now < end; ) {
        await sendDue(operator)
        service.clock.now += DAY_MS / 24
      }
    }
    await pass(2)
    const first = await attempts()
    await pass(4)
    const daily = (await attempts()) - first
    assert.ok(daily >= 3 && daily <= 5, `${daily} attempts in four more days`)
    await rm(folder)
    await rename(away, folder)
    await operator.store.write('durable', {}, (tx) => tx.domains.update(row, { failingSince: null }))
    assert.deepEqual(await notice({ kind: 'domain-works', ...domain, failingSince: 7 }), [])
    await operator.store.write('durable', {}, (tx) => tx.domains.update(row, { failingSince: 7 }))
    service.clock.now += DAY_MS
    const [letter] = await send()
    assert.match(letter!.subject, /^lasting\.example\.test/)
  })

  test('are sent once the mail server accepts emails again, also of a kind with one email a day', async () => {
    service.clock.now += DAY_MS
    const event = { kind: 'new-browser', browser: null, network: '192.0.2.0/24', at: 0 } as const
    await addDuringOutage([{ id: 'away', event }])
    assert.equal((await sendLater()).length, 1)
  })

  test('about a deleted account are sent although a process ended before it sent them', async () => {
    const event = { kind: 'account-deleted', to: 'gone@example.test', at: 0, reason: null } as const
    const { notices, store } = operator
    await store.write('durable', {}, (tx) =>
      tx.notices.add({ id: 'account-deleted gone', accountId: 'gone', event, createdAt: service.clock.now }),
    )
    const killed: Store = {
      ...store,
      async write(...given) {
        await store.write(...given)
        throw new Error('killed')
      },
    }
    await assert.rejects(notices.run(killed), /killed/)
    service.clock.now += DAY_MS / 6
    assert.deepEqual(pluck(await send(), 'subject'), ['Your account was deleted'])
  })

  test('are sent once although the standby confirmed their claim only after the process gave up', async () => {
    const event = { kind: 'new-browser', browser: null, network: '198.51.100.0/24', at: 0 } as const
    service.clock.now += DAY_MS
    const { notices, store } = operator
    await store.write('durable', {}, (tx) =>
      tx.notices.add({ id: 'unconfirmed', accountId, event, createdAt: service.clock.now }),
    )
    const unconfirmed: Store = {
      ...store,
      async write(...given) {
        await store.write(...given)
        throw databaseUnavailable('no answer')
      },
    }
    await assert.rejects(notices.run(unconfirmed), { code: 'UNAVAILABLE' })
    assert.deepEqual(await send(), [])
    assert.equal((await sendLater()).length, 1)
    assert.equal((await sendLater()).length, 0)
  })

  test('are sent late only if they are still true', async () => {
    const now = service.clock.now
    const [kept, ended] = ['kept.example.test', 'ended.example.test']
    for (const isTrue of [true, false]) {
      const [domain, to] = [isTrue ? kept : ended, isTrue ? 'in@example.test' : 'out@example.test']
      const { slug } = await client.publish({ files: toFiles({ 'a.txt': domain }), ttlSeconds: 86_400 })
      await client.addCollaborator(slug, to)
      const expiresAt = Date.parse((await client.details(slug)).expiresAt!)
      const row = domainRow(domain, { accountId, slug, status: 'active', failingSince: now, verifiedAt: now })
      const problem = 'the CA is unavailable'
      await operator.store.write('durable', {}, async (tx) => {
        await tx.domains.insert(row)
        await tx.rows.insert('certificates', certificateRow(domain, { problem }))
      })
      const certificate = { ...row, problem, notAfter: null }
      const expires = { kind: 'site-expires', slug, title: null, expiresAt } as const
      const fails = { kind: 'domain-fails', domain, slug, problem: 'no record', servedUntil: now } as const
      await addDuringOutage([
        { id: expiryNoticeId(slug, expiresAt), event: expires },
        { id: domainNoticeId(row), event: fails },
        {
          id: certificateNoticeId(certificate),
          event: { kind: 'certificate-fails', domain, problem, notAfter: null },
        },
      ])
      if (!isTrue) {
        await client.setMetadata(slug, { ttlSeconds: null })
        await client.removeCollaborator(slug, to)
        await operator.store.write('durable', {}, async (tx) => {
          await tx.domains.update(row, { failingSince: null })
          await tx.certificates.update(domain, { problem: null })
        })
        const works = { kind: 'domain-works', domain, slug, failingSince: now } as const
        assert.deepEqual(await notice(works), [], 'no email reported that it fails')
      }
      const subjects = (await sendLater()).map(({ subject }) => subject)
      assert.equal(subjects.length, isTrue ? 4 : 0, subjects.join(', '))
    }
  })
})

test('an account gets one email when 80 % of its sites or of its storage are used, one when all are, and one a day when more are refused', async () => {
  await using api = await Api.start({ PLANS: JSON.stringify({ free: { sites: 5 } }) })
  const { client } = await api.account()
  const subjects = async () => {
    await api.sweep('emails')
    const folder = join(api.data, 'mail')
    const letters = await Promise.all(
      (await readdir(folder)).map(async (name) => readLetter(await readFile(join(folder, name), 'utf8'))),
    )
    return letters.map(({ subject }) => subject).filter((subject) => /\bused?/.test(subject))
  }
  for (let count = 1; count <= 3; count++) await api.publish(client, { 'index.html': `${count}` })
  assert.deepEqual(await subjects(), [])
  for (let count = 4; count <= 5; count++) await api.publish(client, { 'index.html': `${count}` })
  const reached = ['100 % of your sites are used', '80 % of your sites are used']
  assert.deepEqual((await subjects()).sort(), reached)
  const refused = 'A publish was refused: your sites are used up'
  for (const day of [1, 2]) {
    for (let count = 0; count < 2; count++) {
      api.pass()
      await expectFailure(api.publish(client, { 'index.html': `${count}` }), 'QUOTA_EXCEEDED')
    }
    assert.deepEqual((await subjects()).sort(), [...reached, ...Array(day).fill(refused)])
    api.pass(DAY_MS)
  }
  const { client: small, email } = await api.account()
  await (await api.operator()).administrators.setPlan(COMMAND_LINE, email, { limits: { sites: 1 } })
  await api.publish(small, { 'index.html': 'the only one' })
  const more = (await subjects()).filter((subject) => subject.includes('%')).sort()
  assert.deepEqual(more, [reached[0], ...reached], 'one email about a site that passes both')
  const { client: large, ...other } = await api.account()
  await (await api.operator()).administrators.setPlan(COMMAND_LINE, other.email, { limits: { bytes: 1000 } })
  await api.publish(large, { 'index.html': 'x'.repeat(850) })
  const ofStorage = (await subjects()).filter((subject) => subject.includes('storage'))
  assert.deepEqual(ofStorage, ['80 % of your storage is used'])
})

test('without a mail server the newest 1,000 emails are kept', async () => {
  await using api = await Api.start()
  const folder = join(api.data, 'mail')
  await mkdir(folder, { mode: 0o700 })
  const earlier = Array.from({ length: 1005 }, (_, number) => `2020-01-01T00-00-${1000 + number}.eml`)
  await Promise.all([...earlier, 'notes.txt'].map((name) => writeFile(join(folder, name), '')))
  await api.account()
  const names = (await readdir(folder)).sort()
  assert.deepEqual(names.slice(0, 2), [earlier[6], earlier[7]])
  assert.deepEqual([names.length, names.at(-1)], [1001, 'notes.txt'])
})

describe('a mail server that refuses', () => {
  const disposal = new AsyncDisposableStack()
  let server: MailRelay
  let service: RunningService
  let operator: Awaited<ReturnType<typeof openOperator>>
  before(async () => {
    server = disposal.use(await startRelay())
    server.behave(ACCEPTS)
    service = disposal.use(await startTestService({ SMTP_URL: server.url }))
    operator = disposal.use(await openOperator(service, { SMTP_URL: server.url }))
  })
  after(() => disposal.disposeAsync())

  const recipients = () => server.received.match(/^RCPT.*$/gm) ?? []

  async function signIn(email: string): Promise<string> {
    await service.client().requestCode(email)
    const code = server.received.match(/(?<=^ {4})[A-Z2-9]{4}-[A-Z2-9]{4}$/gm)!.at(-1)!
    return (await service.client().verifyCode(email, code)).apiKey
  }

  /** Adds an event of an account. */
  async function add(email: string, id: string): Promise<void> {
    const { id: accountId } = (await operator.store.read.accounts.byEmail(email))!
    const event = { kind: 'site-deleted', slug: 'a', title: null, at: 0, keptUntil: null } as const
    await operator.store.write('durable', {}, (tx) =>
      tx.notices.add({ id: `${email} ${id}`, accountId, event, createdAt: service.clock.now++ }),
    )
  }

  const refusals = [
    ['its name', /^RCPT/, 'ann'],
    ['an email to it', /^DATA/, 'zoe'],
  ] as const
  for (const [what, to, name] of refusals)
    test(`an address, by ${what}, gets no further emails until a code arrives there`, async () => {
      const email = `${name}@example.test`
      const client = service.client(await signIn(email))
      server.received = ''
      server.behave({ reply: '550 5.1.1 no such user', to })
      await add(email, '1')
      await sendDue(operator)
      assert.equal(recipients().length, 1)
      assert.match((await client.me()).emailProblem!.reply, /550 5\.1\.1 no such user/)
      await add(email, '2')
      service.clock.now += DAY_MS
      await sendDue(operator)
      assert.equal(recipients().length, 1)
      server.behave(ACCEPTS)
      await signIn(email)
      await add(email, '3')
      await sendDue(operator)
      assert.equal(recipients().length, 3)
      const again = service.client(await signIn(email))
      assert.equal((await again.me()).emailProblem, null)
    })

  test('some addresses for now delays the emails to these addresses only', async () => {
    const emails = ['full1@example.test', 'full2@example.test', 'full3@example.test', 'bob@example.test']
    for (const email of emails) await signIn(email)
    // Most of a run is delayed, but not most in a row.
    for (const id of ['1', '2', '3', '4']) for (const email of emails) await add(email, id)
    server.behave({ reply: '452 4.2.2 mailbox full', to: /^RCPT.*full/ })
    server.received = ''
    await sendDue(operator)
    assert.equal(recipients().filter((recipient) => /bob@example\.test/.test(recipient)).length, 4)
    server.behave(ACCEPTS)
    server.received = ''
    service.clock.now += DAY_MS / 96
    await sendDue(operator)
    assert.equal(recipients().length, 12)
    for (const recipient of recipients()) assert.match(recipient, /full\d@example\.test/)
  })

  test('the sender of the service or the content delays the emails, and turns off those of no account', async () => {
    const email = 'eve@example.test'
    const client = service.client(await signIn(email))
    const refusals: [reply: string, to: RegExp][] = [
      ['550 5.7.1 sender refused', /^MAIL/],
      ['554-5.7.1 Relay access denied\r\n554 5.7.1 Ask for it', /^RCPT/],
      ['550 5.1.8 Sender address rejected: domain not found', /^RCPT/],
      ['550 5.7.0 Daily quota exceeded', /^DATA/],
      ['554 Message contains a URL that is listed', /^DATA/],
      ['550 5.6.0 Message is malformed', /^DATA/],
      ['552 5.2.3 Message exceeds a limit of the mailbox', /^DATA/],
    ]
    for (const [reply, to] of refusals) {
      server.behave({ reply, to })
      await add(email, reply)
      await sendDue(operator)
      assert.equal((await client.me()).emailProblem, null, reply)
      server.behave(ACCEPTS)
      server.received = ''
      service.clock.now += DAY_MS / 96
      await sendDue(operator)
      assert.equal(recipients().length, 1, reply)
    }
  })
})

test('each email has both parts and the usual headers, as the operator can see before', async () => {
  await using folder = await memoryFolder()
  const out = join(folder.path, 'emails')
  const settings = { DATA: folder.path, MAIL_FROM: 'Pages <no-reply@pages.example>' }
  const ended = await run(['mail', 'preview', '--out', out], settings)
  assert.deepEqual([ended.code, ended.stderr], [0, ''])
  const names = (await readdir(out)).filter((name) => name.endsWith('.eml'))
  assert.ok(names.length >= 9)
  for (const name of names) {
    const kind = name.slice(0, -'.eml'.length)
    const { headers, from, text, html, subject } = readLetter(await readFile(join(out, name), 'utf8'))
    assert.equal(from, 'Pages <no-reply@pages.example>', kind)
    assert.match(headers.get('message-id') ?? '', /^<[\w-]+@pages\.example>$/, kind)
    assert.ok(!Number.isNaN(Date.parse(headers.get('date') ?? '')), kind)
    assert.equal(headers.get('auto-submitted'), 'auto-generated', kind)
    assert.equal(headers.has('list-unsubscribe'), !ALWAYS_SENT.includes(kind), kind)
    assert.ok(subject !== '' && text.length > 50, kind)
    assert.doesNotMatch(html, /<(img|link|script)|url\(/, kind)
    if (kind === 'new-browser' || kind === 'site-deleted')
      for (const access of ['sessions', 'API key', 'named keys', 'programs', 'trusted repositories'])
        assert.ok(text.replace(/\s+/g, ' ').includes(access), `${kind} names ${access}`)
    assert.match(html, /display:none[^>]*>[^<]{20,}/, `${kind} begins with a text for lists of emails`)
    assert.equal((await readFile(join(out, `${kind}.html`), 'utf8')).trim(), html.trim())
  }
})

async function sendDue(operator: Awaited<ReturnType<typeof openOperator>>): Promise<void> {
  await runOnce(sweeps.find(({ name }) => name === 'emails')!, operator)
}
