import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Program } from './program.ts'
import { Publisher } from './publisher.ts'
import { ask, type OperatorResponse } from './requests.ts'

/** Enough that a worker that is late is found: a worker polls for changes five times a second. */
const PUBLISHES = 25

const TELL_CONNECTIONS = join(import.meta.dirname, 'tell-connections.ts')

let town: Awaited<ReturnType<typeof startWorkers>>
before(async () => {
  town = await startWorkers()
})
after(() => town[Symbol.asyncDispose]())

test('what is published through one worker shows at once through every other', async (context) => {
  using owner = await Publisher.signIn(town.service, 'owner@example.test')
  const { slug } = await owner.publish({ 'index.html': 'before' })
  const elsewhere = { publishes: 0, visits: 0 }
  for (let number = 0; number < PUBLISHES; number++) {
    const { upload } = await owner.stage({ 'index.html': `content ${number}` }, slug)
    const finalized = await town.ask({
      method: 'POST',
      path: `/api/v1/publish/${slug}/finalize`,
      headers: { Authorization: `Bearer ${owner.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ versionId: upload.versionId }),
    })
    assert.equal(finalized.status, 200)
    const visits = await Promise.all(Array.from({ length: 6 }, () => town.ask({ site: slug })))
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

test('every other change shows at once through every worker', async () => {
  using owner = await Publisher.signIn(town.service, 'owner@example.test')
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
    for (const { status, body } of await town.askBoth({ site: slug }))
      assert.equal(typeof seen === 'number' ? status : body.toString(), seen, what)
  }
})

test('limits count exactly over all workers', async () => {
  await using town = await startWorkers({ RATE_ANONYMOUS: '40' })
  const answers = await Promise.all(
    Array.from({ length: 120 }, () =>
      town.ask({
        method: 'POST',
        path: '/api/v1/publish',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      }),
    ),
  )
  assert.equal(new Set(answers.map((answer) => answer.process)).size, 2, 'both workers were asked')
  for (const answersOfAnHour of Map.groupBy(answers, resetOf).values()) {
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

test('a worker that is killed is started again; the service goes on without it and with it', async () => {
  using owner = await Publisher.signIn(town.service, 'owner@example.test')
  const { slug } = await owner.publish({ 'index.html': 'before' })
  await town.askBoth({ site: slug })
  const [killed, other] = town.service.workers as [number, number]
  process.kill(killed, 'SIGKILL')
  await town.service.until(/"worker exited; restarting it"/)
  using publisher = new Publisher(town.service, owner.key)
  await publisher.publish({ 'index.html': 'meanwhile' }, slug)
  for (let number = 0; number < 30; number++) {
    const { body } = await town.ask({ site: slug })
    assert.equal(body.toString(), 'meanwhile')
  }
  await town.askUntil({ site: slug }, (answer) => ![killed, other].includes(answer.process))
  await publisher.publish({ 'index.html': 'afterwards' }, slug)
  for (const { body } of await town.askBoth({ site: slug })) assert.equal(body.toString(), 'afterwards')
  assert.equal((await town.service.stop()).code, 0)
})

test('workers do not outlive a supervisor that is killed, and their port is free', async () => {
  await using folder = await memoryFolder()
  await using first = await Program.serve({ DATA: folder.path, WORKERS: '2' })
  const { port } = first
  first.child.kill('SIGKILL')
  // It has ended when nobody has its output open any more, its workers included.
  await first.ended
  await using second = await Program.serve({ DATA: folder.path, WORKERS: '2', PORT: String(port) })
  assert.equal((await ask(second.port, { path: '/health' })).status, 200)
})

test('a site ends in the second of its time on every worker', async (context) => {
  await using town = await startWorkers({ ANONYMOUS_LIFETIME: '2' })
  using anybody = new Publisher(town.service)
  const staged = await anybody.stage({ 'index.html': 'for a while' })
  await anybody.client.finalize(staged.slug, staged)
  const end = Date.parse(staged.expiresAt!)
  const ended = new Set<number>()
  let visits = 0
  while (ended.size < 2 || Date.now() < end + 1000) {
    const asked = Date.now()
    const visit = await town.ask({ site: staged.slug })
    visits++
    if (Date.now() < end) assert.equal(visit.status, 200, 'not before its time')
    if (asked >= end + 1000) assert.equal(visit.status, 410, 'not a second after its time')
    if (visit.status === 410) ended.add(visit.process)
    else assert.equal(ended.has(visit.process), false, 'what is over stays over')
  }
  context.diagnostic(`${visits} visits`)
})

interface ToldAnswer extends OperatorResponse {
  /** Who answered. */
  process: number
}

type Question = Parameters<typeof ask>[1]

/** A service of two workers, with answers that tell which of them gave it. */
async function startWorkers(settings: Record<string, string> = {}) {
  await using started = new AsyncDisposableStack()
  const { path } = started.use(await memoryFolder())
  const service = started.use(
    await Program.serve({ DATA: path, WORKERS: '2', ...settings }, [TELL_CONNECTIONS]),
  )
  const askAndTell = async (question: Question): Promise<ToldAnswer> => {
    const from = service.said.length
    const answer = await ask(service.port, question)
    const line = await service.until(new RegExp(`^{"connection":${answer.connection},`), from)
    return { ...answer, process: JSON.parse(line).process }
  }
  const owned = started.move()
  return {
    service,
    ask: askAndTell,
    async askUntil(question: Question, isRight: (answer: ToldAnswer) => boolean) {
      for (;;) {
        const answer = await askAndTell(question)
        if (isRight(answer)) return answer
      }
    },
    /** Asks until every worker answered, the same question over connections of its own. */
    async askBoth(question: Question) {
      const answers = new Map<number, ToldAnswer>()
      while (answers.size < 2) {
        const answer = await askAndTell(question)
        answers.set(answer.process, answer)
      }
      return [...answers.values()]
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function resetOf({ headers }: OperatorResponse): string {
  return String(headers['x-ratelimit-reset'])
}
