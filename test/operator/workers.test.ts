import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type HttpResponse, sendRequest } from '../support/http-client.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'
import { Publisher } from './publisher.ts'

/** Enough to detect a worker that only polls for changes, which it does five times per second. */
const PUBLISHES = 25

const LOG_CONNECTIONS = join(import.meta.dirname, 'log-connections.ts')

let fixture: Awaited<ReturnType<typeof startWorkers>>
before(async () => {
  fixture = await startWorkers()
})
after(() => fixture[Symbol.asyncDispose]())

test('a publish through one worker is visible at once through every other', async (context) => {
  using owner = await Publisher.signIn(fixture.service, 'owner@example.test')
  const { slug } = await owner.publish({ 'index.html': 'before' })
  const elsewhere = { publishes: 0, visits: 0 }
  for (let number = 0; number < PUBLISHES; number++) {
    const { upload } = await owner.stage({ 'index.html': `content ${number}` }, slug)
    const finalized = await fixture.request({
      method: 'POST',
      path: `/api/v1/publish/${slug}/finalize`,
      headers: { Authorization: `Bearer ${owner.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ versionId: upload.versionId }),
    })
    assert.equal(finalized.status, 200)
    const visits = await Promise.all(Array.from({ length: 6 }, () => fixture.request({ site: slug })))
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

test('every other change is visible at once through every worker', async () => {
  using owner = await Publisher.signIn(fixture.service, 'owner@example.test')
  const { slug, versionId } = await owner.publish({ 'index.html': 'one' })
  await owner.publish({ 'index.html': 'two' }, slug)
  const { client } = owner
  const changes: [string, () => Promise<unknown>, string | number][] = [
    ['a version is restored', () => client.restore(slug, versionId), 'one'],
    ['a password is set', () => client.setMetadata(slug, { password: 'secret' }), 401],
    ['the password is taken away', () => client.setMetadata(slug, { password: null }), 'one'],
    ['the site is deleted', () => client.delete(slug), 404],
  ]
  for (const [what, change, seen] of changes) {
    await change()
    for (const { status, body } of await fixture.requestEveryWorker({ site: slug }))
      assert.equal(typeof seen === 'number' ? status : body.toString(), seen, what)
  }
})

test('rate limits count exactly over all workers', async () => {
  await using fixture = await startWorkers({ RATE_ANONYMOUS: '40' })
  const answers = await Promise.all(
    Array.from({ length: 120 }, () =>
      fixture.request({
        method: 'POST',
        path: '/api/v1/publish',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      }),
    ),
  )
  assert.equal(new Set(answers.map((answer) => answer.process)).size, 2, 'both workers responded')
  for (const answersOfAnHour of Map.groupBy(answers, rateLimitReset).values()) {
    const admitted = answersOfAnHour.filter(({ status }) => status === 400)
    const refused = answersOfAnHour.filter(({ status }) => status === 429)
    assert.equal(admitted.length + refused.length, answersOfAnHour.length)
    assert.equal(admitted.length, Math.min(40, answersOfAnHour.length))
    const left = admitted.map(({ headers }) => Number(headers['x-ratelimit-remaining']))
    assert.deepEqual(
      left.sort((a, b) => b - a),
      Array.from({ length: admitted.length }, (_, index) => 39 - index),
    )
  }
})

test('a killed worker is restarted; the service stays available during and after that', async () => {
  using owner = await Publisher.signIn(fixture.service, 'owner@example.test')
  const { slug } = await owner.publish({ 'index.html': 'before' })
  await fixture.requestEveryWorker({ site: slug })
  const [killed, other] = fixture.service.workers as [number, number]
  process.kill(killed, 'SIGKILL')
  await fixture.service.waitForLine(/"worker exited; restarting it"/)
  using publisher = new Publisher(fixture.service, owner.key)
  await publisher.publish({ 'index.html': 'second' }, slug)
  for (let number = 0; number < 30; number++) {
    const { body } = await fixture.request({ site: slug })
    assert.equal(body.toString(), 'second')
  }
  await fixture.requestUntil({ site: slug }, (answer) => ![killed, other].includes(answer.process))
  await publisher.publish({ 'index.html': 'afterwards' }, slug)
  for (const { body } of await fixture.requestEveryWorker({ site: slug }))
    assert.equal(body.toString(), 'afterwards')
  assert.equal((await fixture.service.stop()).code, 0)
})

test('workers exit with a killed supervisor, and their port is free', async () => {
  await using folder = await memoryFolder()
  await using first = await Program.serve({ DATA: folder.path, WORKERS: '2' })
  const { port } = first
  first.child.kill('SIGKILL')
  // The output closes when the supervisor and all its workers have exited.
  await first.ended
  await using second = await Program.serve({ DATA: folder.path, WORKERS: '2', PORT: String(port) })
  assert.equal((await sendRequest(second.port, { path: '/health' })).status, 200)
})

test('a service whose workers have all exited shuts down in order', async () => {
  await using folder = await memoryFolder()
  await using service = await Program.serve({ DATA: folder.path, WORKERS: '2' })
  for (const worker of service.workers) process.kill(worker, 'SIGKILL')
  const line = await service.waitForLine(/worker exited/)
  await service.waitForLine(/worker exited/, service.lines.indexOf(line) + 1)
  assert.equal((await service.stop()).code, 0)
})

/** A worker whose refresh after a change ends on command. */
const WORKER = `
  import { WorkerChannel } from ${JSON.stringify(join(import.meta.dirname, '..', '..', 'server', 'workers.ts'))}
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
    if (message.kind === 'ready') worker.send({ kind: 'invalidate', id: 7, slugs: ['www.example.test'] })
    // An early acknowledgement would have been sent by now.
    if (message.kind === 'refreshing') worker.send({ kind: 'finish' })
    if (messages.length === 4) worker.send({ kind: 'stop' })
  })
  await ended
  assert.deepEqual(
    messages.map(({ kind }) => kind),
    ['ready', 'refreshing', 'refreshed', 'invalidated'],
  )
  assert.equal(messages.at(-1)!.id, 7)
})

test('a site expires within the same second on every worker', async (context) => {
  await using fixture = await startWorkers({ ANONYMOUS_LIFETIME: '2' })
  using anonymous = new Publisher(fixture.service)
  const staged = await anonymous.stage({ 'index.html': 'for a while' })
  await anonymous.client.finalize(staged.slug, staged)
  const end = Date.parse(staged.expiresAt!)
  const ended = new Set<number>()
  let visits = 0
  while (ended.size < 2 || Date.now() < end + 1000) {
    const sentAt = Date.now()
    const visit = await fixture.request({ site: staged.slug })
    visits++
    if (Date.now() < end) assert.equal(visit.status, 200, 'not before its time')
    if (sentAt >= end + 1000) assert.equal(visit.status, 410, 'not a second after its time')
    if (visit.status === 410) ended.add(visit.process)
    else assert.equal(ended.has(visit.process), false, 'an expired site stays expired')
  }
  context.diagnostic(`${visits} visits`)
})

interface WorkerResponse extends HttpResponse {
  /** Id of the process that responded. */
  process: number
}

type RequestSpec = Parameters<typeof sendRequest>[1]

/** A service of two workers, with responses that include the id of their worker. */
async function startWorkers(settings: Record<string, string> = {}) {
  await using started = new AsyncDisposableStack()
  const { path } = started.use(await memoryFolder())
  const service = started.use(
    await Program.serve({ DATA: path, WORKERS: '2', ...settings }, { modules: [LOG_CONNECTIONS] }),
  )
  const requestWithProcess = async (spec: RequestSpec): Promise<WorkerResponse> => {
    const from = service.lines.length
    const answer = await sendRequest(service.port, spec)
    const line = await service.waitForLine(new RegExp(`^{"connection":${answer.connection},`), from)
    return { ...answer, process: JSON.parse(line).process }
  }
  const owned = started.move()
  return {
    service,
    request: requestWithProcess,
    async requestUntil(spec: RequestSpec, matches: (answer: WorkerResponse) => boolean) {
      for (;;) {
        const answer = await requestWithProcess(spec)
        if (matches(answer)) return answer
      }
    },
    /** Repeats a request on new connections until every worker has responded to it. */
    async requestEveryWorker(spec: RequestSpec) {
      const answers = new Map<number, WorkerResponse>()
      while (answers.size < 2) {
        const answer = await requestWithProcess(spec)
        answers.set(answer.process, answer)
      }
      return [...answers.values()]
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function rateLimitReset({ headers }: HttpResponse): string {
  return String(headers['x-ratelimit-reset'])
}
