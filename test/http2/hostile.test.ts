import assert from 'node:assert/strict'
import { after, before, describe, mock, test } from 'node:test'
import { CODE, settingsFrame, TYPE } from '../../server/net/http2/frame.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { block, four, frame, get, getFrame, HELLO, type RawClient } from './raw-client.ts'

let fixture: Http2Fixture
let host: string
before(async () => {
  fixture = await Http2Fixture.start()
  const slug = await fixture.edge.publish({ 'index.html': 'home', 'big.bin': Buffer.alloc(300_000, 1) })
  host = fixture.edge.host(slug)
  await fixture.edge.get(slug)
})
after(() => fixture[Symbol.asyncDispose]())

const HEADERS = TYPE.headers
const ALL = 5
const OPEN = 4

/** The head of a POST whose body is still to come. */
const post = (stream: number, more: Record<string, string> = {}, flags = OPEN) =>
  frame(HEADERS, flags, stream, block({ ...get(host), ':method': 'POST', ...more }))

async function greeted(...frames: Buffer[]): Promise<RawClient> {
  const client = await fixture.raw()
  client.send(HELLO, ...frames)
  return client
}

describe('a connection ends, with the reason, when its client sends', () => {
  const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes))
  const cases: [string, () => Buffer[], number][] = [
    ['a ping of seven bytes', () => [frame(TYPE.ping, 0, 0, '1234567')], CODE.frameSize],
    ['a ping on a stream', () => [frame(TYPE.ping, 0, 1, '12345678')], CODE.protocol],
    ['settings on a stream', () => [frame(TYPE.settings, 0, 1)], CODE.protocol],
    ['half a setting', () => [frame(TYPE.settings, 0, 0, '123')], CODE.frameSize],
    ['an acknowledgement that says something', () => [frame(TYPE.settings, 1, 0, '123456')], CODE.frameSize],
    ['a push setting of two', () => [settingsFrame([[2, 2]])], CODE.protocol],
    ['a first window over the most', () => [settingsFrame([[4, 2 ** 31]])], CODE.flowControl],
    ['a frame size below the least', () => [settingsFrame([[5, 16_383]])], CODE.protocol],
    ['a frame size over the most', () => [settingsFrame([[5, 2 ** 24]])], CODE.protocol],
    ['a frame that is too large', () => [frame(TYPE.ping, 0, 0, Buffer.alloc(16_385))], CODE.frameSize],
    ['a promise of a push', () => [frame(TYPE.pushPromise, 4, 1, four(2))], CODE.protocol],
    ['headers on stream 0', () => [frame(HEADERS, ALL, 0, block(get(host)))], CODE.protocol],
    ['headers on an even stream', () => [getFrame(2, host)], CODE.protocol],
    ['headers on an older stream', () => [getFrame(5, host), getFrame(3, host)], CODE.streamClosed],
    [
      'headers again on a stream that is over',
      () => [getFrame(1, host), getFrame(1, host)],
      CODE.streamClosed,
    ],
    ['a header block that cannot be read', () => [frame(HEADERS, ALL, 1, '\x80')], CODE.compression],
    ['headers that are all padding', () => [frame(HEADERS, ALL | 8, 1, '\x09abc')], CODE.protocol],
    ['a priority in headers that is cut off', () => [frame(HEADERS, ALL | 0x20, 1, 'abc')], CODE.frameSize],
    ['a continuation of nothing', () => [frame(TYPE.continuation, 4, 1, '\x82')], CODE.protocol],
    [
      'another frame within a header block',
      () => [frame(HEADERS, 1, 1, '\x82'), frame(TYPE.ping, 0, 0, '12345678')],
      CODE.protocol,
    ],
    [
      'a continuation of another stream',
      () => [frame(HEADERS, 1, 1, '\x82'), frame(TYPE.continuation, 4, 3, '\x82')],
      CODE.protocol,
    ],
    [
      'continuations without end',
      () => [frame(HEADERS, 1, 1, '\x82'), many(50, frame(TYPE.continuation, 0, 1))],
      CODE.enhanceYourCalm,
    ],
    [
      'a header block without end',
      () => [frame(HEADERS, 1, 1), many(5, frame(TYPE.continuation, 0, 1, Buffer.alloc(16_384, 0x82)))],
      CODE.enhanceYourCalm,
    ],
    ['data on stream 0', () => [frame(TYPE.data, 0, 0, 'a')], CODE.protocol],
    ['data on a stream that was never begun', () => [frame(TYPE.data, 0, 1, 'a')], CODE.protocol],
    ['data that is all padding', () => [post(1), frame(TYPE.data, 8, 1, '\x05abc')], CODE.protocol],
    ['a reset of a stream that was never begun', () => [frame(TYPE.reset, 0, 1, four(8))], CODE.protocol],
    ['a reset of three bytes', () => [post(1), frame(TYPE.reset, 0, 1, 'abc')], CODE.frameSize],
    [
      'a window of a stream that was never begun',
      () => [frame(TYPE.windowUpdate, 0, 1, four(1))],
      CODE.protocol,
    ],
    ['an increment of nothing', () => [frame(TYPE.windowUpdate, 0, 0, four(0))], CODE.protocol],
    ['an increment of three bytes', () => [frame(TYPE.windowUpdate, 0, 0, 'abc')], CODE.frameSize],
    ['a window over the most', () => [frame(TYPE.windowUpdate, 0, 0, four(2 ** 31 - 1))], CODE.flowControl],
    [
      'a first window that makes another one too large',
      () => [
        settingsFrame([[4, 0]]),
        getFrame(1, host),
        frame(TYPE.windowUpdate, 0, 1, four(2 ** 31 - 1)),
        settingsFrame([[4, 1]]),
      ],
      CODE.flowControl,
    ],
    ['a priority of stream 0', () => [frame(TYPE.priority, 0, 0, '12345')], CODE.protocol],
    ['a priority of four bytes', () => [frame(TYPE.priority, 0, 1, '1234')], CODE.frameSize],
    [
      'a stream that depends on itself',
      () => [frame(TYPE.priority, 0, 1, `${four(1).toString('latin1')}a`)],
      1,
    ],
    ['a farewell on a stream', () => [frame(TYPE.goAway, 0, 1, '12345678')], CODE.protocol],
    ['a farewell of seven bytes', () => [frame(TYPE.goAway, 0, 0, '1234567')], CODE.frameSize],
  ]
  for (const [what, frames, code] of cases) {
    test(what, async () => {
      const client = await greeted(...frames())
      assert.equal(await client.goAway(), code)
      await client.closed
    })
  }

  test('something else than the words that HTTP/2 begins with', async () => {
    const client = await fixture.raw()
    client.send(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`))
    assert.equal(await client.goAway(), CODE.protocol)
    await client.closed
  })

  test('another frame before its settings', async () => {
    const client = await fixture.raw()
    client.send(HELLO.subarray(0, 24), frame(TYPE.ping, 0, 0, '12345678'))
    assert.equal(await client.goAway(), CODE.protocol)
    await client.closed
  })
})

describe('a stream ends, with the reason, and the connection goes on, when its client sends', () => {
  const fields = (...pairs: [string, string][]) => frame(HEADERS, ALL, 1, block(pairs))
  const start: [string, string][] = [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'x.sites.test'],
    [':path', '/'],
  ]
  const without = (name: string) => start.filter(([one]) => one !== name)
  const cases: [string, () => Buffer[], number][] = [
    ['a name in capitals', () => [fields(...start, ['Accept', 'a'])], CODE.protocol],
    ['a name with a space', () => [fields(...start, ['a b', 'a'])], CODE.protocol],
    ['an empty name', () => [fields(...start, ['', 'a'])], CODE.protocol],
    ['a value of two lines', () => [fields(...start, ['a', 'b\r\nc: d'])], CODE.protocol],
    ['a value with a null byte', () => [fields(...start, ['a', 'b\0'])], CODE.protocol],
    ['a value that begins with a space', () => [fields(...start, ['a', ' b'])], CODE.protocol],
    ['Connection', () => [fields(...start, ['connection', 'close'])], CODE.protocol],
    ['Keep-Alive', () => [fields(...start, ['keep-alive', '1'])], CODE.protocol],
    ['Proxy-Connection', () => [fields(...start, ['proxy-connection', 'close'])], CODE.protocol],
    ['Transfer-Encoding', () => [fields(...start, ['transfer-encoding', 'chunked'])], CODE.protocol],
    ['Upgrade', () => [fields(...start, ['upgrade', 'h2c'])], CODE.protocol],
    ['TE that is not trailers', () => [fields(...start, ['te', 'gzip'])], CODE.protocol],
    ['no method', () => [fields(...without(':method'))], CODE.protocol],
    ['no scheme', () => [fields(...without(':scheme'))], CODE.protocol],
    ['an empty scheme', () => [fields(...without(':scheme'), [':scheme', ''])], CODE.protocol],
    ['no path', () => [fields(...without(':path'))], CODE.protocol],
    ['an empty path', () => [fields(...without(':path'), [':path', ''])], CODE.protocol],
    [
      'a path that is an address',
      () => [fields(...without(':path'), [':path', 'https://a/'])],
      CODE.protocol,
    ],
    ['two methods', () => [fields(...start, [':method', 'GET'])], CODE.protocol],
    ['a pseudo-header of answers', () => [fields(...start, [':status', '200'])], CODE.protocol],
    [
      'a pseudo-header of another protocol',
      () => [fields(...start, [':protocol', 'websocket'])],
      CODE.protocol,
    ],
    [
      'a pseudo-header behind a line',
      () => [fields(...without(':path'), ['a', 'b'], [':path', '/'])],
      CODE.protocol,
    ],
    ['CONNECT with a path', () => [fields([':method', 'CONNECT'], ...start.slice(1))], CODE.protocol],
    ['a method that is no word', () => [fields([':method', 'G T'], ...start.slice(1))], CODE.protocol],
    [
      'two lengths',
      () => [fields(...start, ['content-length', '0'], ['content-length', '0'])],
      CODE.protocol,
    ],
    ['a length that is none', () => [fields(...start, ['content-length', '-1'])], CODE.protocol],
    ['a length without a body', () => [fields(...start, ['content-length', '1'])], CODE.protocol],
    [
      'more than the length',
      () => [post(1, { 'content-length': '2' }), frame(0, 0, 1, 'abc')],
      CODE.protocol,
    ],
    ['less than the length', () => [post(1, { 'content-length': '2' }), frame(0, 1, 1, 'a')], CODE.protocol],
    [
      'trailers that do not end it',
      () => [post(1), frame(HEADERS, OPEN, 1, block({ a: 'b' }))],
      CODE.protocol,
    ],
    [
      'pseudo-headers as trailers',
      () => [post(1), frame(HEADERS, ALL, 1, block({ ':path': '/' }))],
      CODE.protocol,
    ],
    [
      'a line of HTTP/1.1 as trailers',
      () => [post(1), frame(HEADERS, ALL, 1, block({ 'transfer-encoding': 'chunked' }))],
      CODE.protocol,
    ],
    [
      'a dependency on itself',
      () => [frame(HEADERS, ALL | 0x20, 1, Buffer.concat([four(1), Buffer.from('a'), block(start)]))],
      CODE.protocol,
    ],
    ['data after its end', () => [getFrame(1, host), frame(TYPE.data, 0, 1, 'a')], CODE.streamClosed],
    [
      'an increment of nothing',
      () => [settingsFrame([[4, 0]]), getFrame(1, host), frame(TYPE.windowUpdate, 0, 1, four(0))],
      CODE.protocol,
    ],
    [
      'increments over the most',
      () => [
        settingsFrame([[4, 1]]),
        getFrame(1, host, '/big.bin'),
        frame(TYPE.windowUpdate, 0, 1, four(2 ** 31 - 1)),
        frame(TYPE.windowUpdate, 0, 1, four(2 ** 31 - 1)),
      ],
      CODE.flowControl,
    ],
  ]
  for (const [what, frames, code] of cases) {
    test(what, async () => {
      const client = await greeted(...frames())
      assert.equal(await client.reset(1), code)
      client.send(getFrame(101, host))
      assert.equal(await client.status(101), 200)
    })
  }

  test('more data than it may', async () => {
    // An answer that never comes: the body is not taken.
    const { server } = fixture
    const [visit] = server.listeners('request') as [() => void]
    server.removeAllListeners('request')
    server.on('request', () => undefined)
    const piece = Buffer.alloc(16_384)
    const client = await greeted(post(1), ...Array.from({ length: 60 }, () => frame(TYPE.data, 0, 1, piece)))
    assert.equal(await client.reset(1), CODE.flowControl)
    server.removeAllListeners('request')
    server.on('request', visit)
    client.send(getFrame(3, host))
    assert.equal(await client.status(3), 200)
  })
})

describe('a request is refused that says', () => {
  const cases: [string, Record<string, string>, number][] = [
    ['two hosts', { host: 'other.sites.test' }, 400],
    ['a host with a user', { ':authority': 'me@x.sites.test' }, 400],
    ['a host with a path', { ':authority': 'x.sites.test/a' }, 400],
    ['an empty host', { ':authority': '' }, 400],
    ['a path with a space', { ':path': '/a b' }, 400],
    ['a method in small letters', { ':method': 'get' }, 400],
    ['a scheme of something else', { ':scheme': 'ftp' }, 400],
  ]
  for (const [what, more, status] of cases) {
    test(what, async () => {
      const client = await greeted(frame(HEADERS, ALL, 1, block({ ...get(host), ...more })))
      assert.equal(await client.status(1), status)
      await client.ended(1)
    })
  }

  test('no host at all', async () => {
    const { ':authority': _, ...rest } = get(host)
    const client = await greeted(frame(HEADERS, ALL, 1, block(rest)))
    assert.equal(await client.status(1), 400)
  })
})

test('the same host twice is one host', async () => {
  const client = await greeted(frame(HEADERS, ALL, 1, block({ ...get(host), host: `${host}:443` })))
  assert.equal(await client.status(1), 200)
})

test('a head that is too long is refused, and the connection goes on', async () => {
  const long = block({ ...get(host), a: 'x'.repeat(4000) })
  const again = Buffer.concat([long, block({ b: 'x'.repeat(4000) }), block({ c: 'x'.repeat(4000) })])
  const cookies = Buffer.concat([Buffer.from('\x40\x01d\x7f\x81\x1e', 'latin1'), Buffer.alloc(3968, 'y')])
  const bomb = Buffer.concat([block(get(host)), cookies, Buffer.alloc(2000, 0xbe)])
  assert.ok(again.length < 16_384)
  const client = await greeted(frame(HEADERS, ALL, 1, bomb), getFrame(3, host))
  await client.ended(1)
  const { payload } = await client.frame(({ type, stream }) => type === HEADERS && stream === 1)
  assert.ok(payload.includes('431'))
  assert.equal(await client.status(3), 200)
})

test('a head that is too long for one frame is refused, and the connection goes on', async () => {
  const long = block({ ...get(host), cookie: 'c'.repeat(60_000) })
  const parts = [0, 16_384, 32_768, 49_152].map((at) => long.subarray(at, at + 16_384))
  const client = await greeted(
    frame(HEADERS, 1, 1, parts[0]!),
    ...parts.slice(1).map((part, index) => frame(TYPE.continuation, index === 2 ? 4 : 0, 1, part)),
    getFrame(3, host),
  )
  await client.ended(1)
  const { payload } = await client.frame(({ type, stream }) => type === HEADERS && stream === 1)
  assert.ok(payload.includes('431'))
  assert.equal(await client.status(3), 200)
})

test('streams beyond those that may be open are refused and can be asked for again', async () => {
  const client = await greeted(settingsFrame([[4, 0]]))
  client.send(...Array.from({ length: 105 }, (_, index) => getFrame(2 * index + 1, host)))
  for (let index = 100; index < 105; index++) assert.equal(await client.reset(2 * index + 1), CODE.refused)
  client.send(settingsFrame([[4, 10]]))
  for (let index = 0; index < 100; index++) await client.ended(2 * index + 1)
  client.send(getFrame(1001, host))
  assert.equal(await client.status(1001), 200)
})

test('data that was on its way when this end had enough is no fault', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  await using other = await Http2Fixture.start()
  const client = await other.raw()
  client.send(HELLO, post(1))
  await client.ended(1)
  client.send(frame(TYPE.data, 0, 1, 'late'))
  await client.answered('it is in')
  mock.timers.tick(15_000)
  mock.timers.reset()
  assert.equal(await client.reset(1), CODE.noError)
  client.send(
    frame(TYPE.data, 0, 1, 'late'),
    frame(HEADERS, ALL, 1, block({ late: 'too' })),
    getFrame(3, host),
  )
  assert.equal(await client.status(3), 404)
  assert.deepEqual(
    client.came.filter(({ type }) => type === TYPE.goAway),
    [],
  )
})

test('a client that reads nothing is not answered without end', async () => {
  const client = await greeted(settingsFrame([[4, 2 ** 30]]), frame(TYPE.windowUpdate, 0, 0, four(2 ** 30)))
  await client.answered('greeted!')
  client.socket.pause()
  const ours = fixture.sockets.at(-1)!
  const before = fixture.lane.requests
  const asked = Buffer.concat(
    Array.from({ length: 20_000 }, (_, index) => getFrame(2 * index + 1, host, '/none')),
  )
  client.send(asked)
  await waitFor(() => ours.isPaused() || fixture.lane.requests - before > 10_000)
  assert.ok(ours.writableLength < 2 ** 21, `${ours.writableLength} bytes wait`)
  assert.ok(fixture.lane.requests - before < 10_000, `${fixture.lane.requests - before} were answered`)
  client.socket.resume()
  await waitFor(() => fixture.lane.requests - before === 20_000)
  await client.ended(39_999)
})

test('nothing of all this is a failure of the service', () => {
  assert.deepEqual([...fixture.logged, ...fixture.edge.logged.filter(({ level }) => level === 'error')], [])
})

describe('a client that goes without a word leaves nothing behind', () => {
  const cases: [string, () => Buffer[], (client: RawClient) => Promise<unknown>][] = [
    ['with its answer', () => [getFrame(1, host)], (client) => client.ended(1)],
    ['in the middle of an answer', () => [getFrame(1, host, '/big.bin')], (client) => client.status(1)],
    ['in the middle of a body', () => [post(1)], (client) => client.answered('12345678')],
  ]
  for (const [when, frames, until] of cases) {
    test(when, async () => {
      const client = await greeted(...frames())
      const socket = fixture.sockets.at(-1)!
      await until(client)
      client.socket.end()
      await client.closed
      await waitFor(() => socket.destroyed && fixture.lane.relayed === 0)
    })
  }
})
