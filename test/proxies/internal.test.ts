import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import { OnDemandTlsServer } from '../../server/net/on-demand-tls.ts'
import { Program } from '../operator/program.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { freePort } from '../tools/port.ts'
import { giveDomain } from './active-domain.ts'

const log = makeLog({ level: 'silent', text: false, write: () => undefined })
const ROUTE = '/internal/tls-allowed'

interface StatusRequest {
  method?: string
  host?: string
}

/** Sends a request and returns the status of its response. */
async function fetchStatus(port: number, path: string, { method, host = '127.0.0.1' }: StatusRequest = {}) {
  return (await sendRequest(port, { path, headers: { host }, ...(method && { method }) })).status
}

const sendAllowedRequest = (port: number, name: string) => fetchStatus(port, `${ROUTE}?domain=${name}`)

test('a proxy is allowed certificates for served names only', async () => {
  await using service = await startTestService({
    INTERNAL_PORT: '0',
    BASE_URL: 'https://slipway.test',
    SITE_DOMAIN: 'sites.test',
  })
  const port = service.service.internalPort!
  // The SDK would follow {base_url}, where nothing listens.
  const published = await publish(service.port)
  const { slug, versionId } = published
  await giveDomain(service, slug, 'www.example.test')
  await giveDomain(service, slug, 'pending.example.test', 'pending')
  for (const [name, status] of [
    ['slipway.test', 200],
    ['SLIPWAY.test.', 200],
    [`${slug}.sites.test`, 404],
    ['www.example.test', 200],
    ['WWW.Example.TEST', 200],
    ['pending.example.test', 404],
    ['other.example.test', 404],
    ['sites.test', 404],
    ['no-such-site-234567.sites.test', 404],
    [`${versionId}--${slug}.sites.test`, 404],
    ['localhost', 404],
    ['127.0.0.1', 404],
    ['', 400],
    ['a_b.test', 400],
    ['a..test', 400],
    ['-a.test', 400],
    ['a.test:443', 400],
    ['*.sites.test', 400],
    ['%00', 400],
    [`${'a.'.repeat(130)}test`, 400],
    ['www.example.test&domain=www.example.test', 400],
  ] as const) {
    assert.equal(await sendAllowedRequest(port, name), status, name)
  }
})

async function publish(port: number): Promise<{ slug: string; versionId: string }> {
  const tar = (await import('node:child_process')).execFileSync('sh', [
    '-c',
    'd=$(mktemp -d) && echo home > $d/index.html && tar -C $d -cf - index.html; rm -r $d',
  ])
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/publish`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-tar' },
    body: tar,
  })
  assert.equal(response.status, 201)
  return (await response.json()) as { slug: string; versionId: string }
}

test('the internal port answers only its own route, with a loopback host name', async () => {
  const requestedNames: string[] = []
  const isAllowed = async (name: string) => requestedNames.push(name) > 0
  await using server = await OnDemandTlsServer.open({
    host: 'localhost',
    port: 0,
    shared: false,
    isAllowed,
    log,
  })
  const path = `${ROUTE}?domain=a.test`
  for (const [what, status] of [
    [{}, 200],
    [{ method: 'HEAD' }, 200],
    [{ host: 'localhost' }, 200],
    [{ host: `localhost:${server.port}` }, 200],
    [{ host: '127.0.0.2:1' }, 200],
    [{ host: '[::1]:80' }, 200],
    [{ host: 'rebound.example' }, 403],
    [{ host: 'localhost.example' }, 403],
    [{ host: '127.0.0.1.example' }, 403],
    [{ host: '192.0.2.1' }, 403],
    [{ method: 'POST' }, 405],
    [{ method: 'DELETE' }, 405],
  ] as [StatusRequest, number][]) {
    assert.equal(await fetchStatus(server.port, path, what), status, JSON.stringify(what))
  }
  assert.equal(requestedNames.length, 6)
  for (const other of ['/', '/internal', '//localhost/internal/tls-allowed?domain=a.test', '/%00', '/\\x']) {
    assert.equal(await fetchStatus(server.port, other), 404, other)
  }
  assert.equal(await twoHosts(server.port, path), 'HTTP/1.1 403 Forbidden')
})

test('an internal port on every address also answers under the names of a container network', async () => {
  const isAllowed = async () => true
  await using server = await OnDemandTlsServer.open({
    host: '0.0.0.0',
    port: 0,
    shared: false,
    isAllowed,
    log,
  })
  assert.equal(await fetchStatus(server.port, `${ROUTE}?domain=a.test`, { host: 'slipway:8081' }), 200)
})

async function twoHosts(port: number, path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example\r\nConnection: close\r\n\r\n`,
  )
  return (await text(socket)).split('\r\n')[0]!
}

test('the internal port answers 503 while the store is unavailable', async () => {
  const failures = [new ApiError('UNAVAILABLE', 'The database is unavailable'), new Error('broken')]
  await using server = await OnDemandTlsServer.open({
    host: 'localhost',
    port: 0,
    shared: false,
    isAllowed: () => Promise.reject(failures.shift()),
    log,
  })
  assert.equal(await sendAllowedRequest(server.port, 'a.test'), 503)
  assert.equal(await sendAllowedRequest(server.port, 'a.test'), 503)
})

test('the processes of a machine share the internal port, and the start reports when it is in use', async () => {
  await using folder = await memoryFolder()
  const port = await freePort()
  await using program = await Program.serve({
    DATA: folder.path,
    WORKERS: '2',
    INTERNAL_PORT: String(port),
    BASE_URL: 'http://slipway.test',
  })
  assert.equal(await sendAllowedRequest(port, 'slipway.test'), 200)
  await using other = await memoryFolder()
  await assert.rejects(startTestService({ DATA: other.path, INTERNAL_PORT: String(port) }), {
    message: new RegExp(`^Port ${port} is in use.* SLIPWAY_INTERNAL_PORT`),
  })
  assert.equal((await program.stop()).code, 0)
})
