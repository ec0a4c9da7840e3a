import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import type { HttpRequest } from '../../client/sdk/transport.ts'

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

  /** Sends a request over the connection of another one before. Returns how many the server has received. */
  async sendOverKept(request: Pick<HttpRequest, 'method' | 'body'>) {
    this.requests = 0
    const { port } = this.#server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/`
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
