import assert from 'node:assert/strict'
import { after, before, describe, mock, test } from 'node:test'
import { databaseUnavailable } from '../../server/lib/errors.ts'
import { ServingQueries } from '../../server/store/queries/serving.ts'
import { waitFor } from '../support/wait-for.ts'
import { BASE, type Reply, SecureService, SITES } from './secure-service.ts'

const TOKEN_PATH = '/.well-known/acme-challenge/a-token'
const HSTS = 'strict-transport-security'
const YEAR = 'max-age=31536000'
const KEY_AUTHORIZATION = 'a-token.a-thumbprint'

/** The status with the redirect target or the body. */
function summarize({ status, headers, body }: Reply): string {
  return `${status} ${headers.location ?? body}`
}

describe('plain HTTP', () => {
  let service: SecureService
  let slug: string
  let versionId: string
  before(async () => {
    // Without polls of the store, which would invalidate names that a test expects to be cached.
    mock.timers.enable({ apis: ['setInterval'] })
    service = await SecureService.start()
    mock.timers.reset()
    ;({ slug, versionId } = await service.publish({
      'index.html': 'home',
      '.well-known/acme-challenge/own': 'a file of the site',
    }))
  })
  after(() => service[Symbol.asyncDispose]())

  const getSummary = async (host: string, path?: string) => summarize(await service.plain(host, path))

  test('redirects a domain to HTTPS once it has a certificate', async () => {
    await service.addDomain('www.example.test', slug)
    assert.equal(await getSummary('www.example.test'), '200 home')
    await service.certify('www.example.test')
    for (const path of [
      '/',
      '/',
      '/a%20b.txt?x=1&y=%2F',
      '/nowhere?',
      '//evil.test/',
      '/health',
      '/api/v1',
    ]) {
      const to = `https://www.example.test${path}`
      assert.equal(await getSummary('www.example.test', path), `308 ${to}`)
      assert.equal(await getSummary('WWW.Example.test.:80', path), `308 ${to}`)
      const head = await service.plain('www.example.test', path, { method: 'HEAD' })
      assert.equal(summarize(head), `308 ${to}`)
    }
    const posted = await service.plain('www.example.test', '/', { method: 'POST', body: 'x' })
    assert.equal(posted.status, 405)
    const form = { method: 'POST', body: 'password=x' }
    assert.equal(
      summarize(await service.plain('www.example.test', '/_slipway/password', form)),
      '308 https://www.example.test/_slipway/password',
    )
    const options = await service.plain('www.example.test', '/', { method: 'OPTIONS' })
    assert.ok(options.status < 300)
    assert.equal(summarize(await service.secure('www.example.test')), '200 home')
  })

  test('serves a domain whose certificate has expired', async () => {
    await service.addDomain('ended.test', slug)
    await service.certify('ended.test', undefined, { notAfter: service.running.clock.now })
    assert.equal(await getSummary('ended.test'), '200 home')
    const { clock } = service.running
    await service.addDomain('ending.test', slug)
    await service.certify('ending.test', undefined, { notAfter: clock.now + 1000 })
    for (let visit = 0; visit < 2; visit++)
      assert.equal(await getSummary('ending.test'), '308 https://ending.test/')
    clock.now += 1000
    for (let visit = 0; visit < 2; visit++)
      assert.equal(await getSummary('ending.test'), '200 home', 'also after a cached redirect')
  })

  test('redirects an alternate name to the primary one in one step, and never from HTTPS to HTTP', async () => {
    await service.addDomain('pair.test', slug)
    await service.addSecureDomain('www.pair.test', slug, { primaryDomain: 'pair.test' })
    assert.equal(await getSummary('www.pair.test', '/a?b'), '308 http://pair.test/a?b')
    assert.equal(summarize(await service.secure('www.pair.test')), '200 home')
    const { clock } = service.running
    await service.certify('pair.test', undefined, { notAfter: clock.now + 1000 })
    assert.equal(await getSummary('www.pair.test', '/a?b'), '308 https://pair.test/a?b')
    assert.equal(await getSummary('pair.test'), '308 https://pair.test/')
    assert.equal(summarize(await service.secure('www.pair.test', '/a?b')), '308 https://pair.test/a?b')
    assert.equal(summarize(await service.secure('pair.test')), '200 home')
    clock.now += 1000
    assert.equal(await getSummary('www.pair.test'), '308 http://pair.test/', 'the certificate has expired')
  })

  test('lets browsers cache redirects to HTTPS, but not to the primary name, which may change', async () => {
    const cacheControl = async (reply: Promise<Reply>) => (await reply).headers['cache-control']
    await service.addSecureDomain('swap.test', slug)
    await service.addSecureDomain('www.swap.test', slug, { primaryDomain: 'swap.test' })
    assert.equal(await cacheControl(service.plain('swap.test')), 'public, max-age=3600')
    const each = 'public, max-age=0, must-revalidate'
    assert.equal(await cacheControl(service.plain('www.swap.test')), each)
    assert.equal(await cacheControl(service.secure('www.swap.test')), each)
  })

  test('serves the site at the alternate name while the primary one is not active', async () => {
    await service.addDomain('half.test', slug, { status: 'pending' })
    await service.addSecureDomain('www.half.test', slug, { primaryDomain: 'half.test' })
    assert.equal(await getSummary('www.half.test'), '308 https://www.half.test/')
    assert.equal(summarize(await service.secure('www.half.test')), '200 home')
  })

  test('serves sites and the service while they have no certificate', async () => {
    assert.equal(await getSummary(`${slug}.${SITES}`), '200 home')
    assert.equal(await getSummary(`${versionId}--${slug}.${SITES}`), '200 home')
    assert.equal((await service.plain(BASE, '/api/v1/nothing')).status, 404)
  })

  test('redirects sites and the service to HTTPS when they have certificates', async () => {
    await using covered = await SecureService.start({ DNS_HOOK: '/bin/false' })
    const published = await covered.publish({ 'index.html': 'home' })
    const hosts = [
      `${published.slug}.${SITES}`,
      `${published.versionId}--${published.slug}.${SITES}`,
      `no-site-here.${SITES}`,
    ]
    assert.equal(summarize(await covered.plain(hosts[0]!)), '200 home')
    await covered.certify(`*.${SITES}`, [`*.${SITES}`])
    await covered.certify(BASE)
    // Another process stored them: this one reads the change within a second.
    for (const host of [hosts[0]!, BASE])
      await waitFor(async () => (await covered.plain(host)).status === 308)
    for (const host of hosts) {
      assert.equal(summarize(await covered.plain(host, '/a?b')), `308 https://${host}/a?b`)
      const reply = await covered.secure(host)
      assert.equal(reply.status, host.startsWith('no-site') ? 404 : 200)
    }
    for (const path of ['/', '/api/v1/publishes?limit=1', '/claim?slug=a'])
      for (const origin of ['', `http://${BASE}`])
        assert.equal(
          summarize(await covered.plain(`${BASE.toUpperCase()}:80`, origin + path)),
          `308 https://${BASE}${path}`,
        )
    assert.equal((await covered.plain(BASE, '/api/v1/publish', { method: 'POST' })).status, 308)
    for (const path of ['/health', '/health?from=a-balancer', '/ready']) {
      const { status, headers } = await covered.plain(BASE, path)
      assert.deepEqual([status, headers[HSTS]], [200, undefined])
      assert.equal((await covered.secure(BASE, path)).status, 200)
    }
    assert.equal((await covered.secure(BASE, '/unknown')).headers[HSTS], YEAR)
    assert.equal((await covered.secure(hosts[0]!)).headers[HSTS], undefined)
    assert.equal((await covered.plain('127.0.0.1', '/api/v1/nothing')).status, 404)
    await covered.running.service.invalidate([`*.${SITES}`, BASE])
    assert.equal((await covered.plain(hosts[0]!)).status, 308)
    assert.equal((await covered.plain(BASE)).status, 308)
    const { clock } = covered.running
    await covered.certify(`*.${SITES}`, [`*.${SITES}`], { notAfter: clock.now + 1000 })
    await covered.certify(BASE, [BASE], { notAfter: clock.now + 1000 })
    for (const host of [hosts[0]!, BASE]) assert.equal((await covered.plain(host)).status, 308)
    clock.now += 1000
    assert.equal(summarize(await covered.plain(hosts[0]!)), '200 home', 'the certificate has expired')
    assert.equal((await covered.plain(BASE, '/api/v1/nothing')).status, 404)
  })

  test('tells browsers of sites to use only HTTPS where the operator has set it and the publisher has set nothing', async () => {
    await using strict = await SecureService.start({ DNS_HOOK: '/bin/false', HSTS: 'all' })
    await strict.certify(`*.${SITES}`, [`*.${SITES}`])
    const rules = '/own.txt\n  strict-transport-security: max-age=5\n'
    const published = await strict.publish({ 'index.html': 'home', 'own.txt': 'own', _headers: rules })
    await strict.addSecureDomain('strict.test', published.slug)
    for (const host of ['strict.test', `${published.slug}.${SITES}`, `no-site-here.${SITES}`]) {
      const isFound = !host.startsWith('no-site')
      for (const path of ['/', '/', '/missing', ...(isFound ? ['/own.txt'] : [])])
        assert.equal(
          (await strict.secure(host, path)).headers[HSTS],
          path === '/own.txt' ? 'max-age=5' : YEAR,
          host + path,
        )
    }
    // RFC 6797, 7.2, also where nothing is redirected to HTTPS.
    for (const [host, path] of [
      ['127.0.0.1', '/health'],
      ['strict.test', '/.well-known/acme-challenge/own'],
    ] as const)
      assert.equal((await strict.plain(host, path)).headers[HSTS], undefined)
  })

  test('serves HTTP-01 challenges at every host, and only with the right token', async () => {
    await service.addSecureDomain('ca.test', slug)
    for (const name of ['ca.test', 'unheard-of.test', BASE, `${slug}.${SITES}`]) {
      const token = {
        type: 'http-01',
        name,
        token: 'a-token',
        keyAuthorization: KEY_AUTHORIZATION,
      } as const
      await service.challenge(token)
      for (const host of [name, `${name.toUpperCase()}:80`, `${name}.`]) {
        const reply = await service.plain(host, TOKEN_PATH)
        assert.equal(summarize(reply), `200 ${KEY_AUTHORIZATION}`)
        assert.equal(reply.headers['content-type'], 'application/octet-stream')
      }
      assert.equal(summarize(await service.plain(name, TOKEN_PATH, { method: 'HEAD' })), '200 ')
      assert.notEqual(await getSummary(name, `${TOKEN_PATH}2`), `200 ${KEY_AUTHORIZATION}`)
    }
    assert.equal(summarize(await service.secure('ca.test', TOKEN_PATH)), `200 ${KEY_AUTHORIZATION}`)
    const own = '/.well-known/acme-challenge/own'
    assert.equal(
      await getSummary('ca.test', own),
      '200 a file of the site',
      'challenge paths are not redirected to HTTPS',
    )
    assert.equal(summarize(await service.secure('ca.test', own)), '200 a file of the site')
    assert.equal((await service.plain('unknown.test', TOKEN_PATH)).status, 404)
    service.running.clock.now += 600_000
    assert.equal((await service.plain('ca.test', TOKEN_PATH)).status, 404)
  })
})

test('a domain whose certificate expires while the database is unreachable is served without it', async (t) => {
  await using service = await SecureService.start()
  const { slug } = await service.publish({ 'index.html': 'home' })
  const { clock } = service.running
  await service.addDomain('cut-off.test', slug)
  await service.certify('cut-off.test', undefined, { notAfter: clock.now + 1000 })
  assert.equal(summarize(await service.plain('cut-off.test')), '308 https://cut-off.test/')
  clock.now += 1000
  const outage = t.mock.method(ServingQueries.prototype, 'findDomain', async () => {
    throw databaseUnavailable()
  })
  // The breaker opens.
  for (let visit = 0; visit < 6; visit++)
    assert.equal(summarize(await service.plain('cut-off.test')), '200 home')
  assert.ok(outage.mock.callCount() > 0)
})

test('redirects contain the HTTPS port unless it is 443', async () => {
  await using service = await SecureService.start({ BASE_URL: '' })
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addSecureDomain('www.example.test', slug)
  const reply = await service.plain('www.example.test', '/a?b')
  assert.equal(summarize(reply), `308 https://www.example.test:${service.port}/a?b`)
})

test('behind a TLS proxy there is no redirect to HTTPS, and redirects to the primary name use https', async () => {
  await using service = await SecureService.start({ HTTPS_PORT: '' })
  const { slug } = await service.publish({ 'index.html': 'home' })
  await service.addSecureDomain('pair.test', slug)
  await service.addSecureDomain('www.pair.test', slug, { primaryDomain: 'pair.test' })
  assert.equal(summarize(await service.plain('pair.test')), '200 home')
  assert.equal(summarize(await service.plain('www.pair.test', '/a?b')), '308 https://pair.test/a?b')
  assert.equal(summarize(await service.plain(`${slug}.${SITES}`)), '200 home')
})
