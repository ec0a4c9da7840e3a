import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { writeEmptyDatabase } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { lastingPort, Program, runProcess, type Settings } from './program.ts'
import { Publisher } from './publisher.ts'
import { beginUpload, beginVisit, LARGE } from './requests-in-progress.ts'

/** Long enough that a test hangs, instead of passing late, if the service waits for this limit. */
const LONG_DRAIN = { DRAIN_SECONDS: '3600' }

/** Keeps the processes of a service alive, as a part of it could that does not end. */
const KEEP_ALIVE = { modules: ['data:text/javascript,setInterval(() => undefined, 3_600_000)'] }

const READY_PAUSE = { modules: [join(import.meta.dirname, 'ready-pause.ts')] }

test('SIGINT makes a service not ready, then waits for what is in progress; a second one exits immediately, with 130', async () => {
  await using fixture = await startFixture({ ...LONG_DRAIN, READY_SECONDS: '600' }, READY_PAUSE)
  const { service } = fixture
  const finished = await beginUpload(fixture, Buffer.from('finished during the stop'))
  using _ = (await beginUpload(fixture, Buffer.from('never finished'))).held
  service.child.kill('SIGINT')
  await service.waitForLine(/"not ready: /)
  const { status, json } = await sendRequest(service.port, { path: '/ready' })
  assert.deepEqual([status, json], [503, { status: 'stopping' }])
  service.child.kill('SIGUSR2')
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

for (const [workers, what] of [
  ['1', 'one process'],
  ['2', 'two workers'],
] as const)
  test(`a service of ${what} whose log cannot be written serves, counts that, and stops in order`, async () => {
    await using data = await memoryFolder()
    const port = await lastingPort()
    const internalPort = await lastingPort()
    const settings: Settings = {
      ...{ DATA: data.path, WORKERS: workers },
      ...{ PORT: `${port}`, INTERNAL_PORT: `${internalPort}` },
    }
    await using service = Program.start(settings, { output: '/dev/full' })
    service.child.stderr!.destroy()
    service.baseUrl = `http://localhost:${port}`
    await waitFor(async () => {
      assert.equal(service.child.exitCode, null)
      return (await sendRequest(port, { path: '/ready' }).catch(() => undefined))?.status === 200
    })
    using publisher = new Publisher(service)
    // Its code is written to the standard error.
    await publisher.client.requestCode('owner@example.test')
    const { slug } = await publisher.publish({ 'index.html': 'here' })
    assert.equal((await sendRequest(port, { site: slug })).text, 'here')
    const { text } = await sendRequest(internalPort, { path: '/metrics' })
    assert.match(text, /^slipway_log_failures_total(\{.*\})? [1-9]/m)
    assert.equal((await service.stop()).code, 0)
  })

test('a service whose log nothing reads keeps a limited part of it, and counts what is lost', async () => {
  await using data = await memoryFolder()
  const port = await lastingPort()
  const internalPort = await lastingPort()
  const output = join(data.path, 'pipe')
  execFileSync('mkfifo', [output])
  await using pipe = await open(output, 'r+')
  const settings = { DATA: join(data.path, 'data'), PORT: `${port}`, INTERNAL_PORT: `${internalPort}` }
  await using _ = Program.start(settings, { output })
  await waitFor(
    async () => (await sendRequest(port, { path: '/ready' }).catch(() => undefined))?.status === 200,
  )
  const head = `GET /api/${'x'.repeat(4000)} HTTP/1.1\r\nHost: localhost\r\n`
  await waitFor(async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`${`${head}\r\n`.repeat(499)}${head}Connection: close\r\n\r\n`)
    assert.match((await buffer(socket)).toString(), /^HTTP\/1\.1 404/)
    const { text } = await sendRequest(internalPort, { path: '/metrics' })
    return /^slipway_log_failures_total [1-9]/m.test(text)
  })
  assert.ok(pipe.fd > 0)
})

test('a command whose output cannot be written fails, and names the reason once', async () => {
  await using data = await memoryFolder()
  await writeEmptyDatabase(data.path)
  const settings = { DATA: data.path, SECRET: randomBytes(32).toString('hex') }
  const { code, stderr } = await runProcess(['sweep', 'all'], settings, { output: '/dev/full' })
  assert.deepEqual(
    [code, stderr],
    [1, 'slipway-server: the output cannot be written: ENOSPC: no space left on device, write\n'],
  )
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
