import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { WriteTransaction } from '../../server/store/store.ts'
import { waitFor } from '../support/wait-for.ts'
import { hello } from './build-client-hello.ts'
import { SecureService, SITES, UNKNOWN_NAME, untilClosed } from './secure-service.ts'

const NAME = 'www.example.test'

const CHALLENGE = { ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false }

/** The DER of the identifier id-pe-acmeIdentifier, marked as critical (RFC 8737, 3). */
const ACME_IDENTIFIER = Buffer.from('06082b0601050507011f0101ff', 'hex')

describe('a service with HTTPS', () => {
  let service: SecureService
  let slug: string
  /** Another process on the same store. */
  let other: SecureService
  before(async () => {
    service = await SecureService.start()
    slug = (await service.publish({ 'index.html': 'home' })).slug
    await service.addSecureDomain(NAME, slug)
    other = await SecureService.start({ DATA: service.running.data })
  })
  after(async () => {
    await other[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  test('an active domain has its certificate in any spelling of its name', async () => {
    for (const name of ['www.example.test', 'WWW.Example.TEST', 'www.example.test.'])
      assert.equal(await service.namesFor(name), 'DNS:www.example.test')
  })

  test('with certificates for single sites, a host has one exactly while its site exists', async () => {
    await using own = await SecureService.start({ SITE_CERTIFICATES: '5' })
    const site = await own.publish({ 'index.html': 'home' })
    const host = `${site.slug}.${SITES}`
    assert.equal(await own.namesFor(host), UNKNOWN_NAME)
    for (const name of [host, `unknown.${SITES}`, `${site.versionId}--${site.slug}.${SITES}`])
      await own.certify(name)
    assert.equal(await own.namesFor(host), `DNS:${host}`)
    assert.equal((await own.secure(host)).body.toString(), 'home')
    for (const name of [`unknown.${SITES}`, `${site.versionId}--${site.slug}.${SITES}`, SITES])
      assert.equal(await own.namesFor(name), UNKNOWN_NAME, name)
    const change = (work: (tx: WriteTransaction) => Promise<unknown>) => own.change([site.slug], work)
    await change((tx) => tx.sites.rename(site.slug, 'new-name', 1))
    assert.equal(await own.namesFor(host), `DNS:${host}`, 'it redirects')
    const location = async (from: string) => (await own.secure(from)).headers.location
    assert.equal(await location(host), `http://new-name.${SITES}/`, 'the new name has no certificate')
    assert.equal((await own.plain(host)).headers.location, `http://new-name.${SITES}/`)
    await own.certify(`new-name.${SITES}`)
    own.running.clock.now += 60_000
    await waitFor(async () => (await location(host)) === `https://new-name.${SITES}/`)
    assert.equal((await own.plain(host)).headers.location, `http://new-name.${SITES}/`)
    await change((tx) => tx.sites.endRedirects(1))
    assert.equal(await own.namesFor(host), UNKNOWN_NAME, 'its redirect has ended')
  })

  describe('a handshake is refused, without a write, for a name', () => {
    const refused: [why: string, name: string, prepare?: (name: string) => Promise<void>][] = [
      ['that was never added', 'unknown.test'],
      [
        'that is pending',
        'pending.test',
        async (name) => {
          await service.addDomain(name, slug, { status: 'pending' })
          await service.certify(name)
        },
      ],
      [
        'whose first certificate is being ordered',
        'ordered.test',
        async (name) => {
          await service.addDomain(name, slug)
          await service.certify(name, undefined, { chain: null, key: null })
        },
      ],
      [
        'that was deleted',
        'deleted.test',
        async (name) => {
          await service.addSecureDomain(name, slug)
          assert.equal(await service.namesFor(name), `DNS:${name}`)
          await service.change([name], async (tx) => {
            await tx.rows.remove('domains', { accountId: 'an-account', domain: name })
          })
        },
      ],
      [
        'that went back to pending',
        'failed.test',
        async (name) => {
          await service.addSecureDomain(name, slug)
          assert.equal(await service.namesFor(name), `DNS:${name}`)
          await service.change([name], (tx) =>
            tx.domains.update({ accountId: 'an-account', domain: name }, { status: 'pending' }),
          )
        },
      ],
      ['of a site while the site domain has no certificate', `any-site.${SITES}`],
    ]
    for (const [why, name, prepare] of refused) {
      test(why, async () => {
        await prepare?.(name)
        await assertNoEffect(name, async () => {
          for (let time = 0; time < 3; time++) assert.equal(await service.namesFor(name), UNKNOWN_NAME)
        })
      })
    }

    // Node's client does not send IP addresses as server names.
    test('that is an IP address', () =>
      assertNoEffect('192.0.2.7', async () => {
        const socket = await service.raw()
        socket.write(hello({ serverName: '192.0.2.7' }))
        const [alert] = (await once(socket, 'data')) as [Buffer]
        socket.destroy()
        assert.equal(alert[6], 112)
      }))

    /** Asserts that a handshake neither writes rows of the name nor logs. */
    async function assertNoEffect(name: string, connect: () => Promise<void>): Promise<void> {
      const rows = async () => [
        await service.store.read.certificates.find(name),
        await service.store.read.domains.bySite(slug),
      ]
      const [before, lines] = [await rows(), service.running.log.length]
      await connect()
      assert.deepEqual(await rows(), before)
      assert.ok(!service.running.log.slice(lines).some(({ message }) => message === 'TLS handshake failed'))
    }
  })

  test('a name is served as soon as it is active and has a certificate, by every process on the store', async () => {
    const name = 'new.test'
    await service.addDomain(name, slug)
    for (const one of [service, other]) assert.equal(await one.namesFor(name), UNKNOWN_NAME)
    await service.certify(name)
    assert.equal(await service.namesFor(name), 'DNS:new.test')
    // The other process gets the change through the store.
    await waitFor(async () => (await other.namesFor(name)) !== UNKNOWN_NAME)
    assert.equal((await other.secure(name)).body.toString(), 'home')
  })

  test('a renewed certificate is used from the next handshake on', async () => {
    await service.addSecureDomain('renewed.test', slug)
    const before = await serial()
    assert.equal(await serial(), before)
    await service.renew('renewed.test')
    assert.notEqual(await serial(), before)

    async function serial(): Promise<string> {
      const socket = await service.handshake('renewed.test')
      const { serialNumber } = socket.getPeerCertificate()
      socket.destroy()
      return serialNumber
    }
  })

  test('an invalid certificate is logged with its name, and does not affect other names', async () => {
    await service.addDomain('broken.test', slug)
    await service.certify('broken.test', undefined, { chain: 'no certificate' })
    assert.equal(await service.namesFor('broken.test'), 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')
    const line = service.running.log.findLast(({ message }) => message === 'TLS handshake failed')
    assert.equal(line?.name, 'broken.test')
    assert.equal(await service.namesFor(NAME), `DNS:${NAME}`)
  })

  test('a service with another secret logs why it cannot use its certificates', async () => {
    const { data } = service.running
    await using stranger = await SecureService.start({
      DATA: data,
      SECRET: 'another one, that is long enough',
    })
    assert.equal(await stranger.namesFor(NAME), UNKNOWN_NAME)
    const lines = stranger.running.log.filter(({ message }) => /SLIPWAY_SECRET differs/.test(String(message)))
    const reported = lines.map(({ level, name }) => [level, name])
    assert.deepEqual(reported, [['error', NAME]])
  })

  test('a CA gets the TLS-ALPN-01 proof, and visitors of the same name get their site', async () => {
    const proof = { type: 'tls-alpn-01', token: 'a-token', keyAuthorization: 'a-token.a-thumbprint' } as const
    for (const name of [NAME, 'challenged.test', `${slug}.sites.test`]) {
      assert.equal(await service.namesFor(name, CHALLENGE), UNKNOWN_NAME)
      await service.challenge({ ...proof, name })
      const socket = await service.handshake(name, CHALLENGE)
      assert.equal(socket.alpnProtocol, 'acme-tls/1')
      const certificate = new X509Certificate(socket.getPeerCertificate(true).raw)
      socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)
      const received = untilClosed(socket)
      assert.equal(certificate.subjectAltName, `DNS:${name}`)
      assert.ok(certificate.verify(certificate.publicKey))
      const hash = createHash('sha256').update(proof.keyAuthorization).digest()
      const at = certificate.raw.indexOf(ACME_IDENTIFIER) + ACME_IDENTIFIER.length
      assert.equal(certificate.raw.subarray(at, at + 36).toString('hex'), `04220420${hash.toString('hex')}`)
      // The server closes the connection after the handshake (RFC 8737, 3).
      assert.equal((await received).length, 0)
    }
    assert.equal((await service.secure(NAME)).body.toString(), 'home')
    assert.equal(await service.namesFor('challenged.test'), UNKNOWN_NAME)
    service.running.clock.now += 1000
    const later = { ...proof, token: 'a-later-token', keyAuthorization: 'a-later-token.a-thumbprint' }
    await service.challenge({ ...later, name: NAME })
    const hash = createHash('sha256').update(later.keyAuthorization).digest()
    await waitFor(async () => {
      const socket = await service.handshake(NAME, CHALLENGE)
      const { raw } = socket.getPeerCertificate(true)
      socket.destroy()
      return raw.includes(hash)
    })
    service.running.clock.now += 600_000
    assert.equal(await service.namesFor(NAME, CHALLENGE), UNKNOWN_NAME)
  })

  // biome-ignore format: one row per case
  const cases: [string, ConnectionOptions, string][] = [
  ['TLS 1.3 by default', {}, 'TLSv1.3 -'],
  ['TLS 1.2', { maxVersion: 'TLSv1.2' }, 'TLSv1.2 -'],
  ['HTTP/1.1', { ALPNProtocols: ['http/1.1'] }, 'TLSv1.3 http/1.1'],
  ['HTTP/2 rather than HTTP/1.1', { ALPNProtocols: ['http/1.1', 'h2'] }, 'TLSv1.3 h2'],
  ['a known protocol beside an unknown one', { ALPNProtocols: ['spdy/3', 'http/1.1'] }, 'TLSv1.3 http/1.1'],
  ['no unknown protocol', { ALPNProtocols: ['spdy/3'] }, 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'],
  ['not TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
]
  for (const [what, options, expected] of cases)
    test(`the negotiated protocol: ${what}`, async () => {
      assert.equal(
        await connect(service, options, (socket) => `${socket.getProtocol()} ${socket.alpnProtocol || '-'}`),
        expected,
      )
    })

  test('a client gets HTTP/1.1 when HTTP/2 is off', async () => {
    await using without = await SecureService.start({ HTTP2: 'off', DATA: service.running.data })
    const options = { ALPNProtocols: ['h2', 'http/1.1'] }
    assert.equal(await connect(without, options, ({ alpnProtocol }) => alpnProtocol), 'http/1.1')
  })

  describe('ciphers of TLS 1.2:', () => {
    const ours = [
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'ECDHE-ECDSA-CHACHA20-POLY1305',
    ]
    const chosen = (ciphers: string) =>
      connect(
        service,
        { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` },
        (socket) => socket.getCipher().name,
      )
    for (const cipher of ours)
      test(`${cipher} is supported`, async () => assert.equal(await chosen(cipher), cipher))
    for (const cipher of [
      'ECDHE-ECDSA-AES128-SHA256',
      'ECDHE-ECDSA-AES128-CCM',
      'AES128-GCM-SHA256',
      'DHE-RSA-AES128-GCM-SHA256',
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
})

/** What `describe` returns for the connection, or OpenSSL's error code. */
async function connect<T>(
  service: SecureService,
  options: ConnectionOptions,
  describe: (socket: TLSSocket) => T,
): Promise<T | string> {
  try {
    const socket = await service.handshake(NAME, options)
    const described = describe(socket)
    socket.destroy()
    return described
  } catch (error) {
    return (error as NodeJS.ErrnoException).code!
  }
}
