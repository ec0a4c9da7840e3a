import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe, mock, test } from 'node:test'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { Connections } from '../../packages/http-server/clients/connections.ts'
import type { HttpHandler } from '../../packages/http-server/http-handler.ts'
import { Http1FastPath } from '../../packages/http-server/http1/fast-path.ts'
import { handleNodeRequest } from '../../packages/http-server/http1/node-handler.ts'
import { Listener } from '../../packages/http-server/listener.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { makeLog } from '../../server/lib/log.ts'
import { EdgeFixture, noise } from '../edge/fixture.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { PATIENT } from '../support/patient.ts'
import { waitFor } from '../support/wait-for.ts'

const KIB = 1024
const MIB = 2 ** 20
const BIG = noise(2 * MIB)
const WHOLE = noise(200 * KIB)
const SECOND = 1000

const certificate = await selfSigned('sites.test')

const edge = await EdgeFixture.start()
after(() => edge[Symbol.asyncDispose]())
const host = edge.host(await edge.publish({ 'big.bin': BIG, 'whole.bin': WHOLE }))

/** Responds with other bytes than those for which it takes memory. */
const leakMemory: HttpHandler['openBody'] = async (_request, _result, memory) => {
  assert.ok(memory!.resize(100_000))
  return {
    response: { status: 200, headers: ['Content-Length', `${WHOLE.length}`], body: WHOLE },
    body: WHOLE,
  }
}

/** Unix sockets have small buffers, unlike loopback TCP. */
const WAYS = [
  { way: 'the fast path', hasFastPath: true, encrypted: false },
  { way: "Node's parser", hasFastPath: false, encrypted: false },
  { way: 'the fast path over TLS', hasFastPath: true, encrypted: true },
]

for (const [index, { way, hasFastPath, encrypted }] of WAYS.entries()) {
  describe(`slow readers on ${way}`, () => {
    const open: Socket[] = []
    let memory: ClientMemory
    let connections: Connections
    let listener: Listener
    let path: string
    let disposal: AsyncDisposableStack
    let accepted: (socket: Socket) => void

    beforeEach(async () => {
      mock.timers.enable({ apis: ['setInterval'] })
      disposal = new AsyncDisposableStack()
      memory = new ClientMemory({ totalBytes: 4 * MIB, perNetworkBytes: MIB })
      const log = makeLog({ level: 'silent', text: false, write: () => undefined })
      connections = disposal.use(new Connections({ memory, perNetwork: 1000, log }))
      listener = await Listener.open('127.0.0.1', 0, { deadlines: PATIENT })
      disposal.defer(() => listener.drain(0))
      const clock = () => edge.clock.now
      listener.serve({
        request: (request, response) => handleNodeRequest(edge.edge, request, response),
        fastPath: hasFastPath
          ? new Http1FastPath({ handler: edge.edge, clock, budget: new MemoryBudget(MIB) })
          : undefined,
      })
      path = join(edge.folder, `slow-${index}.sock`)
      const server = createServer((raw) => accepted(raw)).listen(path)
      await once(server, 'listening')
      disposal.defer(() => void server.close())
    })
    afterEach(async () => {
      for (const socket of open.splice(0)) socket.destroy()
      await disposal.disposeAsync()
      mock.timers.reset()
    })

    /** A client at this address that requests a file, a small one several times, and reads nothing. */
    async function reader(address: string, file: string): Promise<{ socket: Socket; ours: Socket }> {
      const taken = Promise.withResolvers<Socket>()
      accepted = (raw) => {
        const secureContext = createSecureContext(certificate)
        const ours = encrypted ? new TLSSocket(raw, { isServer: true, secureContext }) : raw
        Object.defineProperty(ours, 'remoteAddress', { value: address })
        ours.on('error', () => undefined)
        const begin = () => {
          connections.watch(ours)
          listener.accept(ours)
          taken.resolve(ours)
        }
        if (encrypted) ours.once('secure', begin)
        else begin()
      }
      const raw = connect(path)
      const socket = encrypted ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw
      open.push(raw, socket)
      socket.on('error', () => undefined)
      await once(socket, encrypted ? 'secureConnect' : 'connect')
      socket.pause()
      const request = `GET /${file} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
      socket.write(file === 'big.bin' ? request : request.repeat(5))
      const ours = await taken.promise
      open.push(ours)
      return { socket, ours }
    }

    /** Reads until `bytes` are received. */
    async function take(socket: Socket, bytes: number): Promise<Buffer> {
      const parts: Buffer[] = []
      let received = 0
      await waitFor(() => {
        for (let part = socket.read(); part; part = socket.read()) {
          parts.push(part)
          received += part.length
        }
        return received >= bytes
      })
      return Buffer.concat(parts)
    }

    for (const file of ['big.bin', 'whole.bin']) {
      test(`that exhaust the memory share of an address with ${file} do not affect other addresses`, async () => {
        const slow: Socket[] = []
        for (let count = 0; count < 16; count++) {
          const { ours } = await reader('192.0.2.1', file)
          slow.push(ours)
          await waitFor(() => ours.writableLength > 0 || ours.destroyed)
          mock.timers.tick(SECOND)
          assert.ok(memory.heldBytes <= MIB, `${memory.heldBytes} bytes are held`)
        }
        assert.ok(memory.heldBytes > MIB / 2, `${memory.heldBytes} bytes are accounted for`)
        const left = slow.filter((socket) => !socket.destroyed)
        assert.ok(left.length > 0 && left.length < slow.length, `${left.length} of ${slow.length} are left`)
        assert.equal(left.at(-1), slow.at(-1), 'the newest gave way')
        const { socket } = await reader('198.51.100.7', 'big.bin')
        const answer = await take(socket, BIG.length + 100)
        assert.ok(answer.subarray(-BIG.length).equals(BIG))
      })
    }

    test('that read less than 1 KiB a second for a minute are disconnected, others are not', async () => {
      const stuck = await reader('192.0.2.1', 'big.bin')
      const small = await reader('192.0.2.2', 'whole.bin')
      const steady = await reader('192.0.2.3', 'big.bin')
      const stopped = await reader('192.0.2.4', 'big.bin')
      for (const { ours } of [stuck, small, steady, stopped]) await waitFor(() => ours.writableLength > 0)
      for (let minute = 0; minute < 3; minute++) {
        for (let second = 0; second < 60; second++) mock.timers.tick(SECOND)
        if (minute === 0) assert.ok(!stuck.ours.destroyed, 'cut before a minute was over')
        await take(steady.socket, 256 * KIB)
        if (minute === 0) await take(stopped.socket, 256 * KIB)
      }
      const areDestroyed = [stuck, small, steady, stopped].map(({ ours }) => ours.destroyed)
      assert.deepEqual(areDestroyed, [true, true, false, true])
      assert.equal(connections.closed.tooSlow, 3)
    })

    test('hold little memory, and none after they disconnect', async () => {
      const { socket, ours } = await reader('192.0.2.1', 'big.bin')
      await waitFor(() => ours.writableLength > 0 && memory.heldBytes > 0)
      assert.ok(memory.heldBytes <= 640 * KIB, `${memory.heldBytes} bytes are held`)
      socket.destroy()
      await waitFor(() => ours.destroyed && memory.heldBytes === 0)
    })

    test('hold nothing for a body whose response has ended, even if its memory was not released', async (t) => {
      t.mock.method(edge.edge, 'openBody', leakMemory)
      const { socket } = await reader('192.0.2.1', 'big.bin')
      await take(socket, WHOLE.length)
      await waitFor(() => memory.heldBytes === 0)
      assert.equal(socket.destroyed, false)
    })
  })
}
