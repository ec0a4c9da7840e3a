import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { SecureService, UNKNOWN_NAME } from './secure-service.ts'

const NAME = 'www.example.test'
const CHALLENGE = { ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false }

/** The DER of the identifier id-pe-acmeIdentifier, marked as critical (RFC 8737, 3). */
const ACME_IDENTIFIER = Buffer.from('06082b0601050507011f0101ff', 'hex')

test('a CA gets the TLS-ALPN-01 proof, and visitors of the same name get their site', async () => {
  await using service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addSecureDomain(NAME, slug)
  const proof = { type: 'tls-alpn-01', token: 'a-token', keyAuthorization: 'a-token.a-thumbprint' } as const
  for (const name of [NAME, 'new.test', `${slug}.sites.test`]) {
    assert.equal(await service.namesFor(name, CHALLENGE), UNKNOWN_NAME)
    await service.challenge({ ...proof, name })
    const socket = await service.handshake(name, CHALLENGE)
    assert.equal(socket.alpnProtocol, 'acme-tls/1')
    const certificate = new X509Certificate(socket.getPeerCertificate(true).raw)
    const ended = once(socket.resume(), 'close')
    assert.equal(certificate.subjectAltName, `DNS:${name}`)
    assert.ok(certificate.verify(certificate.publicKey))
    const hash = createHash('sha256').update(proof.keyAuthorization).digest()
    const at = certificate.raw.indexOf(ACME_IDENTIFIER) + ACME_IDENTIFIER.length
    assert.equal(certificate.raw.subarray(at, at + 36).toString('hex'), `04220420${hash.toString('hex')}`)
    // The server closes the connection after the handshake (RFC 8737, 3).
    await ended
  }
  assert.equal((await service.secure(NAME)).body.toString(), 'home')
  assert.equal(await service.namesFor('new.test'), UNKNOWN_NAME)
  service.running.clock.now += 600_000
  assert.equal(await service.namesFor(NAME, CHALLENGE), UNKNOWN_NAME)
})

test('a challenge certificate is created once per proof', async () => {
  await using service = await SecureService.start()
  const proof = { type: 'tls-alpn-01', name: NAME, token: 'a', keyAuthorization: 'a.b' } as const
  const getRawCertificate = async () => {
    const socket = await service.handshake(NAME, CHALLENGE)
    const { raw } = socket.getPeerCertificate(true)
    socket.destroy()
    return raw.toString('hex')
  }
  await service.challenge(proof)
  const all = await Promise.all([getRawCertificate(), getRawCertificate(), getRawCertificate()])
  assert.equal(new Set([...all, await getRawCertificate()]).size, 1)
  await service.challenge({ ...proof, keyAuthorization: 'a.c' })
  assert.ok(!all.includes(await getRawCertificate()))
})

test('every process on the store serves the challenges of the others', async () => {
  await using service = await SecureService.start()
  await using other = await SecureService.start({ DATA: service.running.data })
  await service.challenge({ type: 'tls-alpn-01', name: NAME, token: 'a', keyAuthorization: 'a.b' })
  assert.equal(await other.namesFor(NAME, CHALLENGE), `DNS:${NAME}`)
})
