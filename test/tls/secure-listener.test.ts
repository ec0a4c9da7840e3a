import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createSecureContext } from 'node:tls'
import { makeLog } from '../../server/lib/log.ts'
import { readIntoSharedBuffer } from '../../server/net/shared-buffer-read.ts'
import { SecureListener } from '../../server/net/tls/secure-listener.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { handshake } from './secure-service.ts'

const NAME = 'www.example.test'

test('connections made before the service is ready wait for it, and may disconnect', async () => {
  const certificate = await selfSigned(NAME)
  const listener = await SecureListener.open('127.0.0.1', 0)
  const disconnected = connect(listener.port, '127.0.0.1')
  await once(disconnected, 'connect')
  const early = handshake(listener.port, { servername: NAME, ca: certificate.cert, ALPNProtocols: ['h2'] })
  for (let round = 0; round < 100; round++) await turn()
  disconnected.resetAndDestroy()
  for (let round = 0; round < 100; round++) await turn()
  const choice = { context: createSecureContext(certificate), protocols: ['h2', 'http/1.1'] }
  listener.serve(
    {
      select: () => choice,
      http1: (socket) => void socket.end('one'),
      http2: (socket) => void socket.end('two'),
      read: readIntoSharedBuffer,
    },
    makeLog({ level: 'silent', text: false, write: () => undefined }),
  )
  const socket = await early
  const [data] = await once(socket, 'data')
  assert.equal(String(data), 'two')
  socket.end()
  await listener.drain(60)
})
