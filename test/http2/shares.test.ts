import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { ClientMemory, type MemoryReservation } from '../../packages/http-server/clients/client-memory.ts'
import type { HttpRequest, HttpResult } from '../../packages/http-server/http-handler.ts'
import { CODE, TYPE } from '../../packages/http-server/http2/frame.ts'
import { sha256 } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { CLIENT_PREFACE, frame, getFields, getFrame, headerBlock, type RawClient } from './raw-client.ts'

const post = (stream: number, more: Record<string, string> = {}) =>
  frame(
    TYPE.headers,
    4,
    stream,
    headerBlock({ ...getFields('api.test', '/stuff'), ':method': 'POST', ...more }),
  )

const health = (stream: number, more: Record<string, string> = {}) =>
  frame(TYPE.headers, 5, stream, headerBlock({ ...getFields('api.test', '/health'), ...more }))

interface Upstream {
  fixture: Http2Fixture
  /** Handles requests with a body. */
  bodies: (request: IncomingMessage, response: ServerResponse) => void
}

/** An HTTP/2 server that relays to an upstream; requests without a body get an immediate response. */
async function startWithUpstream(
  bytes: { total: number; each: number },
  options: { trustedProxies?: number } = {},
): Promise<Upstream & AsyncDisposable> {
  const clientMemory = new ClientMemory({ totalBytes: bytes.total, perNetworkBytes: bytes.each })
  const fixture = await Http2Fixture.start({ clientMemory, ...options })
  const upstream: Upstream = { fixture, bodies: () => undefined }
  fixture.server.removeAllListeners('request')
  fixture.server.on('request', (request, response) => {
    request.on('error', () => undefined)
    if (request.method === 'GET') response.end('healthy')
    else upstream.bodies(request, response)
  })
  return Object.assign(upstream, { [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() })
}

/** The status of a response, also 503, which RawClient does not decode. */
async function readStatus(client: RawClient, stream: number): Promise<string> {
  const { payload } = await client.frame((one) => one.type === TYPE.headers && one.stream === stream)
  return payload.includes('503') ? '503' : String(await client.status(stream))
}

const MIB = 2 ** 20

describe('a client that never sends the bodies of its requests', () => {
  test('exhausts its own share of memory, and clients at other addresses are served', async () => {
    await using upstream = await startWithUpstream({ total: 4 * MIB, each: MIB })
    const { fixture } = upstream
    const attackers = await Promise.all([fixture.raw('127.0.0.2'), fixture.raw('127.0.0.2')])
    for (const attacker of attackers)
      attacker.send(CLIENT_PREFACE, ...Array.from({ length: 100 }, (_, index) => post(2 * index + 1)))
    for (const attacker of attackers) await attacker.roundTrip('all sent')
    assert.ok(fixture.http2Server.relayed < 80, `${fixture.http2Server.relayed} are in progress`)
    assert.equal(await readStatus(attackers[1]!, 199), '503')
    const [refusal] = attackers[1]!.received.filter(
      ({ type, stream }) => type === TYPE.headers && stream === 199,
    )
    assert.ok(refusal!.payload.includes('no-store'))
    const other = await fixture.raw('127.0.0.3')
    other.send(CLIENT_PREFACE, health(1))
    assert.equal(await readStatus(other, 1), '200')
    for (const attacker of attackers) attacker.socket.destroy()
    await waitFor(() => fixture.clientMemory.heldBytes === 0)
    const again = await fixture.raw('127.0.0.2')
    again.send(CLIENT_PREFACE, health(1))
    assert.equal(await readStatus(again, 1), '200')
  })

  test('exhausts its own share behind a trusted proxy, not that of the proxy', async () => {
    await using upstream = await startWithUpstream({ total: 4 * MIB, each: MIB }, { trustedProxies: 1 })
    const { fixture } = upstream
    const from = (address: string) => ({ 'x-forwarded-for': `203.0.113.99, ${address}` })
    const proxy = await fixture.open(
      ...Array.from({ length: 60 }, (_, index) => post(2 * index + 1, from('203.0.113.1'))),
    )
    assert.equal(await readStatus(proxy, 119), '503')
    proxy.send(health(121, from('203.0.113.1')), health(123, from('203.0.113.2')))
    assert.equal(await readStatus(proxy, 121), '503')
    assert.equal(await readStatus(proxy, 123), '200')
  })
})

test('a body of many small frames is merged into few chunks and takes no more memory than its size', async () => {
  await using upstream = await startWithUpstream({ total: MIB, each: MIB })
  const held = Promise.withResolvers<IncomingMessage>()
  upstream.bodies = (request, response) => {
    held.resolve(request)
    request.on('end', () => response.end())
  }
  const body = noise(65_535)
  const client = await upstream.fixture.open(post(1))
  const request = await held.promise
  const frames: Buffer[] = []
  for (let at = 0; at < body.length; at += 64) frames.push(frame(TYPE.data, 0, 1, body.subarray(at, at + 64)))
  client.send(...frames)
  await client.roundTrip('all sent')
  assert.ok(
    upstream.fixture.clientMemory.heldBytes < 200_000,
    `${upstream.fixture.clientMemory.heldBytes} bytes`,
  )
  client.send(frame(TYPE.data, 1, 1))
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  assert.equal(sha256(Buffer.concat(pieces)), sha256(body))
  assert.ok(pieces.length < 100, `${pieces.length} chunks`)
})

test('unread bodies count against the share, and requests beyond it are refused', async () => {
  await using upstream = await startWithUpstream({ total: MIB, each: MIB })
  const client = await upstream.fixture.open()
  const streams = Array.from({ length: 20 }, (_, index) => 2 * index + 1)
  const piece = Buffer.alloc(16_000)
  for (const stream of streams)
    client.send(post(stream), ...Array.from({ length: 4 }, () => frame(TYPE.data, 0, stream, piece)))
  await client.roundTrip('all sent')
  const statuses = client.received.filter(({ type }) => type === TYPE.headers)
  assert.ok(statuses.length > 5 && statuses.every(({ payload }) => payload.includes('503')))
  assert.ok(upstream.fixture.clientMemory.heldBytes <= MIB)
})

test('a client that streams its body in small frames, such as JSON lines, is served', async () => {
  await using upstream = await startWithUpstream({ total: MIB, each: MIB })
  upstream.bodies = (request, response) => {
    request.resume()
    request.on('end', () => response.end())
  }
  for (const [bytes, count] of [
    [100, 5000],
    [30, 1500],
    [1, 900],
  ] as const) {
    const client = await upstream.fixture.open(post(1))
    const line = Buffer.alloc(bytes, 'x')
    for (let sent = 0; sent < count; sent += 100) {
      client.send(...Array.from({ length: 100 }, () => frame(TYPE.data, 0, 1, line)))
      await client.roundTrip(`sent ${sent}`.padEnd(8).slice(0, 8))
    }
    client.send(frame(TYPE.data, 1, 1))
    assert.equal(await client.status(1), 200, `${count} frames of ${bytes} bytes`)
    const endings = client.received.filter(({ type }) => type === TYPE.goAway || type === TYPE.reset)
    assert.deepEqual(endings, [])
  }
})

test('unread downloads are reset when the share is exhausted, and clients at other addresses are served', async () => {
  await using upstream = await startWithUpstream({ total: MIB, each: 300_000 })
  const { edge, clientMemory } = upstream.fixture
  const slug = await edge.publish({ 'big.bin': noise(400_000), 'warm.bin': noise(200_000) })
  const host = edge.host(slug)
  await edge.get(slug, '/warm.bin')
  const client = await upstream.fixture.open(
    getFrame(1, host, '/warm.bin'),
    getFrame(3, host, '/big.bin'),
    getFrame(5, host, '/warm.bin'),
  )
  await waitFor(() => client.received.some(({ type, stream }) => type === TYPE.reset && stream === 1))
  assert.ok(clientMemory.heldBytes <= 300_000)
  const other = await upstream.fixture.raw('127.0.0.3')
  other.send(CLIENT_PREFACE, getFrame(1, host, '/warm.bin'))
  assert.equal(await other.status(1), 200)
  for (const { socket } of [client, other]) socket.destroy()
  await waitFor(() => clientMemory.heldBytes === 0)
})

test('the memory of a body is released when its response has ended, even by a handler that does not', async (t) => {
  await using upstream = await startWithUpstream({ total: MIB, each: MIB })
  const { edge, clientMemory } = upstream.fixture
  const slug = await edge.publish({ 'big.bin': noise(400_000) })
  t.mock.method(
    edge.edge,
    'openBody',
    async (_request: HttpRequest, _: HttpResult, memory: MemoryReservation) => {
      assert.ok(memory.resize(100_000))
      const body = Buffer.from('x')
      return { response: { status: 200, headers: ['Content-Length', '1'], body }, body }
    },
  )
  const client = await upstream.fixture.open(getFrame(1, edge.host(slug), '/big.bin'))
  assert.equal(await client.status(1), 200)
  await waitFor(() => clientMemory.heldBytes < 100_000)
})

test('a header block beyond the share of its client ends the connection', async () => {
  await using upstream = await startWithUpstream({ total: MIB, each: 16_384 })
  const client = await upstream.fixture.open(frame(TYPE.headers, 1, 1, Buffer.alloc(16_384, 0x82)))
  client.send(frame(TYPE.continuation, 0, 1, Buffer.alloc(16_384, 0x82)))
  assert.equal(await client.goAway(), CODE.enhanceYourCalm)
})
