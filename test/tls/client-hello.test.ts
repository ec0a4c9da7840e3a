import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { MAX_HELLO_BYTES, readClientHello } from '../../server/net/tls/client-hello.ts'
import { anySeed, Random } from '../support/random.ts'
import { requires } from '../tools/part.ts'
import { hello, helloMessage, records } from './build-client-hello.ts'

const NAME = 'www.example.test'

/** The first bytes that a client sends to a server. */
async function captureClientHello(connectTo: (port: number) => { kill(): void }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectTo((server.address() as AddressInfo).port)
  const [socket] = await once(server, 'connection')
  const chunks: Buffer[] = []
  for await (const chunk of socket) {
    chunks.push(chunk)
    if (readClientHello(Buffer.concat(chunks)) !== 'more') break
  }
  client.kill()
  server.close()
  return Buffer.concat(chunks)
}

const captureNode = (options: ConnectionOptions) =>
  captureClientHello((port) => {
    const socket = connect({ port, host: '127.0.0.1', ...options }).on('error', () => undefined)
    return { kill: () => socket.destroy() }
  })

const captureProgram = (name: string, args: (port: number) => string[]) =>
  captureClientHello((port) => spawn(name, args(port), { stdio: 'ignore' }))

interface Client {
  name: string
  capture: () => Promise<Buffer>
  expected: ReturnType<typeof readClientHello>
  options?: { skip?: string }
}

// biome-ignore format: one row per case
const clients: Client[] = [
  { name: 'Node', capture: () => captureNode({ servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] }), expected: { serverName: NAME, protocols: ['h2', 'http/1.1'] } },
  { name: 'Node with TLS 1.2 alone', capture: () => captureNode({ servername: NAME, maxVersion: 'TLSv1.2' }), expected: { serverName: NAME, protocols: [] } },
  {
    name: 'Node with TLS 1.3 alone',
    capture: () => captureNode({ servername: NAME, minVersion: 'TLSv1.3', ALPNProtocols: ['acme-tls/1'] }),
    expected: { serverName: NAME, protocols: ['acme-tls/1'] },
  },
  { name: 'Node to an address', capture: () => captureNode({}), expected: { serverName: undefined, protocols: [] } },
  {
    name: 'openssl s_client',
    options: requires('pebble'),
    capture: () =>
      captureProgram('openssl', (port) => [
        ...['s_client', '-connect', `127.0.0.1:${port}`],
        ...['-servername', 'WWW.Example.TEST', '-alpn', 'h2,http/1.1'],
      ]),
    expected: { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  },
  {
    name: 'curl',
    options: requires('curl'),
    capture: () =>
      captureProgram('curl', (port) => ['--connect-to', `::127.0.0.1:${port}`, `https://${NAME}:${port}/`]),
    expected: { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  },
]

describe('the ClientHello is parsed of', () => {
  for (const { name, capture, expected, options = {} } of clients) {
    test(name, options, async () => assert.deepEqual(readClientHello(await capture()), expected))
  }
})

test('a ClientHello is parsed in any number of records and chunks', async () => {
  const whole = await captureNode({ servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] })
  const message = whole.subarray(5)
  const expected = { serverName: NAME, protocols: ['h2', 'http/1.1'] }
  for (const size of [Math.ceil(message.length / 60), 100, 500, 2 ** 14]) {
    const bytes = records(message, size)
    for (let length = 0; length < bytes.length; length++)
      assert.equal(
        readClientHello(bytes.subarray(0, length)),
        'more',
        `${length} bytes in records of ${size}`,
      )
    assert.deepEqual(readClientHello(bytes), expected)
    assert.deepEqual(readClientHello(Buffer.concat([bytes, Buffer.from('further bytes')])), expected)
  }
})

describe('the server name of a ClientHello', () => {
  const long = Array.from({ length: 4 }, () => 'a'.repeat(63)).join('.')
  for (const [name, read] of [
    ['WWW.EXAMPLE.test', 'www.example.test'],
    ['www.example.test.', 'www.example.test'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_slipway.example', '_slipway.example'],
    ['192.0.2.1', '192.0.2.1'],
    [long.slice(2), long.slice(2)],
  ] as const)
    test(`${name.slice(0, 40)} is accepted`, () => assert.equal(nameIn(hello({ serverName: name })), read))
  const invalid = ['', '.', '..', 'a..b', '.example.test', 'example.test..', '*.example.test', 'a b.example']
  const malicious = [
    'a\0.example',
    '../../etc/passwd',
    'a/b',
    "'; drop table domains; --",
    'x'.repeat(10_000),
  ]
  const others = ['bücher.example', '::1', '[::1]', 'example.test:443', `${long}.a`]
  for (const name of [...invalid, ...malicious, ...others])
    test(`${JSON.stringify(name.slice(0, 40))} is ignored`, () =>
      assert.equal(nameIn(hello({ serverName: name })), undefined))

  function nameIn(bytes: Buffer): string | undefined {
    const read = readClientHello(bytes)
    assert.ok(typeof read === 'object', `it is ${read}`)
    return read.serverName
  }
})

describe('a first message that is not a ClientHello is refused immediately:', () => {
  const message = helloMessage({ serverName: NAME })
  for (const [what, fault, bytes] of [
    ['HTTP', 'not TLS', Buffer.from('GET / HTTP/1.1\r\n')],
    ['one byte of HTTP', 'not TLS', Buffer.from('G')],
    ['SSH', 'not TLS', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n')],
    ['a hello of SSL 2', 'not TLS', Buffer.from('802e0100020015000000100100800200800300', 'hex')],
    ['an alert', 'unexpected_message', Buffer.of(21, 3, 3, 0, 2, 2, 40)],
    ['a record of an unknown version', 'not TLS', Buffer.of(22, 4, 1, 0, 9)],
    ['a ChangeCipherSpec', 'unexpected_message', Buffer.of(20, 3, 3, 0, 1, 1)],
    ['application data', 'unexpected_message', Buffer.of(23, 3, 3, 0, 1, 1)],
    ['an empty record', 'unexpected_message', Buffer.concat([Buffer.of(22, 3, 1, 0, 0), hello()])],
    ['another message', 'unexpected_message', records(Buffer.concat([Buffer.of(2), message.subarray(1)]))],
    ['one that declares too large a length', 'illegal_parameter', Buffer.of(22, 3, 1, 0, 4, 1, 0, 0x40, 1)],
    ['one in a thousand records', 'illegal_parameter', records(message, 1)],
    [
      'a truncated one',
      'decode_error',
      records(Buffer.concat([Buffer.of(1, 0, 0, 40), message.subarray(4, 44)])),
    ],
  ] as const)
    test(what, () => assert.equal(readClientHello(bytes), fault))
})

test('a ClientHello of more than 16 KiB is refused', () => {
  const endless = records(Buffer.concat([Buffer.of(1, 0, 0x3f, 0xf0), Buffer.alloc(2 ** 14)]), 1000)
  assert.equal(readClientHello(endless.subarray(0, MAX_HELLO_BYTES - 1)), 'more')
  assert.equal(readClientHello(endless.subarray(0, MAX_HELLO_BYTES)), 'illegal_parameter')
})

test('random bytes never throw', async (t) => {
  const random = new Random(anySeed())
  t.diagnostic(`seed ${random.seed}`)
  const pick = (count: number) => random.below(count)
  const samples = [
    await captureNode({ servername: NAME, ALPNProtocols: ['h2'] }),
    hello({ serverName: NAME, protocols: ['h2', 'http/1.1'] }),
    records(helloMessage({ serverName: NAME }), 7),
  ]
  for (let round = 0; round < 10_000; round++) {
    const bytes = Buffer.from(samples[pick(samples.length)]!)
    for (let flips = 1 + pick(4); flips > 0; flips--) bytes[pick(bytes.length)] = pick(256)
    const read = readClientHello(pick(4) === 0 ? bytes.subarray(0, pick(bytes.length)) : bytes)
    if (typeof read !== 'object')
      assert.match(read, /^(more|not TLS|unexpected_message|decode_error|illegal_parameter)$/)
    else if (read.serverName !== undefined) assert.match(read.serverName, /^[\w-]+(\.[\w-]+)*$/)
  }
  for (let round = 0; round < 5000; round++) {
    const bytes = Buffer.from(Array.from({ length: pick(300) }, () => pick(256)))
    if (bytes.length > 9 && pick(2))
      Buffer.of(22, 3, 1, 0, bytes.length - 5, 1, 0, 0, bytes.length - 9).copy(bytes)
    readClientHello(bytes)
  }
})
