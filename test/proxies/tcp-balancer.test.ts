import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type RequestOptions, request as requestSecurely } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { tar } from '../archive/tar-file.ts'
import { startTestService } from '../support/service.ts'
import { BASE, issuer, SecureService, SITES } from '../tls/secure-service.ts'
import { startHaproxy } from '../tools/haproxy.ts'
import { requires } from '../tools/part.ts'
import { readRecipe } from './recipe.ts'

/** Between visits of a client, while HAProxy checks a node every second. */
const VISIT_INTERVAL_MS = 20

/** Two nodes with one data folder behind HAProxy, with the configuration of deploy/edge. */
async function startBalanced() {
  await using started = new AsyncDisposableStack()
  const all = { PROXY_PROTOCOL: 'private', RATE_ANONYMOUS: '1' }
  const one = started.use(await SecureService.start(all))
  await one.certify(BASE)
  const other = started.use(
    await startTestService({
      ...all,
      READY_SECONDS: '3',
      DATA: one.running.data,
      HTTPS_PORT: '0',
      BASE_URL: `https://${BASE}`,
      SITE_DOMAIN: SITES,
    }),
  )
  const balancer = started.use(
    await startHaproxy(2, ([http, https]) =>
      readRecipe('haproxy-tcp.cfg', [
        ['bind :80', `bind 127.0.0.1:${http}`],
        ['bind :443', `bind 127.0.0.1:${https}`],
        ['10.0.0.11:8443 check port 8080', `127.0.0.1:${one.port} check port ${one.running.port}`],
        ['10.0.0.12:8443 check port 8080', `127.0.0.1:${other.service.httpsPort} check port ${other.port}`],
        ['10.0.0.11:8080', `127.0.0.1:${one.running.port}`],
        ['10.0.0.12:8080', `127.0.0.1:${other.port}`],
      ]),
    ),
  )
  const [http, https] = balancer.ports as [number, number]
  const owned = started.move()
  return { http, https, other, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Sends an archive of one file to be published; returns the response. */
async function publish(send: typeof request, options: RequestOptions) {
  const outgoing = send({
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v1/publish',
    agent: false,
    ...options,
    headers: { host: BASE, 'content-type': 'application/x-tar' },
  })
  outgoing.end(tar([{ name: 'index.html', data: Buffer.from('home') }]))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: String(await buffer(response)) }
}

test(
  'behind HAProxy rate limits apply to the client of each protocol, and no request fails while a node stops',
  requires('haproxy'),
  async () => {
    await using balanced = await startBalanced()
    const { http, https, other } = balanced
    const securely = { servername: BASE, ca: issuer.root, port: https }
    const byHttps = (localAddress: string) => publish(requestSecurely, { ...securely, localAddress })
    const byHttp2 = async (localAddress: string) => {
      const options = { ...securely, host: '127.0.0.1', localAddress, ALPNProtocols: ['h2'] }
      const session = connectHttp2(`https://${BASE}`, { createConnection: () => connectTls(options) })
      const stream = session.request({ ':path': '/api/v1/publish', ':method': 'POST' })
      stream.end()
      const [headers] = await once(stream, 'response')
      session.destroy()
      return headers[':status']
    }
    const first = await byHttps('127.0.0.2')
    assert.equal(first.status, 201, first.body)
    assert.equal((await byHttps('127.0.0.2')).status, 429)
    assert.equal(await byHttp2('127.0.0.2'), 429)
    assert.notEqual(await byHttp2('127.0.0.3'), 429)
    assert.equal((await byHttps('127.0.0.3')).status, 429)
    // The service redirects to HTTPS, after it has read the header on this port as well.
    assert.equal((await publish(request, { port: http })).status, 308)
    const visit = async () => {
      const options = { host: '127.0.0.1', port: https, servername: BASE, ca: issuer.root, agent: false }
      const outgoing = requestSecurely({ ...options, path: '/health', headers: { host: BASE } })
      outgoing.end()
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
      assert.deepEqual([response.statusCode, String(await buffer(response))], [200, '{"status":"ok"}'])
    }
    let hasStopped = false
    const stopping = other[Symbol.asyncDispose]().then(() => {
      hasStopped = true
    })
    let visits = 0
    while (!hasStopped || visits < 100) {
      await visit()
      await pause(VISIT_INTERVAL_MS)
      visits++
    }
    await stopping
  },
)
