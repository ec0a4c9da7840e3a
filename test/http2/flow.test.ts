import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, beforeEach, describe, mock, test } from 'node:test'
import { CODE, FLAG, settingsFrame, TYPE } from '../../packages/http-server/http2/frame.ts'
import { overloaded } from '../../server/lib/semaphore.ts'
import { sha256 } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture, sendRequest } from './http2-fixture.ts'
import {
  CLIENT_PREFACE,
  frame,
  getFields,
  getFrame,
  headerBlock,
  type RawClient,
  uint32,
} from './raw-client.ts'

const BIG = noise(2_000_000)

describe('HTTP/2', () => {
  let fixture: Http2Fixture
  let host: string
  /** Stands in for the API. */
  let serve: (request: IncomingMessage, response: ServerResponse) => void
  before(async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    fixture = await Http2Fixture.start()
    const slug = await fixture.edge.publish({
      'index.html': 'home',
      'big.bin': BIG,
      'other.bin': noise(2_000_000),
    })
    host = fixture.edge.host(slug)
    await fixture.edge.get(slug)
    fixture.server.removeAllListeners('request')
    fixture.server.on('request', (request, response) => serve(request, response))
  })
  after(async () => {
    await fixture[Symbol.asyncDispose]()
    mock.timers.reset()
  })
  beforeEach(() => {
    serve = (_request, response) => void response.end('served')
  })

  const API = { ':authority': 'api.test', ':path': '/anything' }

  async function openClient(...frames: Buffer[]): Promise<RawClient> {
    const client = await fixture.open(...frames)
    await client.roundTrip('all sent')
    return client
  }

  const upload = (stream: number, more: Record<string, string> = {}) =>
    frame(
      TYPE.headers,
      4,
      stream,
      headerBlock({ ...getFields('api.test', '/up'), ':method': 'PUT', ...more }),
    )

  /** The bytes that the server allows in total, on a stream or on the connection (0). */
  const allowedBytes = (client: RawClient, id: number) =>
    client.received
      .filter((one) => one.type === TYPE.windowUpdate && one.stream === id)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 65_535)

  /** Advances the timers by 5 seconds at a time, each after `work` and a round trip. */
  async function passSeconds(
    client: RawClient,
    total: number,
    work: (seconds: number) => unknown = () => undefined,
  ) {
    for (let seconds = 0; seconds < total; seconds += 5) {
      await work(seconds)
      await client.roundTrip(`ping ${seconds}`.padEnd(8).slice(0, 8))
      mock.timers.tick(5000)
    }
  }

  /** Sends more of a body than Node's parser takes in before it is read. */
  async function fill(client: RawClient, stream: number): Promise<void> {
    const hasWindow = (id: number, bytes: number) => allowedBytes(client, id) >= bytes
    for (let sent = 0; sent < 160_000; ) {
      sent += 10_000
      await client.frame(() => hasWindow(0, sent) && hasWindow(stream, sent))
      client.send(frame(TYPE.data, 0, stream, Buffer.alloc(10_000)))
    }
    await client.roundTrip('all sent')
  }

  test('streams with large bodies alternate frame by frame', async () => {
    const slug = await fixture.edge.publish({ 'one.bin': noise(250_000), 'two.bin': noise(250_000) })
    const authority = fixture.edge.host(slug)
    for (const path of ['/one.bin', '/two.bin']) await fixture.edge.get(slug, path)
    const client = await openClient(settingsFrame([[4, 2 ** 30]]), getFrame(1, authority, '/one.bin'))
    await waitFor(() => client.bodies.get(1) === 65_535)
    client.send(getFrame(3, authority, '/two.bin'))
    await client.frame(({ type, stream }) => type === TYPE.headers && stream === 3)
    const before = client.received.length
    client.send(frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 20)))
    await Promise.all([client.ended(1), client.ended(3)])
    const order = client.received.slice(before, before + 20).map(({ stream }) => stream)
    const alternating = order.map((_, index) => (index % 2 === 0 ? order[0] : 4 - order[0]!))
    assert.deepEqual(order, alternating)
    assert.deepEqual([client.bodies.get(1), client.bodies.get(3)], [250_000, 250_000])
  })

  test('a response waits for the window of its connection', async () => {
    const client = await openClient(getFrame(1, host, '/big.bin'))
    await waitFor(() => client.bodies.get(1) === 65_535)
    client.send(getFrame(3, host))
    await client.frame(({ type, stream }) => type === TYPE.headers && stream === 3)
    assert.equal(client.bodies.get(3), undefined)
    client.send(frame(TYPE.windowUpdate, 0, 0, uint32(4)))
    await client.ended(3)
    assert.equal(client.bodies.get(1), 65_535)
  })

  test('a request body without a reader is not buffered without limit', async () => {
    const held = Promise.withResolvers<IncomingMessage>()
    serve = (request) => held.resolve(request)
    const session = fixture.client()
    const stream = session.request({ ...API, ':method': 'PUT' }, { endStream: false })
    const bytes = noise(8_000_000)
    stream.end(bytes)
    const request = await held.promise
    for (let round = 0; round < 300; round++) await new Promise(setImmediate)
    assert.ok(request.readableLength < 200_000)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    assert.equal(sha256(Buffer.concat(chunks)), sha256(bytes))
    stream.close()
  })

  test('a client may send one window of a body before it is read', async () => {
    const held = Promise.withResolvers<IncomingMessage>()
    serve = (request) => held.resolve(request)
    const client = await openClient(upload(1))
    const request = await held.promise
    const allowed = allowedBytes(client, 1)
    const piece = Buffer.alloc(16_384)
    for (let sent = 0; sent + piece.length <= allowed; sent += piece.length)
      client.send(frame(0, 0, 1, piece))
    await client.roundTrip('all sent')
    const given = allowedBytes(client, 1)
    assert.ok(given < allowed + 200_000, `${given} bytes may be sent, ${allowed} at first`)
    request.resume()
    await waitFor(() => allowedBytes(client, 1) > given)
  })

  test('a response without a reader is not buffered without limit', async () => {
    let written = 0
    const piece = Buffer.alloc(100_000)
    serve = (_request, response) => {
      const more = () => {
        while (written < 20_000_000) {
          written += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    }
    const client = await openClient(
      settingsFrame([[4, 0]]),
      frame(TYPE.headers, 5, 1, headerBlock(getFields('api.test'))),
    )
    await client.frame(({ type, stream }) => type === TYPE.headers && stream === 1)
    for (let round = 0; round < 300; round++) await new Promise(setImmediate)
    assert.ok(written < 2_000_000, `${written} bytes were written`)
    client.send(settingsFrame([[4, 2 ** 30]]), frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 30)))
    await client.ended(1)
    assert.equal(client.bodies.get(1), 20_000_000)
  })

  test('cancelling a stream cancels the relayed request', async () => {
    const gone = Promise.withResolvers<void>()
    const received = Promise.withResolvers<void>()
    serve = (request) => {
      received.resolve()
      request.on('close', () => gone.resolve())
      request.on('error', () => undefined)
    }
    const client = await openClient(upload(1))
    await received.promise
    client.send(frame(TYPE.reset, 0, 1, uint32(CODE.cancel)))
    await gone.promise
  })

  test('a failure of a relayed request ends its stream, not the connection', async () => {
    serve = (request) => void request.socket.destroy()
    const client = await openClient(frame(TYPE.headers, 5, 1, headerBlock(getFields('api.test'))))
    assert.equal(await client.reset(1), CODE.internal)
    serve = (_request, response) => {
      response.writeHead(200, { 'Content-Length': 100 })
      response.write('half')
      setImmediate(() => response.destroy())
    }
    client.send(frame(TYPE.headers, 5, 3, headerBlock(getFields('api.test'))))
    assert.equal(await client.reset(3), CODE.internal)
  })

  test('Expect: 100-continue gets 100 Continue', async () => {
    const chunks: Buffer[] = []
    serve = (request, response) => {
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => response.end('thanks'))
    }
    const session = fixture.client()
    const stream = session.request(
      { ...API, ':method': 'POST', expect: '100-continue' },
      { endStream: false },
    )
    await once(stream, 'continue')
    stream.end('the body')
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 200)
    stream.resume()
    await once(stream, 'end')
    assert.equal(Buffer.concat(chunks).toString(), 'the body')
  })

  test('a request with trailers gets the same response as over HTTP/1.1', async () => {
    const bodies: string[] = []
    serve = async (request, response) => {
      const chunks = await request.toArray()
      bodies.push(Buffer.concat(chunks).toString())
      response.end('served')
    }
    const client = await openClient(
      frame(TYPE.headers, 5, 1, headerBlock(getFields('api.test', '/health', { trailer: 'x-sum' }))),
      upload(3, { trailer: 'x-sum' }),
      frame(TYPE.data, 0, 3, 'the body'),
      frame(TYPE.headers, 5, 3, headerBlock({ 'x-sum': '1' })),
    )
    assert.equal(await client.status(1), 200)
    assert.equal(await client.status(3), 200)
    assert.deepEqual(bodies.toSorted(), ['', 'the body'])
  })

  test('a relayed request has the address, host and cookies of its client', async () => {
    const received = Promise.withResolvers<unknown[]>()
    serve = (request, response) => {
      const { remoteAddress, encrypted } = request.socket as unknown as Record<string, unknown>
      received.resolve([remoteAddress, encrypted, request.headers.host, request.url, request.headers.cookie])
      response.setHeader('Trailer', 'x-sum')
      response.write('served')
      response.addTrailers({ 'x-sum': 'none' })
      response.end()
    }
    const { body, headers } = await sendRequest(fixture.client(), {
      ...API,
      ':path': '/a?b=c',
      cookie: ['a=1', 'b=2'],
    })
    assert.deepEqual(await received.promise, ['127.0.0.1', true, 'api.test', '/a?b=c', 'a=1; b=2'])
    assert.equal(body.toString(), 'served')
    assert.ok(!('connection' in headers) && !('transfer-encoding' in headers) && !('keep-alive' in headers))
  })

  test('a response to a request that was reset with NO_ERROR before its body was read is dropped', async () => {
    const begun = Promise.withResolvers<ServerResponse>()
    serve = (_request, response) => begun.resolve(response)
    const client = await openClient(upload(1))
    const response = await begun.promise
    await fill(client, 1)
    client.send(frame(TYPE.reset, 0, 1, uint32(CODE.noError)))
    await client.roundTrip('is reset')
    response.writeContinue()
    response.end('late')
    await waitFor(() => response.destroyed)
    client.send(getFrame(3, host))
    await client.ended(3)
    assert.ok(!client.received.some(({ type, stream }) => type === TYPE.headers && stream === 1))
  })

  test('a request for which there is no place is refused, so that the client may send it again', async () => {
    const { edge } = fixture.edge
    const { mock: opening } = mock.method(edge, 'openBody', () => Promise.reject(overloaded()))
    const client = await openClient(getFrame(1, host, '/big.bin'))
    assert.equal(await client.reset(1), CODE.refused)
    opening.restore()
    client.send(getFrame(3, host))
    await client.ended(3)
  })

  describe('an idle connection', () => {
    test('ends after 20 seconds without a client preface', async () => {
      const client = await fixture.raw()
      client.send(CLIENT_PREFACE.subarray(0, 10))
      await client.frame(({ type }) => type === TYPE.settings)
      mock.timers.tick(10_000)
      assert.ok(!fixture.sockets.at(-1)!.destroyed)
      mock.timers.tick(10_000)
      assert.ok(fixture.sockets.at(-1)!.destroyed)
      await client.closed
    })

    test('ends after a minute with GOAWAY, despite pings', async () => {
      const client = await openClient(getFrame(1, host))
      await client.ended(1)
      await passSeconds(client, 60)
      mock.timers.tick(10_000)
      assert.equal(await client.goAway(), CODE.noError)
      await client.closed
    })

    test('is none while its request waits for the service', async () => {
      const begun = Promise.withResolvers<ServerResponse>()
      serve = (_request, response) => begun.resolve(response)
      const client = await openClient(upload(1), frame(TYPE.data, FLAG.endStream, 1, 'a'))
      const response = await begun.promise
      await passSeconds(client, 150)
      response.end('served')
      await client.ended(1)
    })

    test('ends although its client reads nothing more and keeps its side open', async () => {
      const client = await openClient(getFrame(1, host))
      const ours = fixture.sockets.at(-1)!
      await client.ended(1)
      client.socket.pause()
      mock.timers.tick(70_000)
      assert.ok(!ours.destroyed)
      mock.timers.tick(15_000)
      assert.ok(ours.destroyed)
    })

    test('ends after a request that was answered, and reset with NO_ERROR before its body was read', async () => {
      const begun = Promise.withResolvers<ServerResponse>()
      serve = (_request, response) => begun.resolve(response)
      const client = await openClient(upload(1))
      const ours = fixture.sockets.at(-1)!
      const response = await begun.promise
      await fill(client, 1)
      response.end('served')
      await client.ended(1)
      client.send(frame(TYPE.reset, 0, 1, uint32(CODE.noError)))
      await client.roundTrip('is reset')
      mock.timers.tick(5000)
      await client.roundTrip('a pause.')
      mock.timers.tick(75_000)
      mock.timers.tick(15_000)
      assert.ok(ours.destroyed)
    })

    test('resets requests whose bodies arrive a byte at a time', async () => {
      serve = () => undefined
      const client = await openClient(upload(1, { 'content-length': '200' }), upload(3))
      await passSeconds(client, 75, () =>
        client.send(frame(TYPE.data, 0, 1, 'a'), frame(TYPE.data, 0, 3, 'a')),
      )
      assert.equal(await client.reset(1), CODE.cancel)
      assert.equal(await client.reset(3), CODE.cancel)
    })

    test('stays open for an upload of a few KiB per second', async () => {
      const done = Promise.withResolvers<void>()
      serve = (request, response) => {
        request.resume()
        request.on('end', () => response.end(() => done.resolve()))
      }
      const client = await openClient(upload(1))
      await passSeconds(client, 150, () => client.send(frame(TYPE.data, 0, 1, Buffer.alloc(10_000))))
      client.send(frame(TYPE.data, 1, 1))
      await done.promise
      await client.ended(1)
    })

    const tricks: [what: string, frames: (seconds: number) => Buffer[]][] = [
      ['opens the window by a byte now and then', () => [frame(TYPE.windowUpdate, 0, 0, uint32(1))]],
      [
        'opens no window, but requests what needs none',
        (seconds) =>
          Array.from({ length: 60 }, (_, at) =>
            getFrame(5 + 2 * (12 * seconds + at), host, '/', { ':method': 'HEAD' }),
          ),
      ],
    ]
    for (const [what, frames] of tricks)
      test(`ends when its client ${what}`, async () => {
        const client = await openClient(
          settingsFrame([[4, 2 ** 20]]),
          getFrame(1, host, '/big.bin'),
          getFrame(3, host, '/other.bin'),
        )
        const serverSocket = fixture.sockets.at(-1)!
        await waitFor(() => (client.bodies.get(1) ?? 0) + (client.bodies.get(3) ?? 0) === 65_535)
        for (let seconds = 0; seconds < 150 && !serverSocket.destroyed; seconds += 5) {
          client.send(...frames(seconds))
          await client.roundTrip(`ping ${seconds}`.padEnd(8).slice(0, 8))
          mock.timers.tick(5000)
        }
        assert.ok(serverSocket.destroyed)
      })

    test('resets streams that wait for their client, while others continue', async () => {
      serve = () => undefined
      const client = await openClient(getFrame(1, host, '/big.bin'), upload(3))
      await waitFor(() => client.bodies.get(1) === 65_535)
      await passSeconds(client, 75, (seconds) => {
        client.send(frame(TYPE.windowUpdate, 0, 0, uint32(100)), getFrame(11 + 2 * seconds, host))
        return client.ended(11 + 2 * seconds)
      })
      assert.equal(await client.reset(1), CODE.cancel)
      assert.equal(await client.reset(3), CODE.cancel)
      assert.ok(!client.socket.destroyed)
    })
  })

  test('none of this is logged as a failure or leaves a relayed request', async () => {
    for (const socket of fixture.sockets) socket.destroy()
    await waitFor(() => fixture.http2Server.relayed === 0)
    assert.deepEqual(fixture.logged, [])
  })
})
