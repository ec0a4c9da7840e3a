import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, afterEach, beforeEach, describe, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Http1FastPath } from '../../packages/http-server/http1/fast-path.ts'
import { handleNodeRequest } from '../../packages/http-server/http1/node-handler.ts'
import { Listener, type RequestHandlers } from '../../packages/http-server/listener.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { EdgeFixture, noise } from '../edge/fixture.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { waitFor } from '../support/wait-for.ts'
import { sendRaw } from './raw-http.ts'

const MIB = 2 ** 20
const BIG = noise(MIB)
const MIDDLE = noise(100_000)

const FILES = { 'index.html': 'home', 'a.txt': 'A', 'middle.bin': MIDDLE, 'big.bin': BIG }

const edge = await EdgeFixture.start()
after(() => edge[Symbol.asyncDispose]())
const slug = await edge.publish(FILES)
const host = edge.host(slug)

describe('the HTTP/1 fast path', () => {
  let fastPath: Http1FastPath
  let listener: Listener
  let parsed: number
  const open = new Set<Socket>()

  beforeEach(async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    const { log } = edge.options
    const budget = new MemoryBudget(8 * MIB)
    fastPath = new Http1FastPath({ handler: edge.edge, clock: () => edge.clock.now, budget, log })
    listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
    parsed = 0
    const request: RequestHandlers['request'] = (incoming, response) => {
      parsed++
      handleNodeRequest(edge.edge, incoming, response, log)
    }
    listener.serve({ request, fastPath })
  })
  afterEach(async () => {
    for (const socket of open) socket.destroy()
    open.clear()
    await listener.drain(0)
    mock.timers.reset()
  })

  const get = (path: string, more = '') => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`)
  const to = () => ({ port: listener.port, host: '127.0.0.1' })
  const counts = () => ({ fast: fastPath.responses, fallbacks: fastPath.fallbacks })

  async function client(): Promise<Socket> {
    const socket = connect(to())
    open.add(socket)
    await once(socket, 'connect')
    return socket
  }

  test('parses pipelined requests no faster than it sends their responses', async () => {
    const socket = await client()
    socket.pause()
    const count = 200
    socket.write(Buffer.concat(Array.from({ length: count }, () => get('/middle.bin', 'TE: trailers\r\n'))))
    await waitFor(() => parsed >= 32)
    for (let round = 0; round < 100; round++) await turn()
    assert.ok(parsed < count / 2, `${parsed} were parsed`)
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    socket.resume()
    await waitFor(() => parsed === count && received > count * MIDDLE.length)
  })

  test('parses pipelined requests no faster than it sends responses that end one after the other', async (t) => {
    const slow = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
    const request: RequestHandlers['request'] = (_incoming, response) => {
      parsed++
      setImmediate(() => response.end(MIDDLE))
    }
    slow.serve({ request, fastPath })
    t.after(() => slow.drain(0))
    const socket = connect({ ...to(), port: slow.port }).pause()
    open.add(socket)
    const count = 200
    socket.write(Buffer.concat(Array.from({ length: count }, () => get('/', 'TE: trailers\r\n'))))
    await waitFor(() => parsed >= 32)
    for (let round = 0; round < 300; round++) await turn()
    assert.ok(parsed < count / 2, `${parsed} were parsed`)
    socket.resume()
    await waitFor(() => parsed === count)
  })

  test('serves plain requests itself, cold and warm, small and large, in order', async () => {
    edge.edge.invalidate([slug])
    const paths = ['/', '/big.bin', '/a.txt', '/nowhere', '/middle.bin', '/big.bin', '/', '/middle.bin']
    const { responses } = await sendRaw(to(), [Buffer.concat(paths.map((path) => get(path)))], {
      methods: [],
      count: paths.length,
    })
    const bodies = {
      '/': Buffer.from('home'),
      '/a.txt': Buffer.from('A'),
      '/big.bin': BIG,
      '/middle.bin': MIDDLE,
    }
    for (const [index, path] of paths.entries()) {
      const { status, body } = responses[index]!
      assert.equal(status, path in bodies ? 200 : 404, path)
      if (path in bodies) assert.ok(body.equals(bodies[path as keyof typeof bodies]), path)
    }
    assert.deepEqual(counts(), { fast: paths.length, fallbacks: 0 })
  })

  test('sends all of its files to a client that closes its sending side, on the fast path or not', async () => {
    const count = 20
    for (const more of ['', 'TE: trailers\r\n']) {
      const socket = connect({ ...to(), allowHalfOpen: true })
      open.add(socket)
      socket.end(Buffer.concat(Array.from({ length: count }, () => get('/big.bin', more))))
      const received = await buffer(socket)
      assert.ok(received.length > count * BIG.length, `${received.length} bytes after ${more}`)
      assert.ok(received.subarray(-BIG.length).equals(BIG))
    }
  })

  test('closes only its connection when the handler fails to answer a request, on the fast path or not', async (t) => {
    const cases = [
      ['respond', get('/a.txt'), 0],
      ['openBody', get('/big.bin'), 0],
      ['respond', get('/a.txt', 'TE: trailers\r\n'), 1],
      ['openBody', get('/big.bin', 'TE: trailers\r\n'), 2],
      ['respondToMethod', Buffer.from(`DELETE / HTTP/1.1\r\nHost: ${host}\r\n\r\n`), 3],
    ] as const
    for (const [method, request, fallbacks] of cases) {
      edge.logged.length = 0
      const failing = t.mock.method(edge.edge, method, () => Promise.reject(new Error('a bug')))
      const { responses, closed } = await sendRaw(to(), [request], { methods: [] })
      failing.mock.restore()
      assert.deepEqual([responses, closed, fastPath.fallbacks], [[], true, fallbacks])
      assert.deepEqual(pluck(edge.logged, 'message'), ['HTTP/1 request failed'])
    }
    const { responses } = await sendRaw(to(), [get('/a.txt', 'Connection: close\r\n')], { methods: [] })
    assert.equal(responses[0]?.status, 200)
  })

  test('closes idle connections, unused ones sooner', async () => {
    const [unused, used, active] = [await client(), await client(), await client()]
    const ended = new Set<Socket>()
    for (const socket of [unused, used, active]) socket.on('close', () => ended.add(socket)).resume()
    for (const socket of [used, active]) socket.write(get('/a.txt'))
    await waitFor(() => fastPath.responses === 2)
    mock.timers.tick(20_000)
    await waitFor(() => ended.has(unused))
    assert.deepEqual([...ended], [unused])
    active.write(get('/a.txt'))
    await waitFor(() => fastPath.responses === 3)
    mock.timers.tick(50_000)
    await waitFor(() => ended.has(used))
    assert.ok(!ended.has(active))
  })

  /** Both ends of a connection with small socket buffers, unlike loopback TCP. */
  async function connectWithSmallBuffer(): Promise<{ socket: Socket; serverSocket: Socket }> {
    const path = join(edge.folder, 'small.sock')
    const accepted = Promise.withResolvers<Socket>()
    const server = createServer((socket) => {
      fastPath.accept(socket, () => undefined)
      accepted.resolve(socket)
    }).listen(path)
    await once(server, 'listening')
    const socket = connect(path).pause()
    open.add(socket)
    const serverSocket = await accepted.promise
    server.close()
    return { socket, serverSocket }
  }

  test('closes a connection after its last byte when the service stops while a client reads', async () => {
    const { socket, serverSocket } = await connectWithSmallBuffer()
    let requests = 0
    while (serverSocket.writableLength === 0) {
      socket.write(get('/a.txt'))
      requests++
      await waitFor(() => fastPath.responses === requests)
    }
    assert.ok(!serverSocket.writableNeedDrain)
    fastPath.pool.close()
    assert.ok(!serverSocket.destroyed)
    let received = ''
    socket.on('data', (chunk: Buffer) => {
      received += chunk
    })
    socket.resume()
    await waitFor(() => serverSocket.destroyed && socket.readableEnded)
    assert.equal(received.match(/HTTP/g)?.length, requests)
  })

  test('sends the current Date, also with a cached response', async () => {
    const socket = await client()
    const dates: string[] = []
    socket.on('data', (chunk: Buffer) => dates.push(/Date: (.*)\r\n/.exec(chunk.toString())![1]!))
    for (let count = 1; count <= 4; count++) {
      socket.write(get('/a.txt'))
      await waitFor(() => dates.length === count)
      assert.equal(dates.at(-1), new Date(edge.clock.now).toUTCString())
      edge.clock.now += 61_000
    }
  })
})
