import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { deterministicBytes, received } from '../blobs/bytes.ts'
import { HeldRequest, sendRequest } from '../support/http-client.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'
import { Publisher } from './publisher.ts'

/** Long enough that a test hangs, instead of passing late, if the service waits for this limit. */
const LONG_DRAIN = { DRAIN_SECONDS: '3600' }

const HEALTH_REQUEST = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

const LARGE = deterministicBytes('large', 8_000_000)

for (const { signal, workers } of [
  { signal: 'SIGINT', workers: '1' },
  { signal: 'SIGTERM', workers: '2' },
] as const) {
  test(`${signal} completes uploads, finalizes and visits in progress and exits with 0: ${workers} workers`, async () => {
    await using fixture = await startFixture({ ...LONG_DRAIN, WORKERS: workers })
    const { service, publisher } = fixture
    const visited = await publisher.publish({ 'index.html': 'here', 'large.bin': LARGE })
    const pending = await publisher.stage({ 'index.html': 'finalized during the stop' })
    const uploads = await Promise.all(
      [
        deterministicBytes('small', 5000),
        deterministicBytes('one', 700_000),
        deterministicBytes('two', 700_000),
      ].map((bytes) => beginUpload(fixture, bytes)),
    )
    const finalize = await HeldRequest.begin(service.port, {
      method: 'POST',
      path: new URL(pending.upload.finalizeUrl).pathname,
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from(JSON.stringify({ versionId: pending.versionId })),
    })
    const visit = await beginVisit(service.port, visited.slug, '/large.bin')
    await idleConnection(service.port)

    service.child.kill(signal)
    await service.waitForLines(/"stopping: draining/, Number(workers))
    for (const { held, bytes } of uploads) {
      const { status, json } = await held.finish()
      assert.deepEqual([status, json.hash, json.size], [200, received(bytes).hash, bytes.length])
    }
    const finalized = await finalize.finish()
    assert.deepEqual([finalized.status, finalized.json.currentVersionId], [200, pending.versionId])
    assert.ok((await buffer(visit)).equals(LARGE))
    const { code, stderr } = await service.ended
    assert.deepEqual([code, stderr], [0, ''])
    await assert.rejects(sendRequest(service.port, {}), { code: 'ECONNREFUSED' })
  })
}

for (const WORKERS of ['1', '2'])
  test(`a stopped service exits also while something keeps its processes alive: ${WORKERS} workers`, async () => {
    await using folder = await memoryFolder()
    const modules = ['data:text/javascript,setInterval(() => undefined, 3_600_000)']
    await using service = await Program.serve({ DATA: folder.path, WORKERS }, { modules })
    assert.equal((await service.stop()).code, 0)
  })

test('a second SIGINT exits immediately, with 130', async () => {
  await using fixture = await startFixture(LONG_DRAIN)
  using _ = (await beginUpload(fixture, LARGE)).held
  fixture.service.child.kill('SIGINT')
  await fixture.service.waitForLine(/"stopping: draining/)
  fixture.service.child.kill('SIGINT')
  assert.equal((await fixture.service.ended).code, 130)
})

for (const workers of ['1', '2'])
  test(`after SIGTERM /ready returns 503 while new connections are accepted, and idle ones close after their next request: ${workers} workers`, async () => {
    await using fixture = await startFixture({ ...LONG_DRAIN, READY_SECONDS: '2', WORKERS: workers })
    const { service, publisher } = fixture
    assert.equal((await sendRequest(service.port, { path: '/ready' })).status, 200)
    const kept = await idleConnection(service.port)
    service.child.kill('SIGTERM')
    await service.waitForLines(/"not ready: /, Number(workers))
    kept.write(HEALTH_REQUEST)
    assert.match(await text(kept), /^HTTP\/1.1 200 .*\r\nConnection: close\r\n.*"ok"}$/is)
    const { status, json } = await sendRequest(service.port, { path: '/ready' })
    assert.deepEqual([status, json], [503, { status: 'stopping' }])
    const { slug } = await publisher.publish({ 'index.html': 'published while it stops' })
    assert.equal((await sendRequest(service.port, { site: slug })).text, 'published while it stops')
    assert.equal((await service.ended).code, 0)
  })

test('a second SIGINT exits immediately while connections are still accepted', async () => {
  await using fixture = await startFixture({ READY_SECONDS: '600' })
  fixture.service.child.kill('SIGINT')
  await fixture.service.waitForLine(/"not ready: /)
  fixture.service.child.kill('SIGINT')
  assert.equal((await fixture.service.ended).code, 130)
})

test('requests that do not end are aborted after the configured time, without a truncated response', async () => {
  await using fixture = await startFixture({ DRAIN_SECONDS: '1' })
  const { service, publisher } = fixture
  const { slug } = await publisher.publish({ 'index.html': 'here', 'large.bin': LARGE })
  const { held } = await beginUpload(fixture, LARGE)
  const outcome = held.outcome()
  const silent = connect(service.port, '127.0.0.1')
  await once(silent, 'connect')
  silent.write('GET / HTTP/1.1\r\nHost: ')
  const visit = await beginVisit(service.port, slug, '/large.bin')
  const { code } = await service.stop()
  assert.equal(code, 0)
  const answer = await outcome
  assert.ok(answer === undefined || answer.status >= 400, 'an upload that did not end is not acknowledged')
  await assert.rejects(buffer(visit), 'a truncated body is detectable')
  silent.destroy()
})

test('a request on a keep-alive connection during the stop is answered completely', async () => {
  await using fixture = await startFixture(LONG_DRAIN)
  const { service } = fixture
  const { held } = await beginUpload(fixture, deterministicBytes('keeps the service open', 5000))
  const socket = connect(service.port, '127.0.0.1')
  const lines = ['POST /api/v1/publish HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write([...lines, 'Content-Length: 2', 'Expect: 100-continue', '', ''].join('\r\n'))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  assert.match(begun.toString(), /^HTTP\/1.1 100 Continue\r\n\r\n$/)
  service.child.kill('SIGTERM')
  await service.waitForLine(/"stopping: draining/)
  socket.write(`{}${HEALTH_REQUEST}`)
  const [first, second, ...more] = (await text(socket)).split('HTTP/1.1 ').slice(1)
  assert.match(first!, /^400 /)
  assert.match(second!, /^200 .*\r\nConnection: close\r\n.*"ok"}$/is)
  assert.deepEqual(more, [])
  assert.equal((await held.finish()).status, 200)
  assert.equal((await service.ended).code, 0)
})

/** Starts a service with a client. */
async function startFixture(settings: Record<string, string>) {
  await using started = new AsyncDisposableStack()
  const { path } = started.use(await memoryFolder())
  const service = started.use(await Program.serve({ DATA: path, ...settings }))
  const publisher = started.use(new Publisher(service))
  const owned = started.move()
  return { service, publisher, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Starts an upload and sends half of it. */
async function beginUpload(
  { service, publisher }: { service: Program; publisher: Publisher },
  bytes: Buffer,
) {
  const file = { path: 'index.html', size: bytes.length, contentType: 'text/html' }
  const { upload } = await publisher.client.create({ files: [file] })
  const { pathname, search } = new URL(upload.uploads[0]!.url)
  const held = await HeldRequest.begin(service.port, {
    method: 'PUT',
    path: pathname + search,
    headers: { 'Content-Type': 'text/html' },
    body: bytes,
  })
  await held.send(bytes.length / 2)
  return { held, bytes }
}

/** Starts a visit and reads only the head of its response. */
async function beginVisit(port: number, slug: string, path: string): Promise<IncomingMessage> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    headers: { host: `${slug}.localhost:${port}` },
    agent: false,
  })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  return response
}

/** Opens a keep-alive connection that stays idle after one request. */
async function idleConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(HEALTH_REQUEST)
  await once(socket, 'data')
  return socket
}
