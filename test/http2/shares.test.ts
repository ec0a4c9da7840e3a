import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { ClientMemory } from '../../server/lib/client-memory.ts'
import { CODE, TYPE } from '../../server/net/http2/frame.ts'
import { noise, sha256 } from '../edge-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { block, frame, get, getFrame, HELLO, type RawClient } from './raw-client.ts'

const post = (stream: number, more: Record<string, string> = {}) =>
  frame(TYPE.headers, 4, stream, block({ ...get('api.test', '/stuff'), ':method': 'POST', ...more }))

const health = (stream: number, more: Record<string, string> = {}) =>
  frame(TYPE.headers, 5, stream, block({ ...get('api.test', '/health'), ...more }))

interface Behind {
  fixture: Http2Fixture
  /** What a request with a body gets. */
  bodies: (request: IncomingMessage, response: ServerResponse) => void
}

/** A lane in front of something that answers requests without a body at once. */
async function startBehind(
  bytes: { total: number; each: number },
  options: { trustedProxies?: number } = {},
): Promise<Behind & AsyncDisposable> {
  const clientMemory = new ClientMemory({ totalBytes: bytes.total, perNetworkBytes: bytes.each })
  const fixture = await Http2Fixture.start({ clientMemory, ...options })
  const behind: Behind = { fixture, bodies: () => undefined }
  fixture.server.removeAllListeners('request')
  fixture.server.on('request', (request, response) => {
    request.on('error', () => undefined)
    if (request.method === 'GET') response.end('healthy')
    else behind.bodies(request, response)
  })
  return Object.assign(behind, { [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() })
}

/** The status of a response with a header block as the lane writes it. */
async function statusOf(client: RawClient, stream: number): Promise<string> {
  const { payload } = await client.frame((one) => one.type === TYPE.headers && one.stream === stream)
  return payload.includes('503') ? '503' : String(await client.status(stream))
}

const MIB = 2 ** 20

describe('a client that leaves its requests without their bodies', () => {
  test('uses up its own share, and clients at other addresses are served', async () => {
    await using behind = await startBehind({ total: 4 * MIB, each: MIB })
    const { fixture } = behind
    const attackers = await Promise.all([fixture.raw('127.0.0.2'), fixture.raw('127.0.0.2')])
    for (const attacker of attackers)
      attacker.send(HELLO, ...Array.from({ length: 100 }, (_, index) => post(2 * index + 1)))
    for (const attacker of attackers) await attacker.answered('all sent')
    assert.ok(fixture.lane.relayed < 80, `${fixture.lane.relayed} are in progress`)
    assert.equal(await statusOf(attackers[1]!, 199), '503')
    const [refusal] = attackers[1]!.came.filter(({ type, stream }) => type === TYPE.headers && stream === 199)
    assert.ok(refusal!.payload.includes('no-store'))
    const other = await fixture.raw('127.0.0.3')
    other.send(HELLO, health(1))
    assert.equal(await statusOf(other, 1), '200')
    for (const attacker of attackers) attacker.socket.destroy()
    await waitFor(() => fixture.clientMemory.heldBytes === 0)
    const again = await fixture.raw('127.0.0.2')
    again.send(HELLO, health(1))
    assert.equal(await statusOf(again, 1), '200')
  })

  test('uses up its own share behind a trusted proxy as well, and not that of the proxy', async () => {
    await using behind = await startBehind({ total: 4 * MIB, each: MIB }, { trustedProxies: 1 })
    const { fixture } = behind
    const from = (address: string) => ({ 'x-forwarded-for': `203.0.113.99, ${address}` })
    const proxy = await fixture.raw()
    proxy.send(HELLO, ...Array.from({ length: 60 }, (_, index) => post(2 * index + 1, from('203.0.113.1'))))
    assert.equal(await statusOf(proxy, 119), '503')
    proxy.send(health(121, from('203.0.113.1')), health(123, from('203.0.113.2')))
    assert.equal(await statusOf(proxy, 121), '503')
    assert.equal(await statusOf(proxy, 123), '200')
  })
})

test('a body that arrives in many small frames is handed on in few pieces, and is held in as many bytes as it has', async () => {
  await using behind = await startBehind({ total: MIB, each: MIB })
  const held = Promise.withResolvers<IncomingMessage>()
  behind.bodies = (request, response) => {
    held.resolve(request)
    request.on('end', () => response.end())
  }
  const body = noise(65_535)
  const client = await behind.fixture.raw()
  client.send(HELLO, post(1))
  const request = await held.promise
  const frames: Buffer[] = []
  for (let at = 0; at < body.length; at += 64) frames.push(frame(TYPE.data, 0, 1, body.subarray(at, at + 64)))
  client.send(...frames)
  await client.answered('all sent')
  assert.ok(behind.fixture.clientMemory.heldBytes < 200_000, `${behind.fixture.clientMemory.heldBytes} bytes`)
  client.send(frame(TYPE.data, 1, 1))
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  assert.equal(sha256(Buffer.concat(pieces)), sha256(body))
  assert.ok(pieces.length < 100, `${pieces.length} pieces`)
})

test('bodies that nothing consumes are accounted for, and beyond the share their requests are refused', async () => {
  await using behind = await startBehind({ total: MIB, each: MIB })
  const client = await behind.fixture.raw()
  client.send(HELLO)
  const streams = Array.from({ length: 20 }, (_, index) => 2 * index + 1)
  const piece = Buffer.alloc(16_000)
  for (const stream of streams)
    client.send(post(stream), ...Array.from({ length: 4 }, () => frame(TYPE.data, 0, stream, piece)))
  await client.answered('all sent')
  const statuses = client.came.filter(({ type }) => type === TYPE.headers)
  assert.ok(statuses.length > 5 && statuses.every(({ payload }) => payload.includes('503')))
  assert.ok(behind.fixture.clientMemory.heldBytes <= MIB)
})

test('a client that streams its body in small frames, as lines of JSON, is served', async () => {
  await using behind = await startBehind({ total: MIB, each: MIB })
  behind.bodies = (request, response) => {
    request.resume()
    request.on('end', () => response.end())
  }
  for (const [bytes, count] of [
    [100, 5000],
    [30, 1500],
    [1, 900],
  ] as const) {
    const client = await behind.fixture.raw()
    client.send(HELLO, post(1))
    const line = Buffer.alloc(bytes, 'x')
    for (let sent = 0; sent < count; sent += 100) {
      client.send(...Array.from({ length: 100 }, () => frame(TYPE.data, 0, 1, line)))
      await client.answered(`sent ${sent}`.padEnd(8).slice(0, 8))
    }
    client.send(frame(TYPE.data, 1, 1))
    assert.equal(await client.status(1), 200, `${count} frames of ${bytes} bytes`)
    assert.deepEqual(
      client.came.filter(({ type }) => type === TYPE.goAway || type === TYPE.reset),
      [],
    )
  }
})

test('files that a client does not read end when its share is used up, and clients at other addresses are served', async () => {
  await using behind = await startBehind({ total: MIB, each: 300_000 })
  const { edge, clientMemory } = behind.fixture
  const slug = await edge.publish({ 'big.bin': noise(400_000), 'warm.bin': noise(200_000) })
  const host = edge.host(slug)
  await edge.get(slug, '/warm.bin')
  const client = await behind.fixture.raw()
  client.send(
    HELLO,
    getFrame(1, host, '/warm.bin'),
    getFrame(3, host, '/big.bin'),
    getFrame(5, host, '/warm.bin'),
  )
  await waitFor(() => client.came.some(({ type, stream }) => type === TYPE.reset && stream === 1))
  assert.ok(clientMemory.heldBytes <= 300_000)
  const other = await behind.fixture.raw('127.0.0.3')
  other.send(HELLO, getFrame(1, host, '/warm.bin'))
  assert.equal(await other.status(1), 200)
  for (const { socket } of [client, other]) socket.destroy()
  await waitFor(() => clientMemory.heldBytes === 0)
})

test('a header block that is too long for the memory of its client ends the connection', async () => {
  await using behind = await startBehind({ total: MIB, each: 16_384 })
  const client = await behind.fixture.raw()
  client.send(HELLO, frame(TYPE.headers, 1, 1, Buffer.alloc(16_384, 0x82)))
  client.send(frame(TYPE.continuation, 0, 1, Buffer.alloc(16_384, 0x82)))
  assert.equal(await client.goAway(), CODE.enhanceYourCalm)
})
