import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryBudget } from '../server/lib/lru-cache.ts'
import { Http1FastPath } from '../server/net/http1/fast-path.ts'
import { handleNodeRequest } from '../server/net/http1/node-handler.ts'
import { Listener, type RequestHandlers } from '../server/net/listener.ts'
import { readFromStream, readIntoSharedBuffer } from '../server/net/shared-buffer-read.ts'
import { EdgeFixture, noise } from './edge-fixture.ts'
import { findHeader, talk } from './serving/wire.ts'
import { waitFor } from './support/wait-for.ts'

const MIB = 2 ** 20
const BIG = noise(MIB)
const MIDDLE = noise(100_000)

let edge: EdgeFixture
let host: string
let slug: string
before(async () => {
  edge = await EdgeFixture.start()
  slug = await edge.publish({ 'index.html': 'home', 'a.txt': 'A', 'middle.bin': MIDDLE, 'big.bin': BIG })
  host = edge.host(slug)
})
after(() => edge[Symbol.asyncDispose]())

for (const read of [readIntoSharedBuffer, readFromStream]) {
  describe(`a lane that reads by ${read.name}`, () => {
    let fastPath: Http1FastPath
    let budget: MemoryBudget
    let listener: Listener
    let parsed: number
    const open = new Set<Socket>()

    beforeEach(async () => {
      mock.timers.enable({ apis: ['setInterval'] })
      budget = new MemoryBudget(8 * MIB)
      fastPath = new Http1FastPath({ handler: edge.edge, clock: () => edge.clock.now, budget, read })
      listener = await Listener.open('127.0.0.1', 0)
      parsed = 0
      const request: RequestHandlers['request'] = (asked, response) => {
        parsed++
        handleNodeRequest(edge.edge, asked, response)
      }
      listener.serve({ request, fastPath })
    })
    afterEach(async () => {
      for (const socket of open) socket.destroy()
      open.clear()
      await listener.drain(0)
      mock.timers.reset()
    })

    const said = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: {host}\r\n${more}\r\n`
    const ask = (path: string, more = '') => Buffer.from(said(path, more).replace('{host}', host))
    const to = () => ({ port: listener.port, host: '127.0.0.1' })
    const counts = () => ({ answered: fastPath.responses, handedOver: fastPath.fallbacks })

    async function client(): Promise<Socket> {
      const socket = connect(to())
      open.add(socket)
      await once(socket, 'connect')
      return socket
    }

    test('has requests that come all at once parsed no faster than their answers go', async () => {
      const socket = await client()
      socket.pause()
      const count = 200
      socket.write(Buffer.concat(Array.from({ length: count }, () => ask('/middle.bin', 'TE: trailers\r\n'))))
      await waitFor(() => parsed >= 32)
      for (let round = 0; round < 100; round++) await turn()
      assert.ok(parsed < count / 2, `${parsed} were parsed`)
      let came = 0
      socket.on('data', (chunk: Buffer) => {
        came += chunk.length
      })
      socket.resume()
      await waitFor(() => parsed === count && came > count * MIDDLE.length)
    })

    test('answers plain requests itself, cold and warm, small and large, in their order', async () => {
      edge.edge.invalidate([slug])
      const paths = ['/', '/big.bin', '/a.txt', '/nowhere', '/middle.bin', '/big.bin', '/', '/middle.bin']
      const { answers } = await talk(to(), [Buffer.concat(paths.map((path) => ask(path)))], {
        methods: [],
        count: paths.length,
      })
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body.length]),
        [200, 200, 200, 404, 200, 200, 200, 200].map((status, index) => [
          status,
          [4, MIB, 1, answers[3]!.body.length, 100_000, MIB, 4, 100_000][index],
        ]),
      )
      assert.ok(answers[1]!.body.equals(BIG) && answers[5]!.body.equals(BIG))
      assert.ok(answers[4]!.body.equals(MIDDLE) && answers[7]!.body.equals(MIDDLE))
      assert.deepEqual(counts(), { answered: paths.length, handedOver: 0 })
    })

    for (const [what, bytes, status] of [
      ['comes in two pieces', ['GET /a.txt HTTP/1.1\r\nHo', 'st: {host}\r\n\r\n'], 200],
      ['has a body', [said('/a.txt', 'Content-Length: 2\r\n'), 'ab'], 200],
      ['wants another protocol', [said('/a.txt', 'Connection: upgrade\r\n')], 200],
      ['wants to be told to go on', [said('/a.txt', 'Expect: 100-continue\r\n')], 200],
      ['is of an old version', ['GET /a.txt HTTP/1.0\r\nHost: {host}\r\n\r\n'], 200],
      ['has odd characters in its path', [said('/"<|>^`{}')], 404],
      ['says something twice', [said('/a.txt', 'Range: bytes=0-0\r\nRange: bytes=0-0\r\n')], 200],
      ['ends its lines carelessly', [said('/a.txt').replace('\r\n', '\n')], 400],
    ] as const) {
      test(`leaves a request that ${what} to Node, and the rest of its connection`, async () => {
        const socket = await client()
        const came: Buffer[] = []
        socket.on('data', (chunk: Buffer) => came.push(chunk))
        const statuses = () =>
          Buffer.concat(came)
            .toString()
            .match(/(?<=HTTP\/1\.1 )[2-5]\d\d/g) ?? []
        socket.write(ask('/a.txt'))
        await waitFor(() => statuses().length === 1)
        for (const piece of bytes) {
          socket.write(piece.replace('{host}', host))
          await waitFor(() => fastPath.fallbacks === 1)
        }
        await waitFor(() => statuses().length === 2)
        assert.deepEqual(statuses(), ['200', `${status}`])
        assert.deepEqual(counts(), { answered: 1, handedOver: 1 })
      })
    }

    for (const path of ['/a.txt', '/big.bin', '/nowhere']) {
      test(`ends the connection after the answer when the client wants that: ${path}, cold and warm`, async () => {
        edge.edge.invalidate([slug])
        for (let time = 0; time < 2; time++) {
          const socket = await client()
          const came: Buffer[] = []
          socket.on('data', (chunk: Buffer) => came.push(chunk))
          socket.write(said(path, 'Connection: close\r\n').replace('{host}', host))
          await once(socket, 'end')
          const text = Buffer.concat(came).toString('latin1')
          const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
          assert.match(head, /\r\nConnection: close/)
          assert.equal(body.length, Number(/Content-Length: (\d+)/.exec(head)?.[1]))
        }
        assert.deepEqual(counts(), { answered: 2, handedOver: 0 })
      })
    }

    test('reads no further while a client reads nothing', async () => {
      const socket = await client()
      socket.pause()
      let asked = 0
      const many = Buffer.concat(Array.from({ length: 20 }, () => ask('/middle.bin')))
      while (asked < 20_000 && socket.write(many)) asked += 20
      let last = -1
      for (let quiet = 0; quiet < 200; quiet = fastPath.responses > last ? 0 : quiet + 1) {
        last = fastPath.responses
        await turn()
      }
      assert.ok(fastPath.responses < 1000, `${fastPath.responses} answers of 100 KB wait for a client`)
      socket.destroy()
    })

    test('ends connections on which nothing happens, new ones sooner', async () => {
      const [fresh, used, awake] = [await client(), await client(), await client()]
      const ended = new Set<Socket>()
      for (const socket of [fresh, used, awake]) socket.on('close', () => ended.add(socket)).resume()
      for (const socket of [used, awake]) socket.write(ask('/a.txt'))
      await waitFor(() => fastPath.responses === 2)
      mock.timers.tick(20_000)
      await waitFor(() => ended.has(fresh))
      assert.deepEqual([...ended], [fresh])
      awake.write(ask('/a.txt'))
      await waitFor(() => fastPath.responses === 3)
      mock.timers.tick(50_000)
      await waitFor(() => ended.has(used))
      assert.ok(!ended.has(awake))
    })

    /** Both ends of a connection on which, unlike over loopback, the system takes little at once. */
    async function narrow(): Promise<{ socket: Socket; ours: Socket }> {
      const path = join(edge.folder, `${read.name}.sock`)
      const accepted = Promise.withResolvers<Socket>()
      const server = createServer((socket) => {
        fastPath.accept(socket, () => undefined)
        accepted.resolve(socket)
      }).listen(path)
      await once(server, 'listening')
      const socket = connect(path).pause()
      open.add(socket)
      const ours = await accepted.promise
      server.close()
      return { socket, ours }
    }

    test('waits for a client that takes its bytes slowly', async () => {
      const { socket, ours } = await narrow()
      socket.write(ask('/big.bin'))
      await waitFor(() => ours.writableNeedDrain)
      for (let step = 0, received = 0; step < 4; step++) {
        const before = received
        await waitFor(() => {
          received += socket.read()?.length ?? 0
          return received >= before + 150_000
        })
        mock.timers.tick(40_000)
        assert.ok(!ours.destroyed, `cut off after ${step} steps`)
      }
      mock.timers.tick(70_000)
      assert.ok(ours.destroyed)
    })

    test('ends a connection with its last byte when the service stops while a client reads', async () => {
      const { socket, ours } = await narrow()
      let asked = 0
      while (ours.writableLength === 0) {
        socket.write(ask('/a.txt'))
        asked++
        await waitFor(() => fastPath.responses === asked)
      }
      assert.ok(!ours.writableNeedDrain)
      fastPath.close()
      assert.ok(!ours.destroyed)
      let received = ''
      socket.on('data', (chunk: Buffer) => {
        received += chunk
      })
      socket.resume()
      await waitFor(() => ours.destroyed && socket.readableEnded)
      assert.equal(received.match(/HTTP/g)?.length, asked)
    })

    test('says the date of the answer, also in one that was made before', async () => {
      const socket = await client()
      const dates: string[] = []
      socket.on('data', (chunk: Buffer) => dates.push(/Date: (.*)\r\n/.exec(chunk.toString())![1]!))
      for (let count = 1; count <= 4; count++) {
        socket.write(ask('/a.txt'))
        await waitFor(() => dates.length === count)
        assert.equal(dates.at(-1), new Date(edge.clock.now).toUTCString())
        edge.clock.now += 61_000
      }
    })

    test('gives a HEAD what a GET gets, but for the body, in either order', async () => {
      const head = Buffer.from(`HEAD /a.txt HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      const order = [head, head, ask('/a.txt'), ask('/a.txt'), head, ask('/a.txt')]
      const methods = ['HEAD', 'HEAD', 'GET', 'GET', 'HEAD', 'GET']
      const { answers } = await talk(to(), order, { methods, count: order.length })
      assert.deepEqual(
        answers.map(({ body }) => body.toString()),
        ['', '', 'A', 'A', '', 'A'],
      )
      for (const { headers } of answers) assert.deepEqual(headers, answers[0]!.headers)
    })

    test('keeps what it remembers within the budget', async () => {
      const files = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${index}`, noise(12_000)]))
      const many = edge.host(await edge.publish(files))
      const socket = await client()
      let received = 0
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      for (const path of Object.keys(files)) {
        for (let time = 0; time < 3; time++) {
          const before = received
          socket.write(`GET /${path} HTTP/1.1\r\nHost: ${many}\r\n\r\n`)
          await waitFor(() => received > before + 12_000)
        }
      }
      assert.ok(
        budget.usedBytes > 4 * MIB && budget.usedBytes <= budget.limit,
        `${budget.usedBytes} of ${budget.limit} bytes`,
      )
    })

    test('ends what is idle when the service stops, and what is under way after its answer', async () => {
      const [idle, busy] = [await client(), await client()]
      idle.write(ask('/a.txt'))
      await waitFor(() => fastPath.responses === 1)
      let received = 0
      busy.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      busy.write(ask('/big.bin'))
      await waitFor(() => fastPath.responses === 2)
      const ends = [once(idle.resume(), 'close'), once(busy, 'close')]
      await listener.drain(30)
      await Promise.all(ends)
      assert.ok(received > MIB, `${received} bytes came`)
    })

    test('tells a client whose request comes while the service stops that it is the last', async () => {
      const { blobs } = edge
      const original = blobs.bytes
      const held = Promise.withResolvers<void>()
      blobs.bytes = async (...given) => {
        await held.promise
        return original(...given)
      }
      const late = edge.host(await edge.publish({ 'late.txt': `late ${read.name}` }))
      const bytes = Buffer.from(`GET /late.txt HTTP/1.1\r\nHost: ${late}\r\n\r\n`)
      const talking = talk(to(), [bytes], { methods: [] })
      await waitFor(() => fastPath.responses === 1)
      const drained = listener.drain(30)
      held.resolve()
      const { answers, closed } = await talking
      await drained
      blobs.bytes = original
      assert.deepEqual([answers.length, answers[0]!.body.toString(), closed], [1, `late ${read.name}`, true])
      assert.equal(findHeader(answers[0]!, 'connection'), 'close')
    })
  })
}
