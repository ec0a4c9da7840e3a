import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buffer, text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HOUR_MS } from '../../server/lib/time.ts'
import { deterministicBytes, received } from '../blobs/bytes.ts'
import { HeldRequest, type HttpResponse, sendRequest } from '../support/http-client.ts'
import { pluck } from '../support/pluck.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { attachStrace } from '../tools/strace.ts'
import { Program, run } from './program.ts'
import { Publisher } from './publisher.ts'
import {
  beginPost,
  beginUpload,
  beginVisit,
  HEALTH_REQUEST,
  idleConnection,
  LARGE,
} from './requests-in-progress.ts'

/** Enough to detect a worker that only polls for changes, which it does five times per second. */
const PUBLISHES = 12

const RATE_ANONYMOUS = 40

/** Between requests while a worker starts, which needs the CPU. */
const REQUEST_INTERVAL_MS = 20

const LOG_TRACING_PACKAGES = new URL('log-tracing-packages.ts', import.meta.url).href

const MODULES = [
  ...['log-connections.ts', 'ready-pause.ts'].map((name) => join(import.meta.dirname, name)),
  LOG_TRACING_PACKAGES,
]

const TELEMETRY = new URL('../../server/operations/telemetry/otlp.ts', import.meta.url).href

interface WorkerResponse extends HttpResponse {
  /** Id of the process that responded. */
  process: number
}

type RequestSpec = Parameters<typeof sendRequest>[1]

describe('a service of two workers', () => {
  const started = new AsyncDisposableStack()
  let service: Program
  let internalPort: number
  let data: string
  let owner: Publisher & { key: string }
  before(async () => {
    data = started.use(await memoryFolder()).path
    internalPort = await freePort()
    const settings = {
      ...{ DATA: data, WORKERS: '2', RATE_ANONYMOUS: `${RATE_ANONYMOUS}` },
      // A test hangs, instead of passing late, if the service waits for this drain time.
      ...{ INTERNAL_PORT: `${internalPort}`, READY_SECONDS: '600', DRAIN_SECONDS: '3600' },
    }
    service = started.use(await Program.serve(settings, { modules: MODULES }))
    owner = started.use(await Publisher.signIn(service, 'owner@example.test'))
  })
  after(() => started.disposeAsync())

  async function request(spec: RequestSpec): Promise<WorkerResponse> {
    const from = service.lines.length
    const answer = await sendRequest(service.port, spec)
    const line = await service.waitForLine(new RegExp(`^{"connection":${answer.connection},`), from)
    return { ...answer, process: JSON.parse(line).process }
  }

  /** Repeats a request on new connections until every worker has responded to it. */
  async function requestEveryWorker(spec: RequestSpec): Promise<WorkerResponse[]> {
    const answers = new Map<number, WorkerResponse>()
    while (answers.size < 2) {
      const answer = await request(spec)
      answers.set(answer.process, answer)
    }
    return [...answers.values()]
  }

  test('shows a publish through one worker immediately through every other', async (context) => {
    const { slug } = await owner.publish({ 'index.html': 'before' })
    const elsewhere = { publishes: 0, visits: 0 }
    for (let number = 0; number < PUBLISHES; number++) {
      const { upload } = await owner.stage({ 'index.html': `content ${number}` }, slug)
      const finalized = await request({
        method: 'POST',
        path: `/api/v1/publish/${slug}/finalize`,
        headers: { Authorization: `Bearer ${owner.key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ versionId: upload.versionId }),
      })
      assert.equal(finalized.status, 200)
      const visits = await Promise.all(Array.from({ length: 6 }, () => request({ site: slug })))
      for (const visit of visits) assert.equal(visit.body.toString(), `content ${number}`)
      const others = visits.filter((visit) => visit.process !== finalized.process).length
      elsewhere.visits += others
      elsewhere.publishes += others > 0 ? 1 : 0
    }
    context.diagnostic(
      `${elsewhere.visits} of ${6 * PUBLISHES} visits were to another worker, after ${elsewhere.publishes} publishes`,
    )
    assert.ok(elsewhere.publishes >= PUBLISHES / 2, 'after most publishes another worker was visited')
  })

  test('loads no package of OpenTelemetry without its setting', async () => {
    const isLoaded = (line: string) => line.startsWith('{"loaded":')
    const args = ['--import', LOG_TRACING_PACKAGES, '--import', TELEMETRY, '--eval', '']
    const { stdout } = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    assert.ok(isLoaded(await text(stdout)), 'loading them would print a line')
    assert.ok(!service.lines.some(isLoaded))
  })

  test('shares the internal port, where one response has the metrics of every worker', async () => {
    const { text } = await sendRequest(internalPort, { path: '/metrics' })
    const workers = text.match(/(?<=^slipway_breaker_open\{worker=")\d+/gm)
    assert.deepEqual(workers?.sort(), ['1', '2'])
  })

  test('has its port accepted by a check of the same machine', async () => {
    const { lines } = await run(['check'], { DATA: data, PORT: `${service.port}` })
    const line = lines.find((line) => line.includes(' port: SLIPWAY_PORT'))
    assert.match(
      `${line}`,
      new RegExp(`^ok +port: .*the service is running, and listens on ${service.port}$`),
    )
  })

  test('counts rate limits exactly over all workers', async () => {
    const spec = { method: 'POST', path: '/api/v1/publish', body: '{}' }
    const headers = { 'Content-Type': 'application/json' }
    const answers = await Promise.all(
      Array.from({ length: 3 * RATE_ANONYMOUS }, () => request({ ...spec, headers })),
    )
    assert.equal(new Set(answers.map((answer) => answer.process)).size, 2, 'both workers responded')
    const byHour = Map.groupBy(answers, ({ headers }) => String(headers['x-ratelimit-reset']))
    for (const answersOfAnHour of byHour.values()) {
      const admitted = answersOfAnHour.filter(({ status }) => status === 400)
      const refused = answersOfAnHour.filter(({ status }) => status === 429)
      assert.equal(admitted.length + refused.length, answersOfAnHour.length)
      assert.equal(admitted.length, Math.min(RATE_ANONYMOUS, answersOfAnHour.length))
      const left = admitted.map(({ headers }) => Number(headers['x-ratelimit-remaining']))
      assert.deepEqual(
        left.sort((a, b) => b - a),
        Array.from({ length: admitted.length }, (_, index) => RATE_ANONYMOUS - 1 - index),
      )
    }
  })

  test('restarts a killed worker, and stays available during and after that', async () => {
    const { slug } = await owner.publish({ 'index.html': 'before' })
    await requestEveryWorker({ site: slug })
    const [killed, other] = service.workers as [number, number]
    process.kill(killed, 'SIGKILL')
    await service.waitForLine(/"worker exited; restarting it"/)
    using publisher = new Publisher(service, owner.key)
    await publisher.publish({ 'index.html': 'second' }, slug)
    let answer = await request({ site: slug })
    for (; [killed, other].includes(answer.process); answer = await request({ site: slug })) {
      assert.equal(answer.body.toString(), 'second')
      await pause(REQUEST_INTERVAL_MS)
    }
    await publisher.publish({ 'index.html': 'afterwards' }, slug)
    for (const { body } of await requestEveryWorker({ site: slug }))
      assert.equal(body.toString(), 'afterwards')
  })

  test('is not ready after SIGTERM, then completes what is in progress, and exits with 0', async () => {
    assert.equal((await sendRequest(service.port, { path: '/ready' })).status, 200)
    const visited = await owner.publish({ 'index.html': 'here', 'large.bin': LARGE })
    const pending = await owner.stage({ 'index.html': 'finalized during the stop' })
    const uploads = await Promise.all(
      ['small', 'one', 'two'].map((name) =>
        beginUpload({ service, publisher: owner }, deterministicBytes(name, 700_000)),
      ),
    )
    const finalize = await HeldRequest.begin(service.port, {
      method: 'POST',
      path: new URL(pending.upload.finalizeUrl).pathname,
      headers: { Authorization: `Bearer ${owner.key}`, 'Content-Type': 'application/json' },
      body: Buffer.from(JSON.stringify({ versionId: pending.versionId })),
    })
    const visit = await beginVisit(service.port, visited.slug, '/large.bin')
    const kept = await idleConnection(service.port)
    await idleConnection(service.port)
    const posting = await beginPost(service.port, owner.key)

    service.child.kill('SIGTERM')
    await service.waitForLines(/"not ready: /, 2)
    kept.write(HEALTH_REQUEST)
    assert.match(await text(kept), /^HTTP\/1.1 200 .*\r\nConnection: close\r\n.*"ok"}$/is)
    const { status, json, headers } = await sendRequest(service.port, { path: '/ready' })
    assert.deepEqual([status, json, headers['retry-after']], [503, { status: 'stopping' }, '5'])
    const { slug } = await owner.publish({ 'index.html': 'published while it stops' })
    assert.equal((await sendRequest(service.port, { site: slug })).text, 'published while it stops')

    for (const worker of service.workers) process.kill(worker, 'SIGUSR2')
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
    assert.equal(code, 0)
    assert.match(stderr, /^Sign-in code for \S+ \S+\n$/)
    await assert.rejects(sendRequest(service.port, {}), { code: 'ECONNREFUSED' })
  })
})

/** A worker whose refresh after a change ends on command. */
const WORKER = `
  import { WorkerChannel } from ${JSON.stringify(new URL('../../server/commands/workers.ts', import.meta.url).href)}
  const refresh = Promise.withResolvers()
  process.on('message', ({ kind }) => kind === 'finish' && refresh.resolve())
  new WorkerChannel(() => process.disconnect()).ready({
    baseUrl: 'http://localhost',
    async invalidate() {
      process.send({ kind: 'refreshing' })
      await refresh.promise
      process.send({ kind: 'refreshed' })
    },
  })
`

test('a worker acknowledges a change after it has refreshed the affected caches, not before', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', WORKER], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const messages: { kind: string; id?: number }[] = []
  const ended = once(worker, 'exit')
  worker.on('message', (message: { kind: string }) => {
    messages.push(message)
    if (message.kind === 'ready') {
      const changes = [['www.example.test', 'outdated']]
      worker.send({ kind: 'question', id: 7, changes })
    }
    // An early acknowledgment would have been sent by now.
    if (message.kind === 'refreshing') worker.send({ kind: 'finish' })
    if (messages.length === 4) worker.send({ kind: 'stop' })
  })
  await ended
  assert.deepEqual(pluck(messages, 'kind'), ['ready', 'refreshing', 'refreshed', 'answer'])
  assert.equal(messages.at(-1)!.id, 7)
})

test(
  'while the disk does not confirm a publish, a service with two workers serves every site and refuses publishes',
  requires('strace'),
  async () => {
    await using folder = await memoryFolder()
    const settings = { DATA: folder.path, WORKERS: '2' }
    await using service = await Program.serve(settings, { deadlines: 'production' })
    using publisher = await Publisher.signIn(service, 'owner@example.test')
    const publish = (content: string) => publisher.publish({ 'index.html': content })
    const [warm, ...cold] = await Promise.all(Array.from({ length: 9 }, (_, number) => publish(`${number}`)))
    const visit = async ({ slug }: { slug: string }) =>
      (await sendRequest(service.port, { site: slug })).body.toString()
    assert.equal(await visit(warm!), '0')
    let publishing: Promise<unknown>
    {
      const { pid } = service.child
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
      const delay = `inject=fdatasync:delay_enter=${HOUR_MS}ms`
      const processes = children.flatMap((child) => ['-p', child])
      const log = join(folder.path, 'slipway.db-wal')
      await using _ = await attachStrace(pid!, ['-P', log, '-e', delay, ...processes])
      publishing = Promise.allSettled([publish('slow')])
      assert.equal(await visit(warm!), '0')
      for (const [number, site] of cold.entries()) assert.equal(await visit(site), `${number + 1}`)
      await service.waitForLine(/the database does not confirm commits/)
      await assert.rejects(publish('refused'), { code: 'UNAVAILABLE' })
      const request = { path: '/api/v1/publishes', headers: { Authorization: `Bearer ${publisher.key}` } }
      assert.equal((await sendRequest(service.port, request)).status, 200)
      for (const [number, site] of cold.entries()) assert.equal(await visit(site), `${number + 1}`)
    }
    await service.waitForLine(/the database confirms commits again/)
    await publishing
  },
)

const SUPERVISED = join(import.meta.dirname, 'supervised-workers.ts')

/** Starts a supervisor of two workers without a service. */
function startSupervisor(...args: string[]) {
  const supervisor = spawn(process.execPath, [SUPERVISED, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]()
  return {
    supervisor,
    /** The first group of the next line that matches. */
    async waitForLine(expected: RegExp): Promise<string> {
      for (;;) {
        const line: string = (await lines.next()).value ?? assert.fail(`no line: ${expected}`)
        const match = expected.exec(line)
        if (match) return match[1]!
      }
    },
    [Symbol.dispose]: () => void supervisor.kill('SIGKILL'),
  }
}

test('a worker that does not respond is logged and replaced, and does not keep a service from stopping', async () => {
  using started = startSupervisor()
  const { supervisor, waitForLine } = started
  const [stopped, other] = [await waitForLine(/^ready (\d+)/), await waitForLine(/^ready (\d+)/)]
  process.kill(Number(stopped), 'SIGUSR2')
  assert.equal(await waitForLine(/"worker does not respond; killing it","pid":(\d+)/), stopped)
  assert.equal(await waitForLine(/"worker exited; restarting it",.*"signal":"(\w+)"/), 'SIGKILL')
  assert.ok(![stopped, other].includes(await waitForLine(/^ready (\d+)/)))
  process.kill(Number(other), 'SIGSTOP')
  supervisor.kill('SIGTERM')
  const [code] = await once(supervisor, 'exit')
  assert.equal(code, 0)
})

test('the first worker starts alone, and does not keep a service from stopping when it hangs', async () => {
  using started = startSupervisor('hang')
  const { supervisor, waitForLine } = started
  await waitForLine(/^starts (\d+)/)
  supervisor.kill('SIGTERM')
  await assert.rejects(waitForLine(/^forks (2)/), /no line/)
  assert.equal(supervisor.exitCode ?? (await once(supervisor, 'exit'))[0], 0)
})

test('a worker that hangs while it replaces another one is replaced, too', async () => {
  using started = startSupervisor('hang', 'later')
  const workers = [await started.waitForLine(/^ready (\d+)/), await started.waitForLine(/^ready (\d+)/)]
  process.kill(Number(workers[0]), 'SIGKILL')
  const hanging = await started.waitForLine(/^starts (\d+)/)
  assert.equal(await started.waitForLine(/"worker does not respond; killing it","pid":(\d+)/), hanging)
  assert.notEqual(await started.waitForLine(/^starts (\d+)/), hanging)
  let pings = 0
  while ((await started.waitForLine(/(^ping|killing it)/)) === 'ping') pings++
  assert.ok(pings <= 4, 'the pause before it was shorter than one interval')
})

test('a worker that takes longer to start than those before it which were replaced becomes ready', async () => {
  using started = startSupervisor('late')
  const [killed] = [await started.waitForLine(/^ready (\d+)/), await started.waitForLine(/^ready (\d+)/)]
  process.kill(Number(killed), 'SIGKILL')
  await started.waitForLine(/"worker does not respond; (killing it)"/)
  await started.waitForLine(/^ready (\d+)/)
})

test('a service whose workers have all exited shuts down in order', async () => {
  using started = startSupervisor()
  const { supervisor, waitForLine } = started
  for (const pid of [await waitForLine(/^ready (\d+)/), await waitForLine(/^ready (\d+)/)])
    process.kill(Number(pid), 'SIGKILL')
  for (let worker = 0; worker < 2; worker++) await waitForLine(/"(worker exited)/)
  supervisor.kill('SIGTERM')
  const [code] = await once(supervisor, 'exit')
  assert.equal(code, 0)
})

for (const [path, reason] of Object.entries({ '/missing/node': 'ENOENT', '/dev/null/node': 'ENOTDIR' }))
  test(`a worker that cannot be started for ${reason} is started once it can be, while the others serve`, async () => {
    using started = startSupervisor('', path)
    const { supervisor, waitForLine } = started
    const [killed] = [await waitForLine(/^ready (\d+)/), await waitForLine(/^ready (\d+)/)]
    supervisor.kill('SIGUSR2')
    assert.equal(await waitForLine(/^program (.+)/), path)
    process.kill(Number(killed), 'SIGKILL')
    await waitForLine(
      new RegExp(`"worker could not be started; trying again","error":"Error: spawn.* (${reason})`),
    )
    supervisor.kill('SIGUSR2')
    await waitForLine(/^ready (\d+)/)
    supervisor.kill('SIGTERM')
    const [code] = await once(supervisor, 'exit')
    assert.equal(code, 0)
  })

test('workers end with a killed supervisor', async () => {
  using started = startSupervisor()
  for (let worker = 0; worker < 2; worker++) await started.waitForLine(/^ready (\d+)/)
  started.supervisor.kill('SIGKILL')
  // The output closes when the supervisor and all its workers have exited.
  await once(started.supervisor, 'close')
})
