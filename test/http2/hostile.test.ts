import assert from 'node:assert/strict'
import { after, before, describe, mock, test } from 'node:test'
import { CODE, settingsFrame, TYPE } from '../../packages/http-server/http2/frame.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import {
  CLIENT_PREFACE,
  frame,
  getFields,
  getFrame,
  headerBlock,
  type RawClient,
  uint32,
} from './raw-client.ts'

describe('a hostile client of HTTP/2', () => {
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

  /** HEADERS of a POST without END_STREAM. */
  const post = (stream: number, more: Record<string, string> = {}, flags = OPEN) =>
    frame(HEADERS, flags, stream, headerBlock({ ...getFields(host), ':method': 'POST', ...more }))

  describe('a connection ends with the right error code when its client sends', () => {
    const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes))
    // biome-ignore format: one row per case
    const cases: [string, () => Buffer[], number][] = [
    ['a ping of seven bytes', () => [frame(TYPE.ping, 0, 0, '1234567')], CODE.frameSize],
    ['a ping on a stream', () => [frame(TYPE.ping, 0, 1, '12345678')], CODE.protocol],
    ['settings on a stream', () => [frame(TYPE.settings, 0, 1)], CODE.protocol],
    ['a truncated setting', () => [frame(TYPE.settings, 0, 0, '123')], CODE.frameSize],
    ['a settings acknowledgment with a payload', () => [frame(TYPE.settings, 1, 0, '123456')], CODE.frameSize],
    ['a push setting of two', () => [settingsFrame([[2, 2]])], CODE.protocol],
    ['an initial window above the maximum', () => [settingsFrame([[4, 2 ** 31]])], CODE.flowControl],
    ['a frame size below the minimum', () => [settingsFrame([[5, 16_383]])], CODE.protocol],
    ['a frame size above the maximum', () => [settingsFrame([[5, 2 ** 24]])], CODE.protocol],
    ['a frame that is too large', () => [frame(TYPE.ping, 0, 0, Buffer.alloc(16_385))], CODE.frameSize],
    ['a push promise', () => [frame(TYPE.pushPromise, 4, 1, uint32(2))], CODE.protocol],
    ['headers on stream 0', () => [frame(HEADERS, ALL, 0, headerBlock(getFields(host)))], CODE.protocol],
    ['headers on an even stream', () => [getFrame(2, host)], CODE.protocol],
    ['headers on a lower stream', () => [getFrame(5, host), getFrame(3, host)], CODE.protocol],
    ['headers again on a closed stream', () => [getFrame(1, host), getFrame(1, host)], CODE.streamClosed],
    ['an invalid header block', () => [frame(HEADERS, ALL, 1, '\x80')], CODE.compression],
    ['headers with too much padding', () => [frame(HEADERS, ALL | 8, 1, '\x09abc')], CODE.protocol],
    ['a truncated priority in headers', () => [frame(HEADERS, ALL | 0x20, 1, 'abc')], CODE.frameSize],
    ['a continuation without headers', () => [frame(TYPE.continuation, 4, 1, '\x82')], CODE.protocol],
    ['another frame within a header block', () => [frame(HEADERS, 1, 1, '\x82'), frame(TYPE.ping, 0, 0, '12345678')], CODE.protocol],
    ['a continuation of another stream', () => [frame(HEADERS, 1, 1, '\x82'), frame(TYPE.continuation, 4, 3, '\x82')], CODE.protocol],
    ['unlimited continuations', () => [frame(HEADERS, 1, 1, '\x82'), many(50, frame(TYPE.continuation, 0, 1))], CODE.enhanceYourCalm],
    ['an unlimited header block', () => [frame(HEADERS, 1, 1), many(5, frame(TYPE.continuation, 0, 1, Buffer.alloc(16_384, 0x82)))], CODE.enhanceYourCalm],
    ['data on stream 0', () => [frame(TYPE.data, 0, 0, 'a')], CODE.protocol],
    ['data on an idle stream', () => [frame(TYPE.data, 0, 1, 'a')], CODE.protocol],
    ['data with too much padding', () => [post(1), frame(TYPE.data, 8, 1, '\x05abc')], CODE.protocol],
    ['a reset of an idle stream', () => [frame(TYPE.reset, 0, 1, uint32(8))], CODE.protocol],
    ['a reset of three bytes', () => [post(1), frame(TYPE.reset, 0, 1, 'abc')], CODE.frameSize],
    ['a window update of an idle stream', () => [frame(TYPE.windowUpdate, 0, 1, uint32(1))], CODE.protocol],
    ['an increment of zero', () => [frame(TYPE.windowUpdate, 0, 0, uint32(0))], CODE.protocol],
    ['an increment of three bytes', () => [frame(TYPE.windowUpdate, 0, 0, 'abc')], CODE.frameSize],
    ['a window above the maximum', () => [frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 31 - 1))], CODE.flowControl],
    [
      'an initial window that overflows a stream window',
      () => [
        settingsFrame([[4, 0]]),
        getFrame(1, host),
        frame(TYPE.windowUpdate, 0, 1, uint32(2 ** 31 - 1)),
        settingsFrame([[4, 1]]),
      ],
      CODE.flowControl,
    ],
    ['a priority of stream 0', () => [frame(TYPE.priority, 0, 0, '12345')], CODE.protocol],
    ['a priority of four bytes', () => [frame(TYPE.priority, 0, 1, '1234')], CODE.frameSize],
    ['a stream that depends on itself', () => [frame(TYPE.priority, 0, 1, `${uint32(1).toString('latin1')}a`)], 1],
    ['GOAWAY on a stream', () => [frame(TYPE.goAway, 0, 1, '12345678')], CODE.protocol],
    ['GOAWAY of seven bytes', () => [frame(TYPE.goAway, 0, 0, '1234567')], CODE.frameSize],
  ]
    for (const [what, frames, code] of cases) {
      test(what, async () => {
        const client = await fixture.open(...frames())
        assert.equal(await client.goAway(), code)
        await client.closed
      })
    }

    for (const [what, bytes] of [
      ['an invalid preface', () => Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)],
      [
        'another frame before its settings',
        () => Buffer.concat([CLIENT_PREFACE.subarray(0, 24), frame(TYPE.ping, 0, 0, '12345678')]),
      ],
    ] as const)
      test(what, async () => {
        const client = await fixture.raw()
        client.send(bytes())
        assert.equal(await client.goAway(), CODE.protocol)
        await client.closed
      })
  })

  describe('a stream ends with the right error code, and its connection continues, when its client sends', () => {
    const fields = (...pairs: [string, string][]) => frame(HEADERS, ALL, 1, headerBlock(pairs))
    const start: [string, string][] = [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', 'x.sites.test'],
      [':path', '/'],
    ]
    const without = (name: string) => start.filter(([one]) => one !== name)
    // biome-ignore format: one row per case
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
    ['a path that is a URL', () => [fields(...without(':path'), [':path', 'https://a/'])], CODE.protocol],
    ['two methods', () => [fields(...start, [':method', 'GET'])], CODE.protocol],
    ['a pseudo-header of responses', () => [fields(...start, [':status', '200'])], CODE.protocol],
    ['a pseudo-header of another protocol', () => [fields(...start, [':protocol', 'websocket'])], CODE.protocol],
    ['a pseudo-header after a regular header', () => [fields(...without(':path'), ['a', 'b'], [':path', '/'])], CODE.protocol],
    ['CONNECT with a path', () => [fields([':method', 'CONNECT'], ...start.slice(1))], CODE.protocol],
    ['a method with a space', () => [fields([':method', 'G T'], ...start.slice(1))], CODE.protocol],
    ['two lengths', () => [fields(...start, ['content-length', '0'], ['content-length', '0'])], CODE.protocol],
    ['an invalid length', () => [fields(...start, ['content-length', '-1'])], CODE.protocol],
    ['a length without a body', () => [fields(...start, ['content-length', '1'])], CODE.protocol],
    ['more data than its length', () => [post(1, { 'content-length': '2' }), frame(0, 0, 1, 'abc')], CODE.protocol],
    ['less data than its length', () => [post(1, { 'content-length': '2' }), frame(0, 1, 1, 'a')], CODE.protocol],
    ['trailers without END_STREAM', () => [post(1), frame(HEADERS, OPEN, 1, headerBlock({ a: 'b' }))], CODE.protocol],
    ['pseudo-headers as trailers', () => [post(1), frame(HEADERS, ALL, 1, headerBlock({ ':path': '/' }))], CODE.protocol],
    ['a connection-specific header as trailers', () => [post(1), frame(HEADERS, ALL, 1, headerBlock({ 'transfer-encoding': 'chunked' }))], CODE.protocol],
    ['a dependency on itself', () => [frame(HEADERS, ALL | 0x20, 1, Buffer.concat([uint32(1), Buffer.from('a'), headerBlock(start)]))], CODE.protocol],
    ['data after its end', () => [getFrame(1, host), frame(TYPE.data, 0, 1, 'a')], CODE.streamClosed],
    ['an increment of zero', () => [settingsFrame([[4, 0]]), getFrame(1, host), frame(TYPE.windowUpdate, 0, 1, uint32(0))], CODE.protocol],
    [
      'increments above the maximum',
      () => [
        settingsFrame([[4, 1]]),
        getFrame(1, host, '/big.bin'),
        frame(TYPE.windowUpdate, 0, 1, uint32(2 ** 31 - 1)),
        frame(TYPE.windowUpdate, 0, 1, uint32(2 ** 31 - 1)),
      ],
      CODE.flowControl,
    ],
  ]
    for (const [what, frames, code] of cases) {
      test(what, async () => {
        const client = await fixture.open(...frames())
        assert.equal(await client.reset(1), code)
        client.send(getFrame(101, host))
        assert.equal(await client.status(101), 200)
      })
    }

    test('more data than its window', async () => {
      // The handler neither reads the body nor responds.
      const { server } = fixture
      const [visit] = server.listeners('request') as [() => void]
      server.removeAllListeners('request')
      server.on('request', () => undefined)
      const piece = Buffer.alloc(16_384)
      const client = await fixture.open(
        post(1),
        ...Array.from({ length: 60 }, () => frame(TYPE.data, 0, 1, piece)),
      )
      assert.equal(await client.reset(1), CODE.flowControl)
      server.removeAllListeners('request')
      server.on('request', visit)
      client.send(getFrame(3, host))
      assert.equal(await client.status(3), 200)
    })
  })

  test('a request with an invalid host, path, method or scheme is refused with 400, and Host equal to :authority is accepted', async () => {
    const { ':authority': _, ...withoutHost } = getFields(host)
    for (const [fields, status] of [
      [{ ...getFields(host), host: 'other.sites.test' }, 400],
      [getFields('me@x.sites.test'), 400],
      [getFields('x.sites.test/a'), 400],
      [getFields(''), 400],
      [withoutHost, 400],
      [getFields(host, '/a b'), 400],
      [{ ...getFields(host), ':method': 'get' }, 400],
      [{ ...getFields(host), ':scheme': 'ftp' }, 400],
      [{ ...getFields(host), host: `${host}:443` }, 200],
    ] as const) {
      const client = await fixture.open(frame(HEADERS, ALL, 1, headerBlock(fields)))
      assert.equal(await client.status(1), status, JSON.stringify(fields))
      await client.ended(1)
    }
  })

  test('a header list that is too long, in one frame or several, is refused, and the connection continues', async () => {
    const cookies = Buffer.concat([Buffer.from('\x40\x01d\x7f\x81\x1e', 'latin1'), Buffer.alloc(3968, 'y')])
    const bomb = Buffer.concat([headerBlock(getFields(host)), cookies, Buffer.alloc(2000, 0xbe)])
    const long = headerBlock({ ...getFields(host), cookie: 'c'.repeat(60_000) })
    const parts = [0, 16_384, 32_768, 49_152].map((at) => long.subarray(at, at + 16_384))
    for (const frames of [
      [frame(HEADERS, ALL, 1, bomb)],
      parts.map((part, index) =>
        index === 0 ? frame(HEADERS, 1, 1, part) : frame(TYPE.continuation, index === 3 ? 4 : 0, 1, part),
      ),
    ]) {
      const client = await fixture.open(...frames, getFrame(3, host))
      await client.ended(1)
      const { payload } = await client.frame(({ type, stream }) => type === HEADERS && stream === 1)
      assert.ok(payload.includes('431'))
      assert.equal(await client.status(3), 200)
    }
  })

  test('streams beyond the limit of open streams are refused and can be retried', async () => {
    const client = await fixture.open(settingsFrame([[4, 0]]))
    client.send(...Array.from({ length: 105 }, (_, index) => getFrame(2 * index + 1, host)))
    for (let index = 100; index < 105; index++) assert.equal(await client.reset(2 * index + 1), CODE.refused)
    client.send(settingsFrame([[4, 10]]))
    for (let index = 0; index < 100; index++) await client.ended(2 * index + 1)
    client.send(getFrame(1001, host))
    assert.equal(await client.status(1001), 200)
  })

  test('data in flight when the server reset its stream is not an error', async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    await using other = await Http2Fixture.start()
    const client = await other.open(post(1))
    await client.ended(1)
    client.send(frame(TYPE.data, 0, 1, 'late'))
    await client.roundTrip('received')
    mock.timers.tick(15_000)
    mock.timers.reset()
    assert.equal(await client.reset(1), CODE.noError)
    client.send(
      frame(TYPE.data, 0, 1, 'late'),
      frame(HEADERS, ALL, 1, headerBlock({ late: 'too' })),
      getFrame(3, host),
    )
    assert.equal(await client.status(3), 404)
    const endings = client.received.filter(({ type }) => type === TYPE.goAway)
    assert.deepEqual(endings, [])
  })

  test('responses to a client that reads nothing are limited', async () => {
    const client = await fixture.open(
      settingsFrame([[4, 2 ** 30]]),
      frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 30)),
    )
    await client.roundTrip('all sent')
    client.socket.pause()
    const serverSocket = fixture.sockets.at(-1)!
    const before = fixture.http2Server.requests
    const requests = Buffer.concat(
      Array.from({ length: 8_000 }, (_, index) => getFrame(2 * index + 1, host, '/none')),
    )
    client.send(requests)
    await waitFor(() => serverSocket.isPaused() || fixture.http2Server.requests - before > 6_000)
    assert.ok(serverSocket.writableLength < 2 ** 21, `${serverSocket.writableLength} bytes are queued`)
    assert.ok(
      fixture.http2Server.requests - before < 6_000,
      `${fixture.http2Server.requests - before} were answered`,
    )
    client.socket.resume()
    await waitFor(() => fixture.http2Server.requests - before === 8_000)
    await client.ended(15_999)
  })

  test('none of this is logged as a failure', () => {
    assert.deepEqual([...fixture.logged, ...fixture.edge.logged.filter(({ level }) => level === 'error')], [])
  })

  const cases: [string, () => Buffer[], (client: RawClient) => Promise<unknown>][] = [
    ['after its response', () => [getFrame(1, host)], (client) => client.ended(1)],
    ['during a response', () => [getFrame(1, host, '/big.bin')], (client) => client.status(1)],
    ['during a request body', () => [post(1)], (client) => client.roundTrip('12345678')],
  ]
  for (const [when, frames, until] of cases) {
    test(`a client that disconnects leaves no state behind ${when}`, async () => {
      const client = await fixture.open(...frames())
      const socket = fixture.sockets.at(-1)!
      await until(client)
      client.socket.end()
      await client.closed
      await waitFor(() => socket.destroyed && fixture.http2Server.relayed === 0)
    })
  }
})
