import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { BlockList, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ProxyProtocol, parseProxyHeader } from '../../packages/http-server/proxy-protocol.ts'
import { readFromStream, readIntoSharedBuffer } from '../../packages/http-server/shared-buffer-read.ts'
import { listen } from '../support/listen.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { issuer, SecureService, untilClosed } from '../tls/secure-service.ts'
import { version1, version2 } from './proxy-header.ts'

const CLIENT = '203.0.113.7'
const OTHER_CLIENT = '2001:db8::7'

const HEALTH = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
const PUBLISH = [
  'POST /api/v1/publish HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  'Content-Length: 2',
  'Connection: close',
  '',
  '{}',
].join('\r\n')

/** Sends these pieces one by one on a connection; returns what is received until it is closed. */
async function exchange(port: number, pieces: readonly (Buffer | string)[], localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  const received = untilClosed(socket)
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve))
  return (await received).toString()
}

function statusOf(received: string): string {
  return received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
}

function refusals({ log }: RunningService): string[] {
  return log
    .map(({ message }) => String(message))
    .filter((message) => message.startsWith('connections refused'))
}

const INVALID_HEADERS: [what: string, header: Buffer | string, error: string][] = [
  ['without a header', HEALTH, 'missing'],
  ['with the header of a similar protocol', 'PROXX TCP4 1.1.1.1 2.2.2.2 1 2\r\n', 'missing'],
  ['with an address of the other family', 'PROXY TCP4 ::1 ::1 1 2\r\n', 'invalid'],
  ['with a scoped address', 'PROXY TCP6 fe80::1%lo ::1 1 2\r\n', 'invalid'],
  ['with a port beyond 65535', 'PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n', 'invalid'],
  ['with a port of two forms', 'PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n', 'invalid'],
  ['without ports', 'PROXY TCP4 1.1.1.1 2.2.2.2\r\n', 'invalid'],
  ['with two spaces', 'PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n', 'invalid'],
  ['with an unknown family', 'PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n', 'invalid'],
  ['with a line of more than 107 bytes', `PROXY UNKNOWN ${'x'.repeat(107)}\r\n`, 'oversized'],
  ['with version 3', version2(CLIENT, { command: 0x31 }), 'invalid'],
  ['with an unknown command', version2(CLIENT, { command: 0x22 }), 'invalid'],
  ['with a client of UDP', version2(CLIENT, { family: 0x12 }), 'invalid'],
  ['with an unassigned family', version2(CLIENT, { family: 0x41 }), 'invalid'],
  ['with addresses cut short', version2(OTHER_CLIENT, { family: 0x21, addressBytes: 35 }), 'invalid'],
  ['with extensions of 64 KiB', version2(CLIENT, { extensionBytes: 65_000 }), 'oversized'],
]

for (const [what, header, error] of INVALID_HEADERS)
  test(`a PROXY protocol header is refused ${what}`, () => {
    assert.equal(parseProxyHeader(Buffer.from(header)), error)
  })

const VALID_HEADERS: [what: string, header: Buffer, client: string | undefined][] = [
  ['IPv4 in version 1', version1(CLIENT), CLIENT],
  ['IPv6 in version 1', version1(OTHER_CLIENT), OTHER_CLIENT],
  ['IPv6 in capitals', Buffer.from('PROXY TCP6 2001:DB8:0:0:0:0:0:7 ::1 4711 443\r\n'), OTHER_CLIENT],
  ['UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
  ['UNKNOWN with addresses', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), undefined],
  ['IPv4 in version 2', version2(CLIENT), CLIENT],
  ['IPv6 in version 2', version2(OTHER_CLIENT), OTHER_CLIENT],
  ['version 2 with extensions', version2(CLIENT, { extensionBytes: 900 }), CLIENT],
  ['LOCAL', version2(CLIENT, { command: 0x20 }), undefined],
  ['an unspecified family', version2(CLIENT, { family: 0x00 }), undefined],
  ['a UNIX socket', version2(CLIENT, { family: 0x31 }), undefined],
]

for (const [what, header, address] of VALID_HEADERS)
  test(`the client of a PROXY protocol header is read: ${what}`, () => {
    const client = address === undefined ? undefined : { address, port: 4711 }
    for (let length = 0; length < header.length; length++)
      assert.equal(parseProxyHeader(header.subarray(0, length)), 'more', `${length} bytes`)
    assert.deepEqual(parseProxyHeader(Buffer.concat([header, Buffer.from(HEALTH)])), {
      client,
      length: header.length,
    })
  })

describe('with SLIPWAY_PROXY_PROTOCOL', () => {
  for (const [name, header] of Object.entries({ 'version 1': version1, 'version 2': version2 }))
    test(`rate limits and limits of connections apply to the client of ${name}`, async () => {
      await using running = await startTestService({
        PROXY_PROTOCOL: 'private',
        RATE_ANONYMOUS: '1',
        CONNECTIONS_PER_ADDRESS: '1',
      })
      const { port } = running
      const status = async (client: string) => statusOf(await exchange(port, [header(client), PUBLISH]))
      assert.deepEqual([await status(CLIENT), await status(CLIENT)], ['400', '429'])
      assert.equal(await status(OTHER_CLIENT), '400')
      const held = connect(port, '127.0.0.1')
      held.write(
        Buffer.concat([header(CLIENT), Buffer.from('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')]),
      )
      await once(held, 'data')
      assert.equal(await exchange(port, [header(CLIENT), HEALTH]), '')
      assert.equal(statusOf(await exchange(port, [header(OTHER_CLIENT), HEALTH])), '200')
      held.destroy()
      assert.deepEqual(refusals(running), ['connections refused: limit per address reached'])
    })

  for (const fastPath of ['on', 'off'])
    test(`a header in single bytes is read, and requests behind it are answered: fast path ${fastPath}`, async () => {
      await using running = await startTestService({ PROXY_PROTOCOL: '127.0.0.1', FAST_PATH: fastPath })
      const site = 'GET / HTTP/1.1\r\nHost: none.localhost\r\n\r\n'
      for (const header of [version1(CLIENT), version2(OTHER_CLIENT)]) {
        const singleBytes = [...header].map((byte) => Buffer.of(byte))
        const together = Buffer.concat([header, Buffer.from(site + HEALTH)])
        for (const pieces of [[...singleBytes, site, HEALTH], [together], [header, site + HEALTH]]) {
          const received = await exchange(running.port, pieces)
          assert.deepEqual(received.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 404', 'HTTP/1.1 200'])
        }
      }
    })

  test('a connection without a valid header is closed without a response and logged, and no rate is charged', async () => {
    await using running = await startTestService({ PROXY_PROTOCOL: '127.0.0.1', RATE_ANONYMOUS: '1' })
    const { port } = running
    for (const [what, header] of INVALID_HEADERS)
      assert.equal(await exchange(port, [header, PUBLISH]), '', what)
    assert.equal(await exchange(port, [version1(CLIENT), PUBLISH], '127.0.0.2'), '', 'a forged header')
    assert.deepEqual(refusals(running).sort(), [
      'connections refused: SLIPWAY_PROXY_PROTOCOL does not include the peer',
      'connections refused: invalid PROXY protocol header',
      'connections refused: no PROXY protocol header',
      'connections refused: oversized PROXY protocol header',
    ])
    assert.equal(
      statusOf(await exchange(port, ['PROXY UNKNOWN\r\n', PUBLISH])),
      '400',
      'charged for the first time',
    )
  })

  test('connections of the proxy itself are answered: UNKNOWN and LOCAL', async () => {
    await using running = await startTestService({ PROXY_PROTOCOL: 'private' })
    for (const header of ['PROXY UNKNOWN\r\n', version2(CLIENT, { command: 0x20 })])
      assert.equal(statusOf(await exchange(running.port, [header, HEALTH])), '200')
  })

  test('HTTPS and HTTP/2 take the client of the header, which precedes the handshake', async () => {
    await using service = await SecureService.start({ PROXY_PROTOCOL: 'private', RATE_ANONYMOUS: '1' })
    await service.certify('slipway.example')
    const handshake = async (client: string, protocol: string): Promise<TLSSocket> => {
      const raw = connect(service.port, '127.0.0.1')
      raw.write(version2(client))
      const options = {
        socket: raw,
        servername: 'slipway.example',
        ca: issuer.root,
        ALPNProtocols: [protocol],
      }
      const socket = connectTls(options)
      await once(socket, 'secureConnect')
      return socket
    }
    const publish = async (client: string) => {
      const socket = await handshake(client, 'http/1.1')
      socket.write(PUBLISH.replace('localhost', 'slipway.example'))
      return statusOf(await text(socket))
    }
    const publishByHttp2 = async (client: string) => {
      const socket = await handshake(client, 'h2')
      const session = connectHttp2('https://slipway.example', { createConnection: () => socket })
      const fields = { ':method': 'POST', ':path': '/api/v1/publish', 'content-type': 'application/json' }
      const stream = session.request(fields)
      stream.end('{}')
      const [headers] = await once(stream, 'response')
      stream.resume()
      session.destroy()
      return String(headers[':status'])
    }
    assert.deepEqual([await publish(CLIENT), await publish(CLIENT)], ['400', '429'])
    assert.deepEqual([await publishByHttp2(CLIENT), await publishByHttp2(OTHER_CLIENT)], ['429', '400'])
    assert.equal(await publish(OTHER_CLIENT), '429')
  })
})

for (const read of [readIntoSharedBuffer, readFromStream])
  test(`an incomplete header is refused at the timeout, and at the end of the service: ${read.name}`, async (t) => {
    const from = new BlockList()
    from.addAddress('127.0.0.1')
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const proxyProtocol = new ProxyProtocol({
      from,
      setting: 'FROM',
      log: silentLog,
      headerTimeoutMs: 5000,
      read,
    })
    const server = createServer((socket) => proxyProtocol.accept(socket, () => assert.fail('accepted')))
    const port = await listen(server)
    t.after(() => server.close())
    const begin = async (): Promise<Socket> => {
      const accepted = once(server, 'connection')
      const socket = connect(port, '127.0.0.1').on('error', () => undefined)
      t.after(() => socket.destroy())
      socket.write('PROXY TCP4 ')
      return (await accepted)[0]
    }
    const slow = await begin()
    t.mock.timers.tick(4999)
    assert.equal(slow.destroyed, false)
    t.mock.timers.tick(1)
    assert.equal(slow.destroyed, true)
    const last = await begin()
    proxyProtocol.close()
    assert.equal(last.destroyed, true)
    assert.equal((await begin()).destroyed, true)
  })
