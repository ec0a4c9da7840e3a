import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { MAX_HELLO_BYTES, readClientHello } from '../../packages/http-server/tls/client-hello.ts'
import { anySeed, Random } from '../support/random.ts'
import { hello, helloMessage, records } from './build-client-hello.ts'

const NAME = 'www.example.test'

/** The first bytes that Node's client sends to a server. */
async function captureClientHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', ...options }).on('error', () => undefined)
  const [socket] = await once(server, 'connection')
  const chunks: Buffer[] = []
  for await (const chunk of socket) {
    chunks.push(chunk)
    if (readClientHello(Buffer.concat(chunks)) !== 'more') break
  }
  client.destroy()
  server.close()
  return Buffer.concat(chunks)
}

const clients: [name: string, options: ConnectionOptions, expected: ReturnType<typeof readClientHello>][] = [
  [
    'Node',
    { servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] },
    { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  ],
  [
    'Node with TLS 1.2 alone',
    { servername: NAME, maxVersion: 'TLSv1.2' },
    { serverName: NAME, protocols: [] },
  ],
  ['Node to an address', {}, { serverName: undefined, protocols: [] }],
]

for (const [name, options, expected] of clients)
  test(`the ClientHello is parsed of ${name}`, async () =>
    assert.deepEqual(readClientHello(await captureClientHello(options)), expected))

test('a ClientHello is parsed in any number of records and chunks', async () => {
  const whole = await captureClientHello({ servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] })
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
  const invalid = ['', '.', 'a..b', '.example.test', '*.example.test', 'a b.example', 'a\0.example', 'a/b']
  test('is ignored when it is not a host name', () => {
    for (const name of [...invalid, 'x'.repeat(10_000), 'bücher.example', '::1', 'a.test:443', `${long}.a`])
      assert.equal(nameIn(hello({ serverName: name })), undefined, name)
  })

  function nameIn(bytes: Buffer): string | undefined {
    const read = readClientHello(bytes)
    assert.ok(typeof read === 'object', `it is ${read}`)
    return read.serverName
  }
})

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
  test(`a first message that is not a ClientHello is refused immediately: ${what}`, () =>
    assert.equal(readClientHello(bytes), fault))

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
    await captureClientHello({ servername: NAME, ALPNProtocols: ['h2'] }),
    hello({ serverName: NAME, protocols: ['h2', 'http/1.1'] }),
    records(helloMessage({ serverName: NAME }), 7),
  ]
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(samples[pick(samples.length)]!)
    for (let flips = 1 + pick(4); flips > 0; flips--) bytes[pick(bytes.length)] = pick(256)
    const read = readClientHello(pick(4) === 0 ? bytes.subarray(0, pick(bytes.length)) : bytes)
    if (typeof read !== 'object')
      assert.match(read, /^(more|not TLS|unexpected_message|decode_error|illegal_parameter)$/)
    else if (read.serverName !== undefined) assert.match(read.serverName, /^[\w-]+(\.[\w-]+)*$/)
  }
})
