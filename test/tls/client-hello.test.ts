import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { MAX_HELLO_BYTES, readClientHello } from '../../server/net/tls/client-hello.ts'
import { anySeed, Random } from '../support/random.ts'
import { requires } from '../tools/part.ts'
import { hello, helloMessage, records } from './hello.ts'

const NAME = 'www.example.test'

/** What a client says first, to whoever listens. */
async function firstWords(call: (port: number) => { kill(): void }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = call((server.address() as AddressInfo).port)
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

const ofNode = (options: ConnectionOptions) =>
  firstWords((port) => {
    const socket = connect({ port, host: '127.0.0.1', ...options }).on('error', () => undefined)
    return { kill: () => socket.destroy() }
  })

const ofProgram = (name: string, args: (port: number) => string[]) =>
  firstWords((port) => spawn(name, args(port), { stdio: 'ignore' }))

interface Client {
  who: string
  speak: () => Promise<Buffer>
  says: ReturnType<typeof readClientHello>
  options?: { skip?: string }
}

const clients: Client[] = [
  {
    who: 'Node',
    speak: () => ofNode({ servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] }),
    says: { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  },
  {
    who: 'Node with TLS 1.2 alone',
    speak: () => ofNode({ servername: NAME, maxVersion: 'TLSv1.2' }),
    says: { serverName: NAME, protocols: [] },
  },
  {
    who: 'Node with TLS 1.3 alone',
    speak: () => ofNode({ servername: NAME, minVersion: 'TLSv1.3', ALPNProtocols: ['acme-tls/1'] }),
    says: { serverName: NAME, protocols: ['acme-tls/1'] },
  },
  { who: 'Node to an address', speak: () => ofNode({}), says: { serverName: undefined, protocols: [] } },
  {
    who: 'openssl s_client',
    options: requires('pebble'),
    speak: () =>
      ofProgram('openssl', (port) => [
        ...['s_client', '-connect', `127.0.0.1:${port}`],
        ...['-servername', 'WWW.Example.TEST', '-alpn', 'h2,http/1.1'],
      ]),
    says: { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  },
  {
    who: 'curl',
    options: requires('curl'),
    speak: () =>
      ofProgram('curl', (port) => ['--connect-to', `::127.0.0.1:${port}`, `https://${NAME}:${port}/`]),
    says: { serverName: NAME, protocols: ['h2', 'http/1.1'] },
  },
]

describe('the first words of a client are understood:', () => {
  for (const { who, speak, says, options = {} } of clients) {
    test(who, options, async () => assert.deepEqual(readClientHello(await speak()), says))
  }
})

test('a hello is the same in however many records and pieces it comes', async () => {
  const whole = await ofNode({ servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] })
  const message = whole.subarray(5)
  const says = { serverName: NAME, protocols: ['h2', 'http/1.1'] }
  for (const size of [Math.ceil(message.length / 60), 100, 500, 2 ** 14]) {
    const bytes = records(message, size)
    for (let length = 0; length < bytes.length; length++)
      assert.equal(
        readClientHello(bytes.subarray(0, length)),
        'more',
        `${length} bytes in records of ${size}`,
      )
    assert.deepEqual(readClientHello(bytes), says)
    assert.deepEqual(readClientHello(Buffer.concat([bytes, Buffer.from('more that comes')])), says)
  }
})

describe('the name in a hello is that of a host', () => {
  const long = Array.from({ length: 4 }, () => 'a'.repeat(63)).join('.')
  for (const [name, read] of [
    ['WWW.EXAMPLE.test', 'www.example.test'],
    ['www.example.test.', 'www.example.test'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_slipway.example', '_slipway.example'],
    ['192.0.2.1', '192.0.2.1'],
    [long.slice(2), long.slice(2)],
  ] as const)
    test(`${name.slice(0, 40)} is one`, () => assert.equal(nameIn(hello({ serverName: name })), read))
  for (const name of [
    '',
    '.',
    '..',
    'a..b',
    '.example.test',
    'example.test..',
    '*.example.test',
    'a b.example',
    'a\0.example',
    'bücher.example',
    '::1',
    '[::1]',
    'example.test:443',
    '../../etc/passwd',
    'a/b',
    "'; drop table domains; --",
    `${long}.a`,
    'x'.repeat(10_000),
  ])
    test(`${JSON.stringify(name.slice(0, 40))} is none`, () =>
      assert.equal(nameIn(hello({ serverName: name })), undefined))

  function nameIn(bytes: Buffer): string | undefined {
    const read = readClientHello(bytes)
    assert.ok(typeof read === 'object', `it is ${read}`)
    return read.serverName
  }
})

describe('what is no hello is known for it at once:', () => {
  const message = helloMessage({ serverName: NAME })
  for (const [what, fault, bytes] of [
    ['HTTP', 'not TLS', Buffer.from('GET / HTTP/1.1\r\n')],
    ['one byte of it', 'not TLS', Buffer.from('G')],
    ['SSH', 'not TLS', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n')],
    ['a hello of SSL 2', 'not TLS', Buffer.from('802e0100020015000000100100800200800300', 'hex')],
    ['an alert', 'unexpected_message', Buffer.of(21, 3, 3, 0, 2, 2, 40)],
    ['a record of another kind of version', 'not TLS', Buffer.of(22, 4, 1, 0, 9)],
    ['a ChangeCipherSpec', 'unexpected_message', Buffer.of(20, 3, 3, 0, 1, 1)],
    ['application data', 'unexpected_message', Buffer.of(23, 3, 3, 0, 1, 1)],
    ['an empty record', 'unexpected_message', Buffer.concat([Buffer.of(22, 3, 1, 0, 0), hello()])],
    ['another message', 'unexpected_message', records(Buffer.concat([Buffer.of(2), message.subarray(1)]))],
    ['one that says it is longer than any', 'illegal_parameter', Buffer.of(22, 3, 1, 0, 4, 1, 0, 0x40, 1)],
    ['one in a thousand records', 'illegal_parameter', records(message, 1)],
    [
      'one that is cut within',
      'decode_error',
      records(Buffer.concat([Buffer.of(1, 0, 0, 40), message.subarray(4, 44)])),
    ],
  ] as const)
    test(what, () => assert.equal(readClientHello(bytes), fault))
})

test('no hello is waited for beyond 16 KiB', () => {
  const endless = records(Buffer.concat([Buffer.of(1, 0, 0x3f, 0xf0), Buffer.alloc(2 ** 14)]), 1000)
  assert.equal(readClientHello(endless.subarray(0, MAX_HELLO_BYTES - 1)), 'more')
  assert.equal(readClientHello(endless.subarray(0, MAX_HELLO_BYTES)), 'illegal_parameter')
})

test('whatever bytes come, they are read without an error', async (t) => {
  const random = new Random(anySeed())
  t.diagnostic(`seed ${random.seed}`)
  const pick = (count: number) => random.below(count)
  const models = [
    await ofNode({ servername: NAME, ALPNProtocols: ['h2'] }),
    hello({ serverName: NAME, protocols: ['h2', 'http/1.1'] }),
    records(helloMessage({ serverName: NAME }), 7),
  ]
  for (let round = 0; round < 30_000; round++) {
    const bytes = Buffer.from(models[pick(models.length)]!)
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
