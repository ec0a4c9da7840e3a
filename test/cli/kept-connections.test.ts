import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import { Agent } from 'node:http'
import net, { type AddressInfo, connect, createServer, type TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import type { HttpRequest } from '../../client/sdk/transport.ts'
import { HOUR_MS, SECOND_MS } from '../../server/lib/time.ts'
import { requires } from '../tools/part.ts'

test('a request that a stopping server closes with its idle connection is sent again when it has one effect', async () => {
  await using server = await ClosingServer.listen()
  for (const request of [{ method: 'GET' }, { method: 'PUT', body: '{"files":[]}' }])
    assert.deepEqual(await server.sendOverKept(request), { status: 200, requests: 3 }, request.method)
})

test('a request that may have two effects, and one over a new connection, is not sent again', async () => {
  await using server = await ClosingServer.listen()
  await assert.rejects(server.sendOverKept({ method: 'POST', body: '{}' }), { code: 'ECONNRESET' })
  assert.equal(server.requests, 2)
  server.kept = 0
  await assert.rejects(server.sendOverKept({ method: 'GET' }), { code: 'ECONNRESET' })
  assert.equal(server.requests, 1)
})

test('a server that does not open a connection is given up before one that is idle', async () => {
  using silent = createSilentServer()
  await once(silent.server, 'listening')
  const { port } = silent.server.address() as AddressInfo
  const transport = nodeTransport({ openMs: 50 })
  const opening = transport.send({ method: 'GET', url: `https://127.0.0.1:${port}/`, headers: {} })
  await assert.rejects(opening, /it was not accepted in time/)
  transport.close()
})

test('a distant host is reached although its other address is not', requires('archivers'), async (t) => {
  const child = spawn('python3', ['-c', FULL_SERVER], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const [port] = await once(child.stdout, 'data')
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  t.mock.method(dns, 'lookup', (_host: string, _options: object, found: (...args: unknown[]) => void) => {
    found(null, addresses)
    // Its system has ignored the first packet, and the next one is sent a second later.
    child.stdin.end()
  })
  const limits: number[] = []
  t.mock.method(Agent.prototype, 'createConnection', (options: TcpNetConnectOpts) => {
    limits.push(options.autoSelectFamilyAttemptTimeout!)
    // However slow this machine is.
    return connect({ ...options, autoSelectFamilyAttemptTimeout: HOUR_MS })
  })
  const transport = nodeTransport()
  const url = `http://distant.test:${Number(port)}/`
  const { status } = await transport.send({ method: 'GET', url, headers: {} })
  assert.equal(status, 204)
  assert.ok(limits.length === 1 && limits[0]! > SECOND_MS, `${limits}`)
  transport.close()
})

/** A server that has as many connections as wait for it at most, until its input ends. */
const FULL_SERVER = `
import socket, sys
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(0)
waiting = socket.create_connection(server.getsockname())
print(server.getsockname()[1], flush=True)
sys.stdin.read()
waiting.close()
while True:
  connection, _ = server.accept()
  if connection.recv(65536):
    connection.sendall(b'HTTP/1.1 204 No Content\\r\\n\\r\\n')
`

test('an error about several addresses names what happened at each', async () => {
  const errors = [
    new Error('connect ETIMEDOUT 192.0.2.1:443'),
    new Error('connect ENETUNREACH 2001:db8::1:443'),
  ]
  const send = () => Promise.reject(Object.assign(new AggregateError(errors, ''), { code: 'ETIMEDOUT' }))
  const slipway = new Slipway({ baseUrl: 'https://distant.test', send })
  await assert.rejects(slipway.limits(), {
    code: 'NETWORK',
    message: `The connection to https://distant.test failed: ${errors.map(({ message }) => message).join(', ')}`,
  })
})

/** Accepts connections, and sends nothing. */
function createSilentServer(): Disposable & { server: net.Server } {
  const sockets = new Set<net.Socket>()
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1')
  return {
    server,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Answers the first request of each connection, and closes the connection at the second one. */
class ClosingServer implements AsyncDisposable {
  requests = 0
  /** Requests that a connection answers. */
  kept = 1
  readonly #server = createServer((socket) => {
    let answered = 0
    socket.on('error', () => undefined)
    socket.on('data', () => {
      this.requests++
      if (answered++ === this.kept) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
  })

  static async listen(): Promise<ClosingServer> {
    const server = new ClosingServer()
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Sends a request over the connection of another one before. Returns how many the server has received. */
  async sendOverKept(request: Pick<HttpRequest, 'method' | 'body'>) {
    this.requests = 0
    const url = `http://127.0.0.1:${this.port}/`
    const transport = nodeTransport({ maxSockets: 1 })
    try {
      await (await transport.send({ method: 'GET', url, headers: {} })).text()
      const response = await transport.send({ ...request, url, headers: {} })
      await response.text()
      return { status: response.status, requests: this.requests }
    } finally {
      transport.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }
}
