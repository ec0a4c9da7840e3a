import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { startApi, toTarget } from '../api/api.ts'
import { BASE, SecureService } from '../tls/secure-service.ts'
import { chunked } from './body-routes.ts'

// A connection that is closed while bytes arrive is reset, and the client loses the response (RFC 9112, 9.6).

const MIB = 2 ** 20

/** More than the buffers of a connection hold. */
const BODY_MIB = 24
const PIECE = Buffer.alloc(MIB, ' ')
const CHUNK = chunked(PIECE, MIB)

const api = await startApi()
const limited = await startApi({ RATE_ANONYMOUS: '1' })
await limited.request('POST', '/api/v1/publish', { json: {} })
const full = await startApi({ DISK_RESERVE: '16TiB' })
const { upload } = await api.create(api.anonymous, { 'a.bin': PIECE })
const [target] = upload.uploads as [(typeof upload.uploads)[0]]
const { slug } = await api.publish(api.anonymous, { 'index.html': 'home' })

const { key } = await api.account()

const head = (start: string, ...lines: string[]) => `${[`${start} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`
const HOST = 'Host: localhost'
const JSON_TYPE = 'Content-Type: application/json'
const ZIP = 'Content-Type: application/zip'
const CHUNKED = 'Transfer-Encoding: chunked'
/** More lines than Node keeps: it would obey what nothing else sees. */
const LINES = Array.from({ length: 1000 }, () => 'a:')
const LONG = 'Content-Length: 1000000000'
const WRONG_KEY = 'Authorization: Bearer slp_wrong'

// biome-ignore format: one case a row
const REFUSALS: [status: number, what: string, bytes: string, port?: number][] = [
  [413, 'a message of a program above the limit', head('POST /mcp', HOST, JSON_TYPE, CHUNKED)],
  [413, 'a message that says its length', head('POST /mcp', HOST, JSON_TYPE, LONG)],
  [413, 'a manifest above the limit', head('POST /api/v1/publish', HOST, JSON_TYPE, CHUNKED)],
  [415, 'a body of an unknown type', head('POST /api/v1/publish', HOST, 'Content-Type: a/b', CHUNKED)],
  [401, 'an archive with a wrong key', head('POST /api/v1/publish', HOST, ZIP, WRONG_KEY, CHUNKED)],
  [401, 'a file with a wrong key', head('PUT /site.zip', HOST, WRONG_KEY, LONG)],
  [403, 'a file for a target that was not issued', head(`PUT ${toTarget(target.url)}x`, HOST, LONG)],
  [403, 'a version with a wrong claim token', head(`PUT /${slug}`, HOST, ZIP, `X-Slipway-Claim-Token: ${crypto.randomUUID()}`, LONG)],
  [401, 'a version without a key', head(`PUT /api/v1/publish/${slug}`, HOST, ZIP, LONG)],
  [404, 'a version of a site that the caller does not own', head(`PUT /api/v1/publish/${slug}`, HOST, ZIP, `Authorization: Bearer ${key}`, LONG)],
  [400, 'a file that is longer than declared', head(`PUT ${toTarget(target.url)}`, HOST, `Content-Type: ${target.headers['Content-Type']}`, LONG)],
  [404, 'an unknown path', head('POST /stuff', HOST, CHUNKED)],
  [404, 'an unknown path of the API', head('PUT /api/v1/stuff', HOST, LONG)],
  [405, 'a wrong method', head('POST /docs', HOST, CHUNKED)],
  [405, 'a wrong method of the API', head('PUT /api/v1/publish', HOST, LONG)],
  [405, 'a form for a site', head('POST /', `Host: ${slug}.localhost`, CHUNKED)],
  [429, 'an archive above the rate limit', head('POST /api/v1/publish', HOST, ZIP, CHUNKED), limited.port],
  [507, 'an archive for a full disk', head('POST /api/v1/publish', HOST, ZIP, CHUNKED), full.port],
  [400, 'no Host', head('POST /mcp', CHUNKED)],
  [400, 'a malformed head', 'nonsense\r\n\r\n'],
  [405, 'a tunnel', head('CONNECT other.example:443', 'Host: other.example')],
  [417, 'an unknown expectation', head('POST /mcp', HOST, 'Expect: a-miracle', LONG)],
  [431, 'a head that is too long', head('POST /mcp', HOST, `X: ${'x'.repeat(32 * 1024)}`)],
  [431, 'a transfer coding behind 1,000 lines', head('POST /mcp', HOST, ...LINES, CHUNKED)],
  [501, 'an unknown transfer coding', head('POST /mcp', HOST, 'Transfer-Encoding: gzip, chunked')],
]

describe('a client that sends its whole body before it reads gets the response', () => {
  for (const [status, what, bytes, port = api.port] of REFUSALS) {
    test(`to ${what}: ${status}`, async () => {
      const socket = connect(port, '127.0.0.1')
      assert.match(await sendThenRead(socket, bytes), new RegExp(`^HTTP/1\\.1 ${status} `))
    })
  }

  test('to a body that is too slow and then fast: 408', async () => {
    const socket = connect(api.port, '127.0.0.1').pause()
    const begun = api.begunPuts
    socket.write(head('POST /api/v1/publish', HOST, 'Content-Type: text/html', CHUNKED))
    socket.write(CHUNK.subarray(0, 100))
    const passing = setInterval(() => api.pass(1000), 10)
    await once(socket, 'readable')
    clearInterval(passing)
    assert.match(await sendThenRead(socket, ''), /^HTTP\/1\.1 408 /)
    assert.equal(api.begunPuts, begun)
  })

  test('over TLS', async () => {
    await using service = await SecureService.start()
    await service.certify(BASE)
    const socket = await service.handshake(BASE, { ALPNProtocols: ['http/1.1'] })
    const bytes = head('POST /stuff', `Host: ${BASE}`, CHUNKED)
    assert.match(await sendThenRead(socket, bytes), /^HTTP\/1\.1 40[45] /)
  })
})

test('a request refused over HTTP/2 while its client sends leaves its connection usable', async () => {
  await using service = await SecureService.start({ DRAIN_SECONDS: '0' })
  await service.certify(BASE)
  const socket = await service.handshake(BASE, { ALPNProtocols: ['h2'] })
  const session = connectHttp2(`https://${BASE}`, { createConnection: () => socket })
  const statuses = []
  for (let round = 0; round < 2; round++) {
    const stream = session.request({ ':method': 'POST', ':path': '/stuff' })
    stream.on('error', () => undefined)
    for (let count = 0; count < BODY_MIB; count++) stream.write(PIECE)
    const [{ ':status': status }] = await once(stream, 'response')
    await text(stream)
    statuses.push(status)
    stream.close()
  }
  session.destroy()
  assert.deepEqual(statuses, [statuses[0], statuses[0]])
  assert.match(String(statuses[0]), /^40[45]$/)
})

test("Node's client of HTTP/2 gets the response to a body that it holds in memory", async () => {
  await using service = await SecureService.start({ DRAIN_SECONDS: '0' })
  await service.certify(BASE)
  const socket = await service.handshake(BASE, { ALPNProtocols: ['h2'] })
  const session = connectHttp2(`https://${BASE}`, { createConnection: () => socket })
  for (let round = 0; round < 2; round++) {
    const headers = { 'user-agent': 'node', 'content-type': 'a/b' }
    const stream = session.request({ ':method': 'POST', ':path': '/api/v1/publish', ...headers })
    stream.end(Buffer.alloc(BODY_MIB * MIB))
    const [{ ':status': status }] = await once(stream, 'response')
    const { code } = JSON.parse(await text(stream))
    assert.deepEqual([status, code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
  }
  session.destroy()
})

test('a refused request that waits for 100 Continue gets its response without it, and sends no body', async () => {
  const socket = connect(api.port, '127.0.0.1')
  socket.write(
    head('POST /api/v1/publish', HOST, ZIP, WRONG_KEY, 'Expect: 100-continue', 'Content-Length: 100'),
  )
  const response = await text(socket)
  assert.match(response, /^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/is)
})

test('a request that is not refused gets 100 Continue', async () => {
  const socket = connect(api.port, '127.0.0.1')
  const page = '<!doctype html>'
  const lines = [HOST, 'Content-Type: text/html', 'Expect: 100-continue', `Content-Length: ${page.length}`]
  socket.write(head('POST /api/v1/publish', ...lines))
  const [interim] = await once(socket, 'data')
  assert.equal(String(interim), 'HTTP/1.1 100 Continue\r\n\r\n')
  socket.write(page)
  const [response] = await once(socket, 'data')
  socket.destroy()
  assert.match(String(response), /^HTTP\/1\.1 201 /)
})

test('a connection continues after a refused request with a short body, however slowly that arrives', async () => {
  const socket = connect(api.port, '127.0.0.1')
  const next = async () => String((await once(socket, 'data'))[0])
  socket.write(head('POST /stuff', HOST, 'Content-Length: 10'))
  assert.match(await next(), /^HTTP\/1\.1 404 (?!.*Connection: close)/is)
  for (const byte of '0123456789') {
    socket.write(byte)
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.write(head('GET /health', HOST))
  assert.match(await next(), /^HTTP\/1\.1 200 /)
  socket.destroy()
})

/** Reads nothing before all bytes are sent, like `sendall` and `getresponse` of Python's http.client. */
async function sendThenRead(socket: Socket, bytes: string): Promise<string> {
  socket.pause()
  socket.write(bytes)
  const piece = bytes.includes(CHUNKED) ? CHUNK : PIECE
  for (let count = 0; count < BODY_MIB; count++) if (!socket.write(piece)) await once(socket, 'drain')
  return await text(socket)
}
