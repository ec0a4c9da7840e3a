import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { ConfigError } from '../../server/config/settings.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { FOREVER } from '../certificates/issuer.ts'
import { scrape } from '../operator/scrape.ts'
import { BASE, issuer, SecureService, SITES, UNKNOWN_NAME } from './secure-service.ts'

/** Certificates have whole seconds. */
const NOW = Math.floor(Date.now() / 1000) * 1000

const NAMES = [`*.${SITES}`, BASE]

/** What a copy that was interrupted leaves of an intermediate certificate. */
const TRUNCATED = issuer.root.slice(0, 300)

const isWarning = (line: Record<string, unknown>) => line.message === 'certificate file lacks a name'

describe('the certificate files of the operator', () => {
  let folder: string
  let certFile: string
  let keyFile: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'slipway-certificate-'))
    certFile = join(folder, 'chain.pem')
    keyFile = join(folder, 'key.pem')
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function put(names: readonly string[] = NAMES, life = FOREVER): Promise<void> {
    const { chain, key } = await issuer.issueWithKey({ ...life, names })
    await writeFile(certFile, chain)
    await writeFile(keyFile, key)
  }

  const start = (settings: Record<string, string> = {}) =>
    SecureService.start({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, ...settings })

  const SITE_NAMES = `DNS:*.${SITES}, DNS:${BASE}`

  test('the certificate files are used for sites, versions and the service from the first request on, and sites order no others', async () => {
    await put()
    await using service = await start()
    const { slug, versionId } = await service.publish({ 'index.html': 'home' })
    const hosts = [`${slug}.${SITES}`, `${versionId}--${slug}.${SITES}`]
    for (const host of hosts) {
      assert.equal((await service.plain(host)).headers.location, `https://${host}/`)
      assert.equal(await service.namesFor(host), SITE_NAMES)
      assert.equal((await service.secure(host)).body.toString(), 'home')
    }
    assert.equal(await service.namesFor(BASE), SITE_NAMES)
    assert.equal((await service.plain(BASE, '/a')).headers.location, `https://${BASE}/a`)
    // A client without a server name.
    assert.equal(
      await service.namesFor('', { servername: '', checkServerIdentity: () => undefined }),
      SITE_NAMES,
    )
    // The wildcard covers one label.
    for (const name of [`a.b.${SITES}`, SITES, `www.${BASE}`, 'www.example.test'])
      assert.equal(await service.namesFor(name), UNKNOWN_NAME, name)
    for (let index = 0; index < 10; index++)
      assert.equal(await service.namesFor(`no-such-site-${index}.${SITES}`), SITE_NAMES)
    const { read } = service.store
    assert.deepEqual(await read.certificates.due(Number.MAX_SAFE_INTEGER, 9, { withOrders: true }), [])
  })

  test('are used for a service at an IP address, for which clients send no name', async () => {
    for (const [address, url] of [
      ['192.0.2.7', 'https://192.0.2.7'],
      ['2001:db8::7', 'https://[2001:db8::7]'],
    ] as const) {
      await put([`*.${SITES}`, address])
      await using service = await start({ BASE_URL: url })
      const names = await service.namesFor('', { servername: '', checkServerIdentity: () => undefined })
      assert.match(names, new RegExp(`^DNS:\\*\\.${SITES}, IP Address:`), url)
    }
  })

  test('are reloaded when they change, and the previous ones are used while they are invalid', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    await put()
    await using service = await start()
    const pollFiles = () => t.mock.timers.tick(10_000)
    const errorCount = () => service.running.log.filter(({ level }) => level === 'error').length
    const name = `any-site.${SITES}`
    const deepName = `a.b.${SITES}`
    assert.deepEqual(
      [await service.namesFor(name), await service.namesFor(deepName)],
      [SITE_NAMES, UNKNOWN_NAME],
    )
    assert.deepEqual(service.running.log.filter(isWarning), [])
    await put([`*.${SITES}`, `*.b.${SITES}`])
    pollFiles()
    assert.equal(service.running.log.filter(isWarning).length, 1)
    const both = `DNS:*.${SITES}, DNS:*.b.${SITES}`
    assert.deepEqual([await service.namesFor(name), await service.namesFor(deepName)], [both, both])
    await put([`*.${SITES}`])
    pollFiles()
    assert.deepEqual(
      [await service.namesFor(name), await service.namesFor(deepName)],
      [`DNS:*.${SITES}`, UNKNOWN_NAME],
    )
    assert.equal(errorCount(), 0)

    const { key } = await issuer.issueWithKey({ ...FOREVER, names: NAMES })
    await writeFile(keyFile, key)
    for (let time = 0; time < 3; time++) pollFiles()
    assert.equal(await service.namesFor(name), `DNS:*.${SITES}`)
    assert.equal(errorCount(), 1)
    await put(['nope.test'])
    for (let time = 0; time < 3; time++) pollFiles()
    assert.equal(await service.namesFor(name), `DNS:*.${SITES}`)
    assert.equal(errorCount(), 2)
    await writeFile(certFile, 'half a certif')
    for (let time = 0; time < 3; time++) pollFiles()
    await rm(certFile)
    for (let time = 0; time < 3; time++) pollFiles()
    assert.equal(await service.namesFor(name), `DNS:*.${SITES}`)
    assert.equal(errorCount(), 4)

    await put()
    await appendFile(certFile, TRUNCATED)
    for (let time = 0; time < 3; time++) pollFiles()
    assert.equal(await service.namesFor(name), `DNS:*.${SITES}`)
    assert.equal(errorCount(), 5)

    await put()
    pollFiles()
    assert.equal(await service.namesFor(name), SITE_NAMES)
    assert.equal(errorCount(), 5)
    await rm(certFile)
    pollFiles()
    assert.equal(errorCount(), 6, 'the last error again, after files that were right')
  })

  test('have their expiry in the metrics, also after they were replaced', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const days = async () => {
      const { get } = await scrape(service.running.service.internalPort!)
      return ['expiry', 'lifetime'].map(
        (what) => get(`slipway_certificate_${what}_seconds{source="file"}`) / 86_400,
      )
    }
    const putFor = (from: number, until: number) =>
      put(NAMES, { notBefore: NOW + from * DAY_MS, notAfter: NOW + until * DAY_MS })
    await putFor(-2, 5)
    await using service = await start({ INTERNAL_PORT: '0' })
    service.running.clock.now = NOW
    assert.deepEqual(await days(), [5, 7])
    await putFor(0, 90)
    t.mock.timers.tick(10_000)
    assert.deepEqual(await days(), [90, 90])
  })

  test('redirect sites to HTTPS until they expire, and again after they were replaced', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    await put(NAMES, { notBefore: NOW, notAfter: NOW + DAY_MS })
    await using service = await start()
    const { clock } = service.running
    clock.now = NOW
    const status = async () => (await service.plain(`no-site.${SITES}`)).status
    assert.equal(await status(), 308)
    clock.now += DAY_MS
    assert.equal(await status(), 404)
    await put(NAMES, { notBefore: NOW, notAfter: NOW + 2 * DAY_MS })
    t.mock.timers.tick(10_000)
    assert.equal(await status(), 308)
  })

  test('that lack the host of the service are named in a warning at the start', async () => {
    await put([`*.${SITES}`])
    await using service = await start()
    const [warning] = service.running.log.filter(isWarning)
    assert.match(String(warning!.problem), /^it is not for slipway\.example, the host of SLIPWAY_BASE_URL/)
  })

  const spoilers: Record<string, () => Promise<void>> = {
    'an invalid certificate': () => writeFile(certFile, 'no certificate'),
    'an invalid key': () => writeFile(keyFile, 'no key'),
    'the key of another certificate': async () => {
      const { key } = await issuer.issueWithKey({ ...FOREVER, names: NAMES })
      await writeFile(keyFile, key)
    },
    'a truncated certificate after the first': () => appendFile(certFile, TRUNCATED),
    'an empty file': () => writeFile(certFile, ''),
    'a certificate for other names': () => put(['*.elsewhere.test', SITES]),
  }
  const reasons: Record<string, () => string> = {
    'an invalid certificate': () => `(${certFile} does not contain a certificate in PEM)`,
    'a truncated certificate after the first': () =>
      `(${certFile} does not contain only valid certificates in PEM)`,
    'an invalid key': () => `(${keyFile} does not contain a private key in PEM)`,
  }
  for (const [what, spoil] of Object.entries(spoilers))
    test(`the service refuses to start, with an error that names both settings, with ${what}`, async () => {
      await put()
      await spoil()
      await assert.rejects(start(), (error: Error) => {
        assert.ok(error instanceof ConfigError, String(error))
        assert.match(
          error.message,
          /^SLIPWAY_TLS_CERT_FILE=".*" with SLIPWAY_TLS_KEY_FILE=".*" is not allowed: .+$/,
        )
        assert.ok(error.message.includes(certFile) && error.message.includes(keyFile))
        assert.ok(error.message.includes(reasons[what]?.() ?? ''), error.message)
        return true
      })
    })
})
