import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { SecureService } from './secure-service.ts'

const NAME = 'www.example.test'

let service: SecureService
before(async () => {
  service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addSecureDomain(NAME, slug)
})
after(() => service[Symbol.asyncDispose]())

describe('the negotiated protocol:', () => {
  // biome-ignore format: one row per case
  const cases: [string, ConnectionOptions, string][] = [
    ['TLS 1.3 by default', {}, 'TLSv1.3 -'],
    ['TLS 1.2', { maxVersion: 'TLSv1.2' }, 'TLSv1.2 -'],
    ['TLS 1.3', { minVersion: 'TLSv1.3' }, 'TLSv1.3 -'],
    ['HTTP/2', { ALPNProtocols: ['h2'] }, 'TLSv1.3 h2'],
    ['HTTP/1.1', { ALPNProtocols: ['http/1.1'] }, 'TLSv1.3 http/1.1'],
    ['HTTP/2 rather than HTTP/1.1', { ALPNProtocols: ['http/1.1', 'h2'] }, 'TLSv1.3 h2'],
    ['a known protocol beside an unknown one', { ALPNProtocols: ['spdy/3', 'http/1.1'] }, 'TLSv1.3 http/1.1'],
    ['no unknown protocol', { ALPNProtocols: ['spdy/3'] }, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
    ['not TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
    ['not TLS 1.0', { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' }, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  ]
  for (const [what, options, expected] of cases) {
    test(what, async () => {
      const negotiated = await service.handshake(NAME, options).then(
        (socket) => {
          const protocols = `${socket.getProtocol()} ${socket.alpnProtocol || '-'}`
          socket.destroy()
          return protocols
        },
        (error) => error.code,
      )
      assert.equal(negotiated, expected)
    })
  }
})

test('a client gets HTTP/1.1 when HTTP/2 is off', async () => {
  await using without = await SecureService.start({ HTTP2: 'off' })
  const { slug } = await without.publish({ 'index.html': 'home' })
  await without.addSecureDomain(NAME, slug)
  const socket = await without.handshake(NAME, { ALPNProtocols: ['h2', 'http/1.1'] })
  assert.equal(socket.alpnProtocol, 'http/1.1')
  socket.destroy()
})

describe('ciphers of TLS 1.2:', () => {
  const ours = [
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ]
  const chosen = async (ciphers: string) =>
    service.handshake(NAME, { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }).then(
      (socket) => {
        const { name } = socket.getCipher()
        socket.destroy()
        return name
      },
      (error) => error.code,
    )
  for (const cipher of ours)
    test(`${cipher} is supported`, async () => assert.equal(await chosen(cipher), cipher))
  for (const cipher of [
    'ECDHE-ECDSA-AES128-SHA',
    'ECDHE-ECDSA-AES128-SHA256',
    'ECDHE-ECDSA-AES256-SHA384',
    'ECDHE-ECDSA-AES128-CCM',
    'AES128-GCM-SHA256',
    'DHE-RSA-AES128-GCM-SHA256',
    'AES128-SHA',
  ])
    test(`${cipher} is not supported`, async () =>
      assert.match(await chosen(cipher), /ALERT_HANDSHAKE_FAILURE$/))
  test('the server chooses', async () => {
    assert.equal(await chosen(ours.toReversed().join(':')), ours[0])
  })
})

test('renegotiation is refused', async () => {
  const socket = await service.handshake(NAME, { maxVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] })
  const refused = await new Promise<Error | null>((resolve) => {
    socket.on('error', resolve)
    socket.renegotiate({ rejectUnauthorized: false }, resolve)
    socket.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`)
  })
  assert.match(String(refused), /no renegotiation/)
  socket.destroy()
  assert.equal((await service.secure(NAME)).status, 200)
})
