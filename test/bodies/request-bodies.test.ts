import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import Fastify from 'fastify'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { TransferRates } from '../../packages/http-server/clients/transfer-rates.ts'
import { RequestMessage } from '../../packages/http-server/request-message.ts'
import { accountBodies, reserveBody } from '../../server/api/bodies.ts'
import { startApi } from '../api/api.ts'
import {
  type BodyRequest,
  bodyRequests,
  chunked,
  firstResponse,
  formatHead,
  LAST_CHUNK,
  send,
} from './body-routes.ts'

const api = await startApi()

describe('a body in small chunks', () => {
  test('is read like any other', async () => {
    for (const size of [1, 40]) {
      for (const request of await bodyRequests(api)) {
        // A body with more chunks is refused.
        const bytes = Math.max(size, Math.ceil(request.body.length / 10_000))
        const socket = await send(api.port, formatHead(request), chunked(request.body, bytes), LAST_CHUNK)
        const answer = await firstResponse(socket)
        socket.destroy()
        assert.match(answer, new RegExp(`^HTTP/1.1 ${request.status} `), `${request.name}: ${answer}`)
      }
    }
  })

  test('of one byte each is refused and its connection closed above the limit of chunks', async () => {
    for (const request of await bodyRequests(api)) {
      const socket = await send(api.port, formatHead(request), chunked(Buffer.alloc(20_000, ' '), 1))
      const answer = await firstResponse(socket)
      assert.match(answer, /^(HTTP\/1.1 4\d\d |$)/, `${request.name}: ${answer}`)
      if (!socket.closed) await new Promise((resolve) => socket.resume().once('close', resolve))
    }
  })
})

test('a client that sends no body or half of it gets a 408 after 30 seconds, and its connection is closed', async () => {
  // A second upload of a file would abort the first, so that each case has files of its own.
  const [silent, stopped] = [await bodyRequests(api), await bodyRequests(api)]
  using _ = clockAtSpeed(100)
  const respond = async (request: BodyRequest, sent: string | Buffer) => {
    const socket = await send(api.port, formatHead(request), sent)
    const answer = await firstResponse(socket)
    assert.match(answer, /^HTTP\/1.1 408 .*\r\nConnection: close\r\n/is, `${request.name}: ${answer}`)
    assert.match(answer, /"code":"REQUEST_TIMEOUT"/, request.name)
    if (!socket.closed) await once(socket.resume(), 'close')
  }
  await Promise.all([
    ...silent.map((request) => respond(request, '')),
    ...stopped.map((request) =>
      respond(request, chunked(request.body.subarray(0, request.body.length / 2), 1000)),
    ),
  ])
})

/** Makes the clock of the service run faster until dispose. */
function clockAtSpeed(factor: number): Disposable {
  const timer = setInterval(() => api.pass(10 * factor), 10)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Requests outside of the API that match no route or need a key, and their responses. */
const refusals: [method: string, target: string, status: number, allow: string | undefined][] = [
  ['POST', '/stuff', 404, undefined],
  ['PUT', '/stuff', 401, undefined],
  ['DELETE', '/stuff', 404, undefined],
  ['PROPFIND', '/stuff', 404, undefined],
  ['QUERY', '/stuff', 404, undefined],
  ['POST', '/api', 405, 'GET, HEAD'],
  ['POST', '/faviconXsvg', 404, undefined],
  ['POST', '/', 405, 'GET, HEAD, PUT, OPTIONS'],
  ['DELETE', '/docs', 405, 'GET, HEAD'],
  ['PATCH', '/favicon.svg', 405, 'GET, HEAD'],
  ['POST', '/health?x', 405, 'GET, HEAD'],
  ['POST', '/assets/a.js', 405, 'GET, HEAD'],
  ['PUT', '/_reports/csp', 405, 'POST'],
  ['OPTIONS', '/', 204, 'GET, HEAD, PUT, OPTIONS'],
  ['OPTIONS', '/site.zip', 204, 'PUT'],
  ['OPTIONS', '/health', 204, 'GET, HEAD'],
  ['OPTIONS', '/assets/a.js', 405, 'GET, HEAD'],
]

test('a request that cannot succeed is answered before its body arrives', async () => {
  for (const [method, target, status, allow] of refusals) {
    for (const type of ['application/json', 'text/plain']) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n`
      const socket = await send(api.port, `${head}Content-Length: 2000000\r\n\r\n{`)
      const answer = await firstResponse(socket)
      socket.destroy()
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), `${method} ${target}`)
      assert.equal(/^allow: (.*)\r$/im.exec(answer)?.[1], allow, `${method} ${target}`)
    }
  }
})

test('invalid requests are never logged as errors of the service', async () => {
  const bodies = ['', '{bad', '{"__proto__":{}}', '"\ud800"']
  const types = ['application/json', 'application/json; charset=x', 'text/plain', '']
  const targets = ['/stuff', '/', '/docs', '/_reports/csp', '/api/v1/publish', '/api/v1/publish/x/finalize']
  for (const target of targets) {
    for (const method of ['POST', 'DELETE', 'QUERY']) {
      for (const body of bodies) {
        const answers = types.map(async (type) => {
          const head = formatHead({ method, target, type })
          const socket = await send(api.port, head, chunked(Buffer.from(body), 100), LAST_CHUNK)
          const answer = await firstResponse(socket)
          socket.destroy()
          assert.match(answer, /^HTTP\/1.1 [24]\d\d /, `${method} ${target} ${type} ${body}`)
        })
        await Promise.all(answers)
      }
    }
  }
  const errors = api.running.log.filter(({ level }) => level === 'error')
  assert.deepEqual(errors, [])
})

for (const hook of ['onRequest', 'preValidation'] as const) {
  test(`a client that disconnects releases the memory reserved for its body during ${hook}`, async () => {
    const clientMemory = new ClientMemory({ totalBytes: 1000, perNetworkBytes: 1000 })
    const app = Fastify({ http: { IncomingMessage: RequestMessage } })
    const transferRates = new TransferRates({ clock: () => 0 })
    const reserved = Promise.withResolvers<void>()
    accountBodies(app, { clientMemory, transferRates, clientIp: () => '192.0.2.1' })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', async () => undefined)
    app.addHook(hook, async (_request, reply) => {
      client.destroy()
      if (!reply.raw.closed) await once(reply.raw, 'close')
    })
    app.post('/', async (request) => {
      try {
        reserveBody(request, 1000)
      } finally {
        reserved.resolve()
      }
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const client = await send(
      port,
      formatHead({ method: 'POST', target: '/', type: 'text/plain' }),
      chunked(Buffer.from('a'), 1),
    )
    await reserved.promise
    await app.close()
    assert.equal(clientMemory.heldBytes, 0)
  })
}
