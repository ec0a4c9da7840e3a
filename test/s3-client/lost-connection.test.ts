import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { HangWatch } from '../../packages/s3-client/hang-watch.ts'
import { HttpExchanges } from '../../packages/s3-client/http-exchange.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'

const CHUNK = Buffer.alloc(600_000)

test('an upload fails whose connection was lost while it waited for its client', async () => {
  const server = createServer()
  server.on('checkContinue', (incoming, response) => {
    response.writeContinue()
    incoming.once('data', () => incoming.socket.resetAndDestroy())
  })
  const port = await listen(server)
  const exchanges = new HttpExchanges({
    endpoint: new URL(`http://127.0.0.1:${port}`),
    timeoutMs: PATIENT.blobs.request,
    exchangeMs: PATIENT.blobs.exchange,
    hangs: new HangWatch({ hangMs: PATIENT.blobs.hang, probe: async () => {} }),
  })
  const headers = { 'content-length': `${3 * CHUNK.length}` }
  const upload = await exchanges.open({ method: 'PUT', path: '/object', headers }, () => new Error('refused'))
  async function* content(): AsyncGenerator<Buffer> {
    yield CHUNK
    await assert.rejects(upload.response)
    yield CHUNK
    yield CHUNK
  }
  await assert.rejects(upload.send(content()), { code: /ECONNRESET|EPIPE/ })
  server.close()
  await once(server, 'close')
})
