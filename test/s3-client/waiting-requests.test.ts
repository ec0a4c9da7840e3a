import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { S3QueueFullError, S3TimeoutError } from '../../packages/s3-client/errors.ts'
import { HangWatch } from '../../packages/s3-client/hang-watch.ts'
import { HttpExchanges } from '../../packages/s3-client/http-exchange.ts'
import { listen } from '../support/listen.ts'
import { PATIENT } from '../support/patient.ts'

const REQUESTS = 5000
const MAX_PENDING = 4096

test('requests that wait for a silent server are bounded, and their deadline includes the wait for a connection', async () => {
  let received = 0
  const server = createServer(() => {
    received++
  })
  const port = await listen(server)
  const exchanges = new HttpExchanges({
    endpoint: new URL(`http://127.0.0.1:${port}`),
    timeoutMs: 100,
    exchangeMs: 600,
    hangs: new HangWatch({ hangMs: PATIENT.blobs.hang, probe: async () => {} }),
  })
  const send = () => exchanges.send({ method: 'GET', path: '/', headers: {} }, [])
  const results = await Promise.allSettled(Array.from({ length: REQUESTS }, send))
  const errors = results.map((result) => result.status === 'rejected' && result.reason)
  assert.equal(errors.filter((error) => error instanceof S3QueueFullError).length, REQUESTS - MAX_PENDING)
  assert.equal(errors.filter((error) => error instanceof S3TimeoutError).length, MAX_PENDING)
  assert.ok(received < MAX_PENDING / 2, `the server has received ${received} requests`)
  await assert.rejects(send(), S3TimeoutError, 'further requests are accepted')
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})
