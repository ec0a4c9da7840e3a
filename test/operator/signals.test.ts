import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { deterministicBytes, received } from '../blobs/bytes.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'
import { Publisher } from './publisher.ts'
import { ask, HeldRequest } from './requests.ts'

/** No test here waits for the clock: what should end at once would take an hour instead, and be cut off as hanging. */
const PATIENT = { DRAIN_SECONDS: '3600' }

const LARGE = deterministicBytes('large', 8_000_000)

for (const { signal, workers } of [
  { signal: 'SIGTERM', workers: '1' },
  { signal: 'SIGINT', workers: '1' },
  { signal: 'SIGTERM', workers: '2' },
] as const) {
  test(`${signal} finishes uploads, finalizes and visits under way and ends with 0: ${workers} at the port`, async () => {
    await using town = await startTown({ ...PATIENT, WORKERS: workers })
    const { service, publisher } = town
    const visited = await publisher.publish({ 'index.html': 'here', 'large.bin': LARGE })
    const waiting = await publisher.stage({ 'index.html': 'finalized in the end' })
    const uploads = await Promise.all(
      [
        deterministicBytes('small', 5000),
        deterministicBytes('one', 700_000),
        deterministicBytes('two', 700_000),
      ].map((bytes) => beginUpload(town, bytes)),
    )
    const finalize = await HeldRequest.begin(service.port, {
      method: 'POST',
      path: new URL(waiting.upload.finalizeUrl).pathname,
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from(JSON.stringify({ versionId: waiting.versionId })),
    })
    const visit = await beginVisit(service.port, visited.slug, '/large.bin')
    await idleConnection(service.port)

    service.child.kill(signal)
    for (let worker = 0; worker < Number(workers); worker++) await service.until(/"stopping: draining/)
    for (const { held, bytes } of uploads) {
      const { status, json } = await held.finish()
      assert.deepEqual([status, json.hash, json.size], [200, received(bytes).hash, bytes.length])
    }
    const finalized = await finalize.finish()
    assert.deepEqual([finalized.status, finalized.json.currentVersionId], [200, waiting.versionId])
    assert.ok((await buffer(visit)).equals(LARGE))
    const { code, complained } = await service.ended
    assert.deepEqual([code, complained], [0, ''])
    await assert.rejects(ask(service.port, {}), { code: 'ECONNREFUSED' })

    await using again = await Program.serve({ DATA: town.data })
    assert.equal((await ask(again.port, { site: waiting.slug })).body.toString(), 'finalized in the end')
  })
}

test('a second SIGINT ends it at once', async () => {
  await using town = await startTown(PATIENT)
  using _ = (await beginUpload(town, LARGE)).held
  town.service.child.kill('SIGINT')
  await town.service.until(/"stopping: draining/)
  town.service.child.kill('SIGINT')
  assert.equal((await town.service.ended).code, 130)
})

test('what does not end by itself is cut off after the time that is set, without half an answer', async () => {
  await using town = await startTown({ DRAIN_SECONDS: '1' })
  const { service, publisher } = town
  const { slug } = await publisher.publish({ 'index.html': 'here', 'large.bin': LARGE })
  const { held } = await beginUpload(town, LARGE)
  const outcome = held.outcome()
  const silent = connect(service.port, '127.0.0.1')
  await once(silent, 'connect')
  silent.write('GET / HTTP/1.1\r\nHost: ')
  const visit = await beginVisit(service.port, slug, '/large.bin')
  const { code } = await service.stop()
  assert.equal(code, 0)
  const answer = await outcome
  assert.ok(answer === undefined || answer.status >= 400, 'an upload that did not end is not acknowledged')
  await assert.rejects(buffer(visit), 'nobody takes half a body for a whole one')
  silent.destroy()

  await using again = await Program.serve({ DATA: town.data })
  assert.equal((await ask(again.port, { site: slug })).body.toString(), 'here')
})

test('a request that comes over a kept connection while it stops is answered whole', async () => {
  await using town = await startTown(PATIENT)
  const { service } = town
  const { held } = await beginUpload(town, deterministicBytes('holds the door', 5000))
  const socket = connect(service.port, '127.0.0.1')
  const lines = ['POST /api/v1/publish HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write([...lines, 'Content-Length: 2', 'Expect: 100-continue', '', ''].join('\r\n'))
  const [begun] = (await once(socket, 'data')) as [Buffer]
  assert.match(begun.toString(), /^HTTP\/1.1 100 Continue\r\n\r\n$/)
  service.child.kill('SIGTERM')
  await service.until(/"stopping: draining/)
  socket.write('{}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [first, second, ...more] = (await text(socket)).split('HTTP/1.1 ').slice(1)
  assert.match(first!, /^400 /)
  assert.match(second!, /^200 .*\r\nConnection: close\r\n.*"ok"}$/is)
  assert.deepEqual(more, [])
  assert.equal((await held.finish()).status, 200)
  assert.equal((await service.ended).code, 0)
})

/** A service that finishes what is under way however long it takes, and somebody who publishes there. */
async function startTown(settings: Record<string, string>) {
  await using started = new AsyncDisposableStack()
  const { path: data } = started.use(await memoryFolder())
  const service = started.use(await Program.serve({ DATA: data, ...settings }))
  const publisher = started.use(new Publisher(service))
  const owned = started.move()
  return { data, service, publisher, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** An upload of which half has been sent. */
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

/** A visit whose answer has begun, and that takes no more for now. */
async function beginVisit(port: number, slug: string, path: string): Promise<IncomingMessage> {
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    headers: { host: `${slug}.localhost:${port}` },
    agent: false,
  })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  return response
}

/** A connection over which nobody asks anything more. */
async function idleConnection(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(socket, 'data')
}
