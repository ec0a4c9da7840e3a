import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { InternalServer } from '../../server/operations/internal/internal-server.ts'
import { onDemandTls, ON_DEMAND_TLS_PATH as ROUTE } from '../../server/operations/internal/routes.ts'
import { tar } from '../archive/tar-file.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { giveDomain } from './active-domain.ts'

const log = makeLog({ level: 'silent', text: false, write: () => undefined })

interface StatusRequest {
  method?: string
  host?: string
}

/** Sends a request and returns the status of its response. */
async function fetchStatus(port: number, path: string, { method, host = '127.0.0.1' }: StatusRequest = {}) {
  return (await sendRequest(port, { path, headers: { host }, ...(method && { method }) })).status
}

const sendAllowedRequest = (port: number, name: string) => fetchStatus(port, `${ROUTE}?domain=${name}`)

/** A server that allows these names, by default all. */
function openServer(host: string, isAllowed = async (_name: string) => true): Promise<InternalServer> {
  return InternalServer.open({
    host,
    port: 0,
    shared: false,
    routes: { [ROUTE]: onDemandTls(isAllowed) },
    log,
  })
}

test('a proxy is allowed certificates for served names only', async () => {
  await using service = await startTestService({
    INTERNAL_PORT: '0',
    BASE_URL: 'https://slipway.test',
    SITE_DOMAIN: 'sites.test',
  })
  const port = service.service.internalPort!
  // The SDK would follow {base_url}, where nothing listens.
  const published = await sendRequest(service.port, {
    method: 'POST',
    path: '/api/v1/publish',
    headers: { 'Content-Type': 'application/x-tar' },
    body: tar([{ name: 'index.html', data: Buffer.from('home') }]),
  })
  const { slug, versionId } = published.json
  await giveDomain(service, slug, 'www.example.test')
  await giveDomain(service, slug, 'pending.example.test', 'pending')
  const names: Record<number, string[]> = {
    200: ['slipway.test', 'SLIPWAY.test.', 'www.example.test', 'WWW.Example.TEST'],
    404: [
      ...[
        `${slug}.sites.test`,
        `${versionId}--${slug}.sites.test`,
        'no-such-site-234567.sites.test',
        'sites.test',
      ],
      ...['pending.example.test', 'other.example.test', 'localhost', '127.0.0.1'],
    ],
    400: [
      ...[
        '',
        'a_b.test',
        'a..test',
        '-a.test',
        'a.test:443',
        '*.sites.test',
        '%00',
        `${'a.'.repeat(130)}test`,
      ],
      'www.example.test&domain=www.example.test',
    ],
  }
  for (const [status, all] of Object.entries(names))
    for (const name of all) assert.equal(await sendAllowedRequest(port, name), Number(status), name)
  service.clock.now += 2 * DAY_MS
  assert.equal(await sendAllowedRequest(port, 'www.example.test'), 404, 'its site has expired')
})

test('the internal port answers only its own routes, with a loopback host name', async () => {
  const requestedNames: string[] = []
  await using server = await openServer('localhost', async (name) => requestedNames.push(name) > 0)
  const path = `${ROUTE}?domain=a.test`
  const requests: Record<number, StatusRequest[]> = {
    200: [
      ...[{}, { method: 'HEAD' }],
      ...['localhost', `localhost:${server.port}`, '127.0.0.2:1', '[::1]:80'].map((host) => ({ host })),
    ],
    403: ['rebound.example', 'localhost.example', '127.0.0.1.example', '192.0.2.1'].map((host) => ({ host })),
    405: [{ method: 'POST' }, { method: 'DELETE' }],
  }
  for (const [status, all] of Object.entries(requests))
    for (const what of all)
      assert.equal(await fetchStatus(server.port, path, what), Number(status), JSON.stringify(what))
  assert.equal(requestedNames.length, 6)
  for (const other of ['/', '/internal', '//localhost/internal/tls-allowed?domain=a.test', '/%00', '/\\x']) {
    assert.equal(await fetchStatus(server.port, other), 404, other)
  }
  const socket = connect(server.port, '127.0.0.1')
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example\r\nConnection: close\r\n\r\n`,
  )
  assert.match(await readText(socket), /^HTTP\/1.1 403 Forbidden\r\n/)
})

test('an internal port on every address also answers under the names of a container network', async () => {
  await using server = await openServer('0.0.0.0')
  assert.equal(await fetchStatus(server.port, `${ROUTE}?domain=a.test`, { host: 'slipway:8081' }), 200)
})

test('the internal port answers 503 while the store is unavailable', async () => {
  const failures = [new ApiError('UNAVAILABLE', 'The database is unavailable'), new Error('broken')]
  await using server = await openServer('localhost', () => Promise.reject(failures.shift()))
  assert.equal(await sendAllowedRequest(server.port, 'a.test'), 503)
  assert.equal(await sendAllowedRequest(server.port, 'a.test'), 503)
})

test('a start with an internal port that is in use names its setting', async () => {
  await using server = await openServer('localhost')
  const INTERNAL_PORT = String(server.port)
  await assert.rejects(startTestService({ INTERNAL_PORT }), {
    message: new RegExp(`^Port ${INTERNAL_PORT} is in use.* SLIPWAY_INTERNAL_PORT`),
  })
})
