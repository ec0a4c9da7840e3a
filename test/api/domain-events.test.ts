import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { parseEvents, type ServerEvent } from '../../client/sdk/events.ts'
import type { DomainRecord } from '../../protocol/api/domains.schema.ts'
import { EventWriter } from '../../server/api/domains.ts'
import { startTestService } from '../support/service.ts'
import { type Account, expectFailure, startApi } from './api.ts'
import { browser } from './browser.ts'
import { toFiles } from './content.ts'

const api = await startApi()

type Owner = Account & { slug: string }

/** A new account with a site. */
async function publisher(): Promise<Owner> {
  const account = await api.account()
  const { slug } = await api.publish(account.client, { 'index.html': 'home' })
  return { ...account, slug }
}

/** Opens an event stream and returns its response. */
async function listen(
  domain: string,
  headers: Record<string, string>,
  { port = api.port, method = 'GET' } = {},
): Promise<IncomingMessage> {
  const path = `/api/v1/domains/${domain}/events`
  const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }).end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  return incoming
}

const bearing = ({ key }: Account) => ({ authorization: `Bearer ${key}` })

describe('the events of a domain', { concurrency: true }, () => {
  test('begin with the current record, and cost one request', async () => {
    const { client, slug, key } = await publisher()
    const added = await client.addDomain('www.first.example.com', slug)
    const standing = async () => {
      const { headers } = await api.request('GET', '/api/v1/domains', { key })
      return Number(headers['x-ratelimit-remaining'])
    }
    const before = await standing()
    const events = client.domainEvents('www.first.example.com')
    const { value } = await events.next()
    const { records, domain, siteSlug } = value as DomainRecord
    assert.deepEqual([domain, siteSlug, records[1]!.value], [added.domain, slug, added.records[1]!.value])
    await events.next()
    await events.return(undefined)
    assert.equal(await standing(), before - 2)
  })

  test('are a stream that proxies neither cache nor buffer', async () => {
    const owner = await publisher()
    await owner.client.addDomain('www.stream.example.com', owner.slug)
    for (const method of ['GET', 'HEAD']) {
      const incoming = await listen('www.stream.example.com', bearing(owner), { method })
      assert.equal(incoming.statusCode, 200)
      assert.equal(incoming.headers['content-type'], 'text/event-stream')
      assert.equal(incoming.headers['cache-control'], 'no-store')
      assert.equal(incoming.headers['x-accel-buffering'], 'no')
      assert.equal(incoming.headers['access-control-allow-origin'], '*')
      incoming.destroy()
    }
  })

  test('end when the domain is removed, by any process', async () => {
    const { client, slug, email } = await publisher()
    const { store, domains } = await api.operator()
    const account = (await store.read.accounts.byEmail(email))!
    await client.addDomain('www.gone.example.com', slug)
    const events = client.domainEvents('www.gone.example.com')
    await events.next()
    await domains.remove(account, 'www.gone.example.com')
    const error = await expectFailure(Array.fromAsync(events), 'NOT_FOUND')
    assert.match(error.message, /was removed/)
  })

  const endings: [what: string, end: (owner: Owner) => Promise<unknown>][] = [
    ['its key is replaced', ({ client }) => client.newKey()],
    ['its key ends', ({ client }) => client.endKey()],
    ['its owner deletes the account', ({ client, email }) => client.deleteAccount(email)],
  ]
  for (const [what, end] of endings) {
    test(`end when ${what}`, async () => {
      const owner = await publisher()
      await owner.client.addDomain('www.key.example.com', owner.slug)
      const events = text(await listen('www.key.example.com', bearing(owner)))
      await end(owner)
      assert.match(await events, /^retry: \d+\nevent: domain\n/)
    })
  }

  test('end with their session, and not with another one', async () => {
    const owner = await publisher()
    await owner.client.addDomain('www.session.example.com', owner.slug)
    const [one, other] = [await browser(api, owner), await browser(api, owner)]
    const [first, second] = [
      await listen('www.session.example.com', one.headers),
      await listen('www.session.example.com', other.headers),
    ]
    assert.deepEqual([first.statusCode, second.statusCode], [200, 200])
    const [ended, going] = [text(first), text(second)]
    await api.request('DELETE', '/api/auth/session', { headers: one.headers })
    await ended
    assert.equal(second.readableEnded, false)
    await owner.client.removeDomain('www.session.example.com')
    assert.match(await going, /event: gone\ndata: \{"domain":"www\.session\.example\.com"\}\n\n$/)
  })

  test('are limited to five streams per account', async () => {
    const owner = await publisher()
    await owner.client.addDomain('www.many.example.com', owner.slug)
    const path = '/api/v1/domains/www.many.example.com/events'
    const open: IncomingMessage[] = []
    for (let times = 0; times < 5; times++) open.push(await listen('www.many.example.com', bearing(owner)))
    assert.deepEqual(new Set(open.map(({ statusCode }) => statusCode)), new Set([200]))
    const refusal = await owner.request('GET', path)
    assert.equal(refusal.json.code, 'RATE_LIMITED')
    assert.match(refusal.json.error, /The limit is 5 domains per account/)
    assert.equal(refusal.headers['retry-after'], '60')
    open.pop()!.destroy()
    while ((await listen('www.many.example.com', bearing(owner))).statusCode !== 200);
    await owner.client.removeDomain('www.many.example.com')
  })

  test('end cleanly when the service stops, which does not wait for them', async () => {
    const service = await startTestService({ DRAIN_SECONDS: '600' })
    const key = await service.signIn('stays@example.com')
    const client = service.client(key)
    const { slug } = await client.publish({ files: toFiles({ 'a.txt': 'a' }) })
    await client.addDomain('www.stays.example.com', slug)
    const events = await listen('www.stays.example.com', { authorization: `Bearer ${key}` }, service)
    const ended = text(events)
    await service[Symbol.asyncDispose]()
    assert.match(await ended, /^retry: 30000\nevent: domain\n/, 'not aborted')
  })

  test('are not buffered without limit for a client that does not read', () => {
    const events = new EventWriter('www.example.com')
    const record = { domain: 'x'.repeat(50_000) } as DomainRecord
    events.record(record)
    events.record(record)
    assert.equal(events.destroyed, false)
    events.record(record)
    assert.equal(events.destroyed, true)
    events.record(record)
    events.end()
    const silent = new EventWriter('www.example.com')
    silent.heartbeat()
    assert.equal(silent.destroyed, true, 'the unread stream is closed')
  })
})

describe('a stream of events', () => {
  const table: [what: string, chunks: string[], ...events: string[]][] = [
    ['several lines, without the space', ['data:a\ndata: b\n\n'], 'message: a\nb'],
    ['a type for one event only', ['event: x\ndata: a\n\ndata: b\n\n'], 'x: a', 'message: b'],
    ['comments and fields that are not known', [': a\nid: 1\nretry: 5\nx\ndata: b\n\n'], 'message: b'],
    ['ends of lines of every kind', ['data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r'], 'message: a\nb\nc'],
    ['pieces', ['da', 'ta: a\r', '\n\r', '\ndata', ': b\n', '\n'], 'message: a', 'message: b'],
    ['a mark at the beginning, and an incomplete end', ['\ufeffdata: a: b\n\ndata: b\n'], 'message: a: b'],
  ]
  test('is parsed as browsers parse it', async () => {
    for (const [what, chunks, ...expected] of table) {
      const found = await collect(chunks.map((chunk) => Buffer.from(chunk)))
      assert.deepEqual(
        found.map(({ type, data }) => `${type}: ${data}`),
        expected,
        what,
      )
    }
  })

  test('is decoded correctly when chunks split characters', async () => {
    const bytes = Buffer.from('data: zażółć 日本\n\n')
    const found = await collect([...bytes].map((byte) => Buffer.from([byte])))
    assert.deepEqual(found, [{ type: 'message', data: 'zażółć 日本' }])
  })

  test('is refused when an event exceeds the size limit', async () => {
    const line = Buffer.from('x'.repeat(2 ** 19))
    await assert.rejects(collect([line, line, line]), /too long/)
    const data = Buffer.from(`data: ${'x'.repeat(2 ** 19)}\n`)
    await assert.rejects(collect([data, data, data]), /too long/)
  })
})

function collect(chunks: Uint8Array[]): Promise<ServerEvent[]> {
  return Array.fromAsync(parseEvents(Readable.from(chunks)))
}
