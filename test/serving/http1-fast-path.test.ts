import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryBudget } from '../../server/lib/second-chance-cache.ts'
import { Http1FastPath } from '../../server/net/http1/fast-path.ts'
import { handleNodeRequest } from '../../server/net/http1/node-handler.ts'
import { Listener, type RequestHandlers } from '../../server/net/listener.ts'
import { readFromStream, readIntoSharedBuffer } from '../../server/net/shared-buffer-read.ts'
import { EdgeFixture, noise } from '../edge/fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { findHeader, sendRaw } from './raw-http.ts'

const MIB = 2 ** 20
const BIG = noise(MIB)
const MIDDLE = noise(100_000)

const FILES = { 'index.html': 'home', 'a.txt': 'A', 'middle.bin': MIDDLE, 'big.bin': BIG }

const edge = await EdgeFixture.start()
after(() => edge[Symbol.asyncDispose]())
const slug = await edge.publish(FILES)
const host = edge.host(slug)

for (const read of [readIntoSharedBuffer, readFromStream]) {
  describe(`the HTTP/1 fast path with ${read.name}`, () => {
    let fastPath: Http1FastPath
    let listener: Listener
    let parsed: number
    const open = new Set<Socket>()

    beforeEach(async () => {
      mock.timers.enable({ apis: ['setInterval'] })
      const budget = new MemoryBudget(8 * MIB)
      fastPath = new Http1FastPath({ handler: edge.edge, clock: () => edge.clock.now, budget, read })
      listener = await Listener.open('127.0.0.1', 0)
      parsed = 0
      const request: RequestHandlers['request'] = (incoming, response) => {
        parsed++
        handleNodeRequest(edge.edge, incoming, response)
      }
      listener.serve({ request, fastPath })
    })
    afterEach(async () => {
      for (const socket of open) socket.destroy()
      open.clear()
      await listener.drain(0)
      mock.timers.reset()
    })

    const get = (path: string, more = '') =>
      Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`)
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

    test('closes the connection after the response on Connection: close, cold and warm', async () => {
      edge.edge.invalidate([slug])
      for (const path of ['/a.txt', '/big.bin', '/nowhere', '/a.txt', '/big.bin', '/nowhere']) {
        const { responses, closed } = await sendRaw(to(), [get(path, 'Connection: close\r\n')], {
          methods: [],
        })
        const [response] = responses
        assert.ok(closed)
        assert.equal(findHeader(response!, 'connection'), 'close')
        assert.ok(response!.body.length > 0, path)
      }
      assert.deepEqual(counts(), { fast: 6, fallbacks: 0 })
    })

    test('stops reading while a client reads nothing', async () => {
      const socket = await client()
      socket.pause()
      let requests = 0
      const many = Buffer.concat(Array.from({ length: 20 }, () => get('/middle.bin')))
      while (requests < 20_000 && socket.write(many)) requests += 20
      let last = -1
      for (let quiet = 0; quiet < 200; quiet = fastPath.responses > last ? 0 : quiet + 1) {
        last = fastPath.responses
        await turn()
      }
      assert.ok(
        fastPath.responses < 1000,
        `${fastPath.responses} responses of 100 kB are buffered for a client`,
      )
      socket.destroy()
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
      const path = join(edge.folder, `${read.name}.sock`)
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

    test('keeps a slow reader connected while it makes progress', async () => {
      const { socket, serverSocket } = await connectWithSmallBuffer()
      socket.write(get('/big.bin'))
      await waitFor(() => serverSocket.writableNeedDrain)
      for (let step = 0, received = 0; step < 4; step++) {
        const before = received
        await waitFor(() => {
          received += socket.read()?.length ?? 0
          return received >= before + 150_000
        })
        mock.timers.tick(40_000)
        assert.ok(!serverSocket.destroyed, `closed after ${step} steps`)
      }
      mock.timers.tick(70_000)
      assert.ok(serverSocket.destroyed)
    })

    test('closes a connection after its last byte when the service stops while a client reads', async () => {
      const { socket, serverSocket } = await connectWithSmallBuffer()
      let requests = 0
      while (serverSocket.writableLength === 0) {
        socket.write(get('/a.txt'))
        requests++
        await waitFor(() => fastPath.responses === requests)
      }
      assert.ok(!serverSocket.writableNeedDrain)
      fastPath.close()
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

    test('closes idle connections when the service stops, and busy ones after their response', async () => {
      const [idle, busy] = [await client(), await client()]
      idle.write(get('/a.txt'))
      await waitFor(() => fastPath.responses === 1)
      let received = 0
      busy.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      busy.write(get('/big.bin'))
      await waitFor(() => fastPath.responses === 2)
      const ends = [once(idle.resume(), 'close'), once(busy, 'close')]
      await listener.drain(30)
      await Promise.all(ends)
      assert.ok(received > MIB, `${received} bytes received`)
    })

    test('sends Connection: close with a response during shutdown', async () => {
      const { blobs } = edge
      const original = blobs.bytes
      const held = Promise.withResolvers<void>()
      blobs.bytes = async (...given) => {
        await held.promise
        return original(...given)
      }
      const late = edge.host(await edge.publish({ 'late.txt': `late ${read.name}` }))
      const bytes = Buffer.from(`GET /late.txt HTTP/1.1\r\nHost: ${late}\r\n\r\n`)
      const exchange = sendRaw(to(), [bytes], { methods: [] })
      await waitFor(() => fastPath.responses === 1)
      const drained = listener.drain(30)
      held.resolve()
      const { responses, closed } = await exchange
      await drained
      blobs.bytes = original
      assert.deepEqual(
        [responses.length, responses[0]!.body.toString(), closed],
        [1, `late ${read.name}`, true],
      )
      assert.equal(findHeader(responses[0]!, 'connection'), 'close')
    })
  })
}
