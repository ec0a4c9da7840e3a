import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { duplexPair } from 'node:stream'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { Http1FastPath } from '../../packages/http-server/http1/fast-path.ts'
import { FLAG, TYPE } from '../../packages/http-server/http2/frame.ts'
import { Http2Server } from '../../packages/http-server/http2/http2-server.ts'
import { Listener } from '../../packages/http-server/listener.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { EdgeFixture } from '../edge/fixture.ts'
import { Http2Fixture } from '../http2/http2-fixture.ts'
import { CLIENT_PREFACE, frame, getFrame, RawClient, uint32 } from '../http2/raw-client.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { findHeader, parseResponses, type RawResponse, sendRaw } from '../serving/raw-http.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'
import { pluck } from '../support/pluck.ts'
import { waitFor } from '../support/wait-for.ts'
import { untilClosed } from '../tls/secure-service.ts'

const REQUESTS = 200
const PATHS = Array.from({ length: REQUESTS }, (_, index) => (index % 3 === 0 ? '/nowhere' : '/'))
const STATUSES = PATHS.map((path) => (path === '/' ? 200 : 404))
const AMPLE_WINDOW = frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 30))

for (const protocol of ['http/1.1', 'h2'])
  describe(`requests over ${protocol} that outlast a turn of the event loop`, () => {
    let edge: EdgeFixture
    let host: string
    before(async () => {
      edge = await EdgeFixture.start()
      host = edge.host(await edge.publish({ 'index.html': 'home' }))
      await edge.get(host.split('.')[0]!)
    })
    after(() => edge[Symbol.asyncDispose]())
    beforeEach((t) => stretchTime(t as TestContext))

    const requests = () =>
      protocol === 'h2'
        ? [CLIENT_PREFACE, AMPLE_WINDOW, ...PATHS.map((path, index) => getFrame(2 * index + 1, host, path))]
        : PATHS.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`))

    /** Sends all requests, and perhaps the end of its side, in one packet. Continues when some have been answered. */
    async function start({ end = false } = {}) {
      const { log } = edge.options
      const parts = {
        handler: edge.edge,
        clock: () => edge.clock.now,
        budget: new MemoryBudget(2 ** 20),
        log,
      }
      const parse = () => assert.fail('no request is relayed')
      const fast = new Http1FastPath(parts)
      const engine = new Http2Server({ ...parts, parse, clientMemory: edge.clientMemory })
      const server = createServer({
        ...(await selfSigned('x')),
        ALPNProtocols: [protocol],
        allowHalfOpen: true,
      })
      const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>
      server.on('secureConnection', (socket) =>
        protocol === 'h2' ? engine.accept(socket) : fast.accept(socket, parse),
      )
      const port = await listen(server)
      const [near, far] = duplexPair()
      const tcp = connectTcp(port, '127.0.0.1')
      far.pipe(tcp, { end: false }).pipe(far)
      tcp.on('close', () => far.resume()).on('error', () => undefined)
      const client = connect({ socket: near, rejectUnauthorized: false, ALPNProtocols: [protocol] })
      client.on('end', () => client.end())
      const [socket] = await accepted
      tcp.cork()
      client.write(Buffer.concat(requests()))
      if (end) client.end()
      for (let round = 0; round < 10; round++) await turn()
      const read = () => (protocol === 'h2' ? readFrames(client) : readResponses(client))
      tcp.uncork()
      const count = () => engine.requests + fast.responses
      await waitFor(() => count() > 0)
      assert.ok(count() < 50, `${count()} were answered in one turn`)
      const pool = protocol === 'h2' ? engine.pool : fast.pool
      const dispose = () => {
        server.close()
        engine.pool.destroy()
        client.destroy()
        tcp.destroy()
      }
      return { socket, pool, count, read, client, [Symbol.dispose]: dispose }
    }

    test('are all answered in order after their client has closed its side', async () => {
      using sent = await start({ end: true })
      assert.deepEqual(await sent.read(), STATUSES)
    })

    test('are answered until the response that says that the service stops', async () => {
      using sent = await start()
      sent.pool.close()
      const statuses = await sent.read()
      assert.deepEqual(statuses, STATUSES.slice(0, statuses.length))
      assert.equal(statuses.length, sent.count())
    })

    test('are dropped when their connection is destroyed', async () => {
      using sent = await start()
      const { logged } = edge
      logged.length = 0
      sent.socket.destroy()
      const answered = sent.count()
      await once(sent.client.resume(), 'close')
      for (let round = 0; round < 10; round++) await turn()
      assert.deepEqual([sent.count(), logged], [answered, []])
    })
  })

describe("requests that need Node's parser", () => {
  const MANY = 90

  test('of one read begin over several turns, and their responses keep their order', async (t) => {
    const turns = new TurnCounter()
    const listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
    t.after(() => listener.drain(0))
    listener.serve({
      request: (request, response) => {
        turns.count()
        response.end(request.url)
      },
    })
    const paths = Array.from({ length: MANY }, (_, index) => `/${index}`)
    const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join('')
    const methods = paths.map(() => 'GET')
    const to = { port: listener.port, host: '127.0.0.1' }
    const { responses } = await sendRaw(to, [Buffer.from(requests)], { methods, count: MANY })
    assert.deepEqual(
      responses.map(({ body }) => `${body}`),
      paths,
    )
    turns.assertSpread(MANY)
  })

  test('begin when they arrive if each is the only one of its connection', async (t) => {
    const held: (() => void)[] = []
    const listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
    t.after(() => listener.drain(0))
    const { promise, resolve } = Promise.withResolvers<void>()
    listener.serve({
      request: (_request, response) => {
        held.push(() => response.end())
        if (held.length === MANY) resolve()
      },
    })
    const to = { port: listener.port, host: '127.0.0.1' }
    const request = [Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')]
    const later = t.mock.method(globalThis, 'setImmediate')
    const answers = Array.from({ length: MANY }, () => sendRaw(to, request, { methods: ['GET'], count: 1 }))
    await promise
    for (const end of held) end()
    await Promise.all(answers)
    assert.equal(later.mock.callCount(), 0)
  })

  test('never begin for a client that has disconnected', async (t) => {
    const begun: unknown[] = []
    const listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
    t.after(() => listener.drain(0))
    listener.serve({
      request: (request) => {
        begun.push(request.url)
        request.socket.destroy()
      },
    })
    const client = connectTcp(listener.port, '127.0.0.1')
    client.on('error', () => undefined)
    client.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20))
    await once(client, 'close')
    assert.ok(begun.length <= MAX_PER_TURN, `${begun.length} began`)
  })

  test('of one connection of HTTP/2 are relayed over several turns', async () => {
    const turns = new TurnCounter()
    await using fixture = await Http2Fixture.start()
    fixture.server.prependListener('connection', () => turns.count())
    const host = fixture.edge.host(await fixture.edge.publish({ 'index.html': 'home' }))
    const streams = Array.from({ length: MANY }, (_, index) => 2 * index + 1)
    const client = await fixture.open(...streams.map((stream) => getFrame(stream, host, '/"')))
    assert.deepEqual(
      await Promise.all(streams.map((stream) => client.status(stream))),
      streams.map(() => 404),
    )
    turns.assertSpread(MANY)
  })
})

/** The first of a connection, and those of two turns that follow each other, which the counter cannot tell apart. */
const MAX_PER_TURN = 17

class TurnCounter {
  readonly #counts: number[] = []
  #isNew = true

  count(): void {
    if (this.#isNew) {
      this.#counts.push(0)
      this.#isNew = false
      setImmediate(() => {
        this.#isNew = true
      })
    }
    this.#counts[this.#counts.length - 1]!++
  }

  assertSpread(total: number): void {
    const most = Math.max(...this.#counts)
    assert.ok(most <= MAX_PER_TURN, `${most} in one turn`)
    assert.equal(
      this.#counts.reduce((sum, count) => sum + count),
      total,
    )
  }
}

/** Each reading of the clock takes more than half of what connections may use of one turn. */
function stretchTime(t: TestContext): void {
  let now = performance.now()
  t.mock.method(performance, 'now', () => {
    now += 6
    return now
  })
}

/** The statuses until the connection ends; the last response announces the end, unless the client has. */
async function readResponses(client: TLSSocket): Promise<number[]> {
  const { writableEnded: isEnded } = client
  const responses: RawResponse[] = []
  const rest = parseResponses(await untilClosed(client), responses, { methods: [], ended: true })
  assert.equal(rest.length, 0)
  const announced = responses.findIndex((response) => findHeader(response, 'connection') === 'close')
  assert.equal(announced, isEnded ? -1 : responses.length - 1)
  return pluck(responses, 'status')
}

/** The same, for a client that acknowledges PING after its requests. */
async function readFrames(socket: TLSSocket): Promise<number[]> {
  const client = new RawClient(socket)
  client.onFrame = ({ type, flags, payload }) => {
    if (type === TYPE.ping && flags === 0)
      client.send(frame(TYPE.ping, FLAG.ack, 0, payload.toString('latin1')))
  }
  await client.closed
  const heads = client.received.filter(({ type }) => type === TYPE.headers)
  assert.deepEqual(
    pluck(heads, 'stream'),
    heads.map((_, index) => 2 * index + 1),
  )
  return Promise.all(heads.map(async ({ stream }) => (await client.status(stream))!))
}
