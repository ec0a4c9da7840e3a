import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect as http2 } from 'node:http2'
import { type RequestOptions, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { sha256, toFiles } from '../api/content.ts'
import { sendRequest as sendPlainRequest } from '../support/http-client.ts'
import { requires } from '../tools/part.ts'
import { giveDomain } from './active-domain.ts'
import { DOMAIN, type ProxyName, type RunningProxy, startProxy } from './proxy.ts'

/** Requests per hour for an address without a key. */
const RATE = 3

const WIDE = 'w'.repeat(1800)

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Sends an HTTPS request to a host, by default from 127.0.0.1. */
async function sendRequest(
  proxy: RunningProxy,
  host: string,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const outgoing = request({
    host: '127.0.0.1',
    port: proxy.httpsPort,
    servername: host,
    path,
    ca: proxy.root,
    agent: false,
    ...options,
    headers: { Host: host, ...(options.headers as Record<string, string>) },
  })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, body: await buffer(response) }
}

/** The error code of a failed TLS handshake for this name. */
function refusal(proxy: RunningProxy, servername: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: proxy.httpsPort, servername, ca: proxy.root })
  return new Promise((resolve, reject) => {
    socket
      .on('secureConnect', () => reject(new Error(`there is a certificate for ${servername}`)))
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

for (const name of ['caddy', 'nginx', 'haproxy'] satisfies ProxyName[]) {
  test(`behind ${name}, as deploy/edge sets it up`, requires(name), async (t) => {
    await using proxy = await startProxy(name, { RATE_ANONYMOUS: String(RATE) })
    const { service } = proxy
    setDefaultCACertificates([...getCACertificates('default'), proxy.root])
    const key = await service.signIn(`${name}@example.test`)
    const large = randomBytes(6 * 2 ** 20)
    const { slug, siteUrl } = await service.client(key).publish({
      files: toFiles({
        'index.html': 'home '.repeat(1000),
        'large.bin': large,
        'blog/index.html': 'blog',
        _headers: `/blog*\n${Array.from({ length: 8 }, (_, n) => `  X-Wide-${n}: ${WIDE}\n`).join('')}`,
      }),
    })
    const host = `${slug}.sites.test`
    // Caddy requests gzip on its own: once it is stored, the same page has another etag.
    await service.service.precompressor.onIdle()

    await t.test('a site of large files is published and visited', async () => {
      assert.equal(siteUrl, `https://${host}:${proxy.httpsPort}/`)
      const got = await sendRequest(proxy, host, '/large.bin')
      assert.equal(sha256(got.body), sha256(large))
      assert.equal((await sendRequest(proxy, host, '/index.html')).body.toString(), 'home '.repeat(1000))
    })

    await t.test('caching headers of Slipway are unchanged', async () => {
      const { headers } = await sendRequest(proxy, host, '/')
      assert.match(String(headers.etag), /^"[^"]+"$/)
      assert.equal(headers['cache-control'], 'public, max-age=0, must-revalidate')
      const again = await sendRequest(proxy, host, '/', {
        headers: { 'If-None-Match': String(headers.etag) },
      })
      assert.equal(again.status, 304)
      const part = await sendRequest(proxy, host, '/large.bin', { headers: { Range: 'bytes=10-19' } })
      assert.deepEqual([part.status, part.body], [206, large.subarray(10, 20)])
    })

    await t.test('a site can set 15 kB of headers, also of a redirect that keeps a long query', async () => {
      const query = `?state=${'s'.repeat(5000)}`
      for (const [path, status] of [
        ['/blog/', 200],
        [`/blog${query}`, 301],
      ] as const) {
        const got = await sendRequest(proxy, host, path, { maxHeaderSize: 65_536 })
        assert.deepEqual([got.status, got.headers['x-wide-7']?.length], [status, WIDE.length])
        if (status === 301) assert.equal(got.headers.location, `/blog/${query}`)
      }
    })

    await t.test('HTTP/2 is supported', async () => {
      const session = http2(`https://127.0.0.1:${proxy.httpsPort}`, { ca: proxy.root, servername: host })
      const stream = session.request({ ':authority': host, ':path': '/index.html' })
      assert.equal((await buffer(stream)).toString(), 'home '.repeat(1000))
      session.close()
      await once(session, 'close')
    })

    await t.test('a custom domain is visited over HTTPS as soon as it is active', async () => {
      if (name === 'caddy') await refusal(proxy, DOMAIN)
      await giveDomain(service, slug, DOMAIN)
      assert.equal((await sendRequest(proxy, DOMAIN, '/')).body.toString(), 'home '.repeat(1000))
    })

    await t.test('an unknown name gets no certificate', async () => {
      await giveDomain(service, slug, 'pending.example.test', 'pending')
      for (const other of ['pending.example.test', 'unknown.example.test', 'example.test']) {
        assert.match(await refusal(proxy, other), /ALERT|UNRECOGNIZED_NAME/, other)
      }
    })

    await t.test('plain HTTP is redirected to HTTPS', async () => {
      const path = '/a%20page?and=more'
      const { status, headers } = await sendPlainRequest(proxy.httpPort, { path, headers: { host: DOMAIN } })
      assert.deepEqual([status, headers.location], [308, `https://${DOMAIN}/a%20page?and=more`])
    })

    await t.test('clients are distinguished by their own address, whatever headers they send', async () => {
      const remaining = async (localAddress: string, forged: string) => {
        const path = '/api/v1/publish/no-such-site-234567'
        const headers = { 'X-Forwarded-For': forged }
        const answer = await sendRequest(proxy, 'localhost', path, { localAddress, headers })
        return [answer.status, Number(answer.headers['x-ratelimit-remaining'])]
      }
      for (let left = RATE - 1; left >= 0; left--) {
        assert.equal((await remaining('127.0.0.2', `192.0.2.${left}`))[1], left)
      }
      assert.equal((await remaining('127.0.0.2', '192.0.2.99, 198.51.100.1'))[0], 429)
      assert.equal((await remaining('127.0.0.3', '127.0.0.2'))[1], RATE - 1)
    })
  })
}
