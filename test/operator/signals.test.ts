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

/** Keeps the processes of a service alive, as a part of it could that does not end. */
const KEEP_ALIVE = { modules: ['data:text/javascript,setInterval(() => undefined, 3_600_000)'] }

test('SIGTERM makes a service of two workers not ready, then completes what is in progress, and exits with 0', async () => {
  const settings = { ...LONG_DRAIN, READY_SECONDS: '2', WORKERS: '2' }
  await using fixture = await startFixture(settings)
  const { service, publisher } = fixture
  assert.equal((await sendRequest(service.port, { path: '/ready' })).status, 200)
  const visited = await publisher.publish({ 'index.html': 'here', 'large.bin': LARGE })
  const pending = await publisher.stage({ 'index.html': 'finalized during the stop' })
  const uploads = await Promise.all(
    ['small', 'one', 'two'].map((name) => beginUpload(fixture, deterministicBytes(name, 700_000))),
  )
  const finalize = await HeldRequest.begin(service.port, {
    method: 'POST',
    path: new URL(pending.upload.finalizeUrl).pathname,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(JSON.stringify({ versionId: pending.versionId })),
  })
  const visit = await beginVisit(service.port, visited.slug, '/large.bin')
  const kept = await idleConnection(service.port)
  await idleConnection(service.port)
  const posting = await beginPost(service.port)

  service.child.kill('SIGTERM')
  await service.waitForLines(/"not ready: /, 2)
  kept.write(HEALTH_REQUEST)
  assert.match(await text(kept), /^HTTP\/1.1 200 .*\r\nConnection: close\r\n.*"ok"}$/is)
  const { status, json } = await sendRequest(service.port, { path: '/ready' })
  assert.deepEqual([status, json], [503, { status: 'stopping' }])
  const { slug } = await publisher.publish({ 'index.html': 'published while it stops' })
  assert.equal((await sendRequest(service.port, { site: slug })).text, 'published while it stops')

  await service.waitForLines(/"stopping: draining/, 2)
  posting.write(`{}${HEALTH_REQUEST}`)
  const [first, second, ...more] = (await text(posting)).split('HTTP/1.1 ').slice(1)
  assert.match(first!, /^400 /)
  assert.match(second!, /^200 .*\r\nConnection: close\r\n.*"ok"}$/is)
  assert.deepEqual(more, [])
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

test('SIGINT makes a service not ready, then waits for what is in progress; a second one exits immediately, with 130', async () => {
  await using fixture = await startFixture({ ...LONG_DRAIN, READY_SECONDS: '1' })
  const { service } = fixture
  const finished = await beginUpload(fixture, Buffer.from('finished during the stop'))
  using _ = (await beginUpload(fixture, Buffer.from('never finished'))).held
  service.child.kill('SIGINT')
  await service.waitForLine(/"not ready: /)
  const { status, json } = await sendRequest(service.port, { path: '/ready' })
  assert.deepEqual([status, json], [503, { status: 'stopping' }])
  await service.waitForLine(/"stopping: draining/)
  assert.equal((await finished.held.finish()).status, 200)
  service.child.kill('SIGINT')
  assert.equal((await service.ended).code, 130)
})

test('requests that do not end are aborted after the configured time, without a truncated response', async () => {
  await using fixture = await startFixture({ DRAIN_SECONDS: '1' }, KEEP_ALIVE)
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

/** Starts a service with a client. */
async function startFixture(
  settings: Record<string, string>,
  options: Parameters<typeof Program.serve>[1] = {},
) {
  await using started = new AsyncDisposableStack()
  const { path } = started.use(await memoryFolder())
  const service = started.use(await Program.serve({ DATA: path, ...settings }, options))
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

/** Sends the head of a request whose body the service waits for. */
async function beginPost(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  const lines = ['POST /api/v1/publish HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write([...lines, 'Content-Length: 2', 'Expect: 100-continue', '', ''].join('\r\n'))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  assert.match(begun.toString(), /^HTTP\/1.1 100 Continue\r\n\r\n$/)
  return socket
}

/** Opens a keep-alive connection that stays idle after one request. */
async function idleConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write(HEALTH_REQUEST)
  await once(socket, 'data')
  return socket
}
