import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { makeLog } from '../../server/lib/log.ts'
import { OnDemandTlsServer } from '../../server/net/on-demand-tls.ts'
import { Program } from '../operator/program.ts'
import { startTestService } from '../service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { freePort } from '../tools/port.ts'
import { giveDomain } from './active-domain.ts'

const log = makeLog({ level: 'silent', text: false, write: () => undefined })
const ROUTE = '/internal/tls-allowed'

interface Ask {
  method?: string
  host?: string
  address?: string
}

/** Status of an answer, and its `Allow` where it has one. */
function ask(port: number, path: string, { method = 'GET', host, address = '127.0.0.1' }: Ask = {}) {
  const headers = host === undefined ? {} : { Host: host }
  const asked = request({ host: address, port, path, method, headers, agent: false })
  return new Promise<number>((resolve, reject) => {
    asked
      .on('response', (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      .on('error', reject)
      .end()
  })
}

const askFor = (port: number, name: string) => ask(port, `${ROUTE}?domain=${name}`)

test('a proxy may have certificates for what is there, and for nothing else', async () => {
  await using service = await startTestService({
    INTERNAL_PORT: '0',
    BASE_URL: 'https://slipway.test',
    SITE_DOMAIN: 'sites.test',
  })
  const port = service.service.internalPort!
  // The SDK would follow {base_url}, where nobody listens.
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
    assert.equal(await askFor(port, name), status, name)
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

test('the internal port answers only who asks it by a loopback name, and only what it is for', async () => {
  const asked: string[] = []
  const isAllowed = async (name: string) => asked.push(name) > 0
  await using door = await OnDemandTlsServer.open({ port: 0, shared: false, isAllowed, log })
  const path = `${ROUTE}?domain=a.test`
  for (const [what, status] of [
    [{}, 200],
    [{ method: 'HEAD' }, 200],
    [{ host: 'localhost' }, 200],
    [{ host: `localhost:${door.port}` }, 200],
    [{ host: '127.0.0.2:1' }, 200],
    [{ host: '[::1]:80' }, 200],
    [{ host: 'rebound.example' }, 403],
    [{ host: 'localhost.example' }, 403],
    [{ host: '127.0.0.1.example' }, 403],
    [{ host: '192.0.2.1' }, 403],
    [{ method: 'POST' }, 405],
    [{ method: 'DELETE' }, 405],
  ] as [Ask, number][]) {
    assert.equal(await ask(door.port, path, what), status, JSON.stringify(what))
  }
  assert.equal(asked.length, 6)
  for (const other of ['/', '/internal', '//localhost/internal/tls-allowed?domain=a.test', '/%00', '/\\x']) {
    assert.equal(await ask(door.port, other), 404, other)
  }
  assert.equal(await twoHosts(door.port, path), 'HTTP/1.1 403 Forbidden')
})

async function twoHosts(port: number, path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example\r\nConnection: close\r\n\r\n`,
  )
  return (await text(socket)).split('\r\n')[0]!
}

test('who asks while the store is away is told to ask again', async () => {
  const failures = [new ApiError('UNAVAILABLE', 'The database is away'), new Error('broken')]
  await using door = await OnDemandTlsServer.open({
    port: 0,
    shared: false,
    isAllowed: () => Promise.reject(failures.shift()),
    log,
  })
  assert.equal(await askFor(door.port, 'a.test'), 503)
  assert.equal(await askFor(door.port, 'a.test'), 503)
})

test('the processes of a machine share the internal port, and an operator reads it when it is taken', async () => {
  await using folder = await memoryFolder()
  const port = await freePort()
  await using program = await Program.serve({
    DATA: folder.path,
    WORKERS: '2',
    INTERNAL_PORT: String(port),
    BASE_URL: 'http://slipway.test',
  })
  assert.equal(await askFor(port, 'slipway.test'), 200)
  await using other = await memoryFolder()
  await assert.rejects(startTestService({ DATA: other.path, INTERNAL_PORT: String(port) }), {
    message: new RegExp(`^Port ${port} is in use.* SLIPWAY_INTERNAL_PORT`),
  })
  assert.equal((await program.stop()).code, 0)
})
