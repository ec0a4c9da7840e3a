import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import Fastify from 'fastify'
import { accountBodies, reserveBody } from '../../server/api/bodies.ts'
import { ClientMemory } from '../../server/lib/client-memory.ts'
import { TransferRates } from '../../server/lib/transfer-rates.ts'
import { RequestMessage } from '../../server/net/request-message.ts'
import { formatHead, send } from './body-routes.ts'

describe('a client that disconnects releases the memory reserved for its body', () => {
  for (const hook of ['onRequest', 'preValidation'] as const) {
    test(`during ${hook}`, { timeout: 10_000 }, async () => {
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
        '1\r\na\r\n',
      )
      await reserved.promise
      await app.close()
      assert.equal(clientMemory.heldBytes, 0)
    })
  }
})
