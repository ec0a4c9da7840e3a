import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { AttemptLimiter } from '../../server/edge/password/attempt-limiter.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Semaphore } from '../../server/lib/semaphore.ts'
import { EdgeFixture, gate, readCookie } from './fixture.ts'

const PASSWORD = 'open sesame'
const HOUR_MS = 3_600_000

let edge: EdgeFixture
before(async () => {
  edge = await EdgeFixture.start()
})
after(() => edge[Symbol.asyncDispose]())
beforeEach(() => {
  // A new hour and a new client address: tests do not share attempts.
  edge.clock.now = Math.ceil((edge.clock.now + 1) / HOUR_MS) * HOUR_MS
  edge.address = `192.0.2.${++callers}`
})
let callers = 0

async function locked(): Promise<string> {
  const slug = await edge.publish({ 'index.html': 'inside', 'docs/index.html': 'docs', '404.html': 'lost' })
  await edge.setPassword(slug, PASSWORD)
  return slug
}

async function statusWith(slug: string, cookie: string, path = '/'): Promise<number> {
  return (await edge.get(slug, path, { headers: { cookie } })).status
}

describe('wrong passwords', () => {
  test('get the form again, with a message', async () => {
    const { status, headers, text } = await edge.submitPassword(await locked(), 'wrong', '/docs/')
    assert.equal(status, 401)
    assert.equal(headers['set-cookie'], undefined)
    assert.match(text, /not the password/)
  })

  test('are accepted five times a minute from an address; then even the right one has to wait', async () => {
    const slug = await locked()
    for (let count = 0; count < 5; count++)
      assert.equal((await edge.submitPassword(slug, 'wrong')).status, 401)
    edge.clock.now += 20_000
    const refused = await edge.submitPassword(slug, PASSWORD, '/docs/')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '40')
    assert.match(refused.text, /<form .*value="\/docs\/"/s)
    edge.clock.now += 39_999
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 429)
    edge.clock.now += 1
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
  })

  test('do not delay other addresses or visitors with a cookie', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
    for (let count = 0; count < 6; count++) await edge.submitPassword(slug, 'wrong')
    assert.equal(await statusWith(slug, cookie), 200)
    edge.address = '2001:db8::1'
    for (let count = 0; count < 5; count++)
      assert.equal((await edge.submitPassword(slug, 'wrong')).status, 401)
    edge.address = '2001:db8::ffff:2'
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 429, 'the same network')
    edge.address = '2001:db8:0:1::1'
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
  })

  test('are accepted a hundred times an hour at a site', async () => {
    const [slug, other] = [await locked(), await locked()]
    for (let count = 0; count < 100; count++) {
      edge.address = `198.51.100.${count}`
      assert.equal((await edge.submitPassword(slug, 'wrong')).status, 401)
    }
    edge.address = '203.0.113.1'
    const refused = await edge.submitPassword(slug, PASSWORD)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3600'])
    assert.match(refused.text, /60 minutes/)
    assert.equal((await edge.submitPassword(other, PASSWORD)).status, 303)
    edge.clock.now += HOUR_MS
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
  })

  test('are accepted twenty times an hour at a site from a network, without effect on others', async () => {
    const slug = await locked()
    for (let minute = 0; minute < 4; minute++, edge.clock.now += 60_000)
      for (let count = 0; count < 5; count++)
        assert.equal((await edge.submitPassword(slug, 'wrong')).status, 401)
    const refused = await edge.submitPassword(slug, PASSWORD)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3360'])
    edge.address = '203.0.113.7'
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
  })

  test('are counted exactly when concurrent, over two processes', async () => {
    await using other = await EdgeFixture.start({ folder: edge.folder })
    other.clock.now = edge.clock.now
    other.address = edge.address
    const slug = await locked()
    const body = new URLSearchParams({ password: 'wrong' }).toString()
    const ask = { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 ? edge : other).get(slug, '/_slipway/password', ask),
      ),
    )
    const statuses = replies.map((reply) => reply.status)
    assert.equal(statuses.filter((status) => status === 401).length, 5)
    assert.equal(statuses.filter((status) => status === 429).length, 35)
  })

  test('are counted exactly even when all are checked before the first is counted', async () => {
    const guesses = new AttemptLimiter({ store: edge.store.watched, clock: () => edge.clock.now })
    edge.store.delayRead = () => setImmediate()
    const begun = await Promise.all(
      Array.from({ length: 40 }, () => guesses.begin(edge.address, 'some-site')),
    )
    edge.store.delayRead = () => undefined
    assert.equal(begun.filter((guess) => 'windows' in guess).length, 5)
  })

  test('count, and right ones never do', async () => {
    const slug = await locked()
    for (let count = 0; count < 12; count++)
      assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
    for (let count = 0; count < 5; count++)
      assert.equal((await edge.submitPassword(slug, 'wrong')).status, 401)
    assert.equal((await edge.submitPassword(slug, 'wrong')).status, 429)
  })

  test('cause no write to the store once they are refused', async () => {
    const slug = await locked()
    for (let count = 0; count < 5; count++) await edge.submitPassword(slug, 'wrong')
    const { write } = edge.store.real
    edge.store.real.write = () => Promise.reject(new Error('a write'))
    assert.equal((await edge.submitPassword(slug, 'wrong')).status, 429)
    edge.store.real.write = write
  })

  test('are refused while they cannot be counted', async () => {
    const slug = await locked()
    await edge.get(slug)
    edge.store.unavailable = true
    const { status, headers } = await edge.submitPassword(slug, PASSWORD)
    edge.store.unavailable = false
    assert.deepEqual([status, headers['retry-after'], headers['set-cookie']], [503, '7', undefined])
  })

  test('that are empty are not counted', async () => {
    const slug = await locked()
    for (let count = 0; count < 10; count++) assert.equal((await edge.post(slug, 'next=%2F')).status, 401)
    assert.equal((await edge.post(slug, 'password=')).status, 401)
    assert.equal((await edge.submitPassword(slug, PASSWORD)).status, 303)
  })
})

describe('the semaphore', () => {
  test('runs a limited number, queues a limited number and refuses the next', async () => {
    const turns = new Semaphore({ running: 2, waiting: 3 })
    const { open, opened } = gate()
    let running = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++running)
      await opened
      running--
      return 'done'
    }
    const taken = Array.from({ length: 5 }, () => turns.run(work))
    await assert.rejects(
      turns.run(work),
      (error) => error instanceof ApiError && error.code === 'UNAVAILABLE',
    )
    open()
    assert.deepEqual(await Promise.all(taken), Array(5).fill('done'))
    assert.equal(most, 2)
    assert.equal(await turns.run(work), 'done')
  })

  test('releases its slot when work fails', async () => {
    const turns = new Semaphore({ running: 1, waiting: 1 })
    const failing = turns.run(() => Promise.reject(new Error('failed')))
    const next = turns.run(async () => 'next')
    await assert.rejects(failing, /failed/)
    assert.equal(await next, 'next')
  })
})
