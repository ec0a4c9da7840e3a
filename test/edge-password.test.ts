import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Guesses } from '../server/edge/guesses.ts'
import { Turns } from '../server/edge/turns.ts'
import { Failure } from '../server/failure.ts'
import { EdgeFixture, gate, type Reply } from './edge-fixture.ts'

const PASSWORD = 'Pa\u00dfwort & "more" \u2713'
const MINUTE = 60_000
const HOUR = 3_600_000

let edge: EdgeFixture
before(async () => {
  edge = await EdgeFixture.start()
})
after(() => edge[Symbol.asyncDispose]())
beforeEach(() => {
  // A new hour and a new caller: the guesses of one test are not those of the next.
  edge.clock.now = Math.ceil((edge.clock.now + 1) / HOUR) * HOUR
  edge.address = `192.0.2.${++callers}`
})
let callers = 0

async function locked(): Promise<string> {
  const slug = await edge.publish({ 'index.html': 'inside', 'docs/index.html': 'docs', '404.html': 'lost' })
  await edge.setPassword(slug, PASSWORD)
  return slug
}

async function guess(slug: string, password: string, next = '/'): Promise<Reply> {
  return post(slug, new URLSearchParams({ password, next }).toString())
}

async function post(slug: string, body: string, type = 'application/x-www-form-urlencoded'): Promise<Reply> {
  return edge.get(slug, '/_slipway/password', { method: 'POST', body, headers: { 'content-type': type } })
}

function cookieOf(reply: Reply): string {
  return reply.headers['set-cookie']![0]!.split(';')[0]!
}

async function statusWith(slug: string, cookie: string, path = '/'): Promise<number> {
  return (await edge.get(slug, path, { headers: { cookie } })).status
}

describe('a site with a password', () => {
  test('shows a form for every path, every method that reads and every version host, and nothing else', async () => {
    const slug = await locked()
    const draft = await edge.version(slug, { 'index.html': 'draft' }, { live: false })
    await edge.domain('locked.example.org', slug, 'active')
    for (const host of [slug, `${draft}--${slug}`, `${'0'.repeat(26)}--${slug}`]
      .map((name) => edge.host(name))
      .concat('locked.example.org')) {
      for (const path of ['/', '/docs', '/docs/', '/nowhere', '/nowhere.js', '/%', '/_slipway/password']) {
        const { status, headers, text } = await edge.ask(host, path)
        assert.equal(status, 401, `${host}${path}`)
        assert.match(text, /<form method="post" action="\/_slipway\/password">/)
        assert.doesNotMatch(text, /inside|draft|lost/)
        assert.equal(headers['cache-control'], 'no-store')
        assert.equal(headers.etag, undefined)
        assert.ok(headers['www-authenticate'])
        assert.match(headers['content-security-policy'] as string, /form-action 'self'/)
        assert.equal((await edge.ask(host, path, { method: 'HEAD' })).status, 401)
      }
      assert.equal((await edge.ask(host, '/', { headers: { 'if-none-match': '*' } })).status, 401)
      assert.equal((await edge.ask(host, '/', { method: 'PUT' })).status, 405)
    }
  })

  test('lets in whoever knows it, back to where they wanted to go', async () => {
    const slug = await locked()
    const reply = await guess(slug, PASSWORD, '/docs/?a=1')
    assert.deepEqual([reply.status, reply.headers.location], [303, '/docs/?a=1'])
    assert.equal(reply.headers['cache-control'], 'no-store')
    const inside = await edge.get(slug, '/docs/', { headers: { cookie: `a=b; ${cookieOf(reply)}; c=d` } })
    assert.deepEqual([inside.status, inside.text], [200, 'docs'])
    assert.equal(inside.headers['cache-control'], 'private, no-store')
    assert.equal(await statusWith(slug, cookieOf(reply), '/nowhere'), 404)
  })

  test('sets a cookie for this host alone that no script can read', async () => {
    const { headers } = await guess(await locked(), PASSWORD)
    const [, ...attributes] = headers['set-cookie']![0]!.split('; ')
    assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
  })

  test('sets it for HTTPS alone where sites are reached by HTTPS', async () => {
    await using secure = await EdgeFixture.start({ baseUrl: 'https://api.test' })
    const slug = await secure.publish({ 'index.html': 'x' })
    await secure.setPassword(slug, PASSWORD)
    const body = new URLSearchParams({ password: PASSWORD }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const reply = await secure.get(slug, '/_slipway/password', { method: 'POST', body, headers: type })
    assert.equal(reply.status, 303)
    assert.match(reply.headers['set-cookie']![0]!, /; Secure$/)
  })

  test('takes a password however its letters are composed', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    await edge.setPassword(slug, 'caf\u00e9')
    assert.equal((await guess(slug, 'cafe\u0301')).status, 303)
  })

  test('never sends anybody to another host', async () => {
    const slug = await locked()
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'https://evil.example',
      '',
      '/\r\nA: b',
    ]) {
      const { status, headers } = await guess(slug, PASSWORD, next)
      assert.deepEqual([status, headers.location], [303, '/'], next)
    }
  })

  test('carries the way back through the form, escaped', async () => {
    const slug = await locked()
    const { text } = await edge.get(slug, `/a"><script>alert(1)</script>?b='&c`)
    const [, next] = /name="next" type="hidden" value="([^"]*)"/.exec(text)!
    assert.doesNotMatch(text, /<script/)
    assert.equal(unescaped(next!), `/a"><script>alert(1)</script>?b='&c`)
    const again = await guess(slug, 'wrong', unescaped(next!))
    assert.ok(again.text.includes(`value="${next}"`))
    assert.match((await edge.get(slug, '//evil.example')).text, /name="next" type="hidden" value="\/">/)
  })

  test('lets everybody in again once it has none', async () => {
    const slug = await locked()
    assert.equal((await edge.get(slug)).status, 401)
    await edge.setPassword(slug, null)
    assert.equal((await edge.get(slug)).status, 200)
    const { status, headers } = await guess(slug, 'anything', '/docs/')
    assert.deepEqual([status, headers.location, headers['set-cookie']], [303, '/docs/', undefined])
  })
})

describe('a password cookie', () => {
  test('is worth nothing at another site, even with the same password', async () => {
    const [one, other] = [await locked(), await edge.publish({ 'index.html': 'other' })]
    const row = await edge.store.real.read.sites.bySlug(one)
    await edge.change(other, { password_hash: row!.password_hash })
    const cookie = cookieOf(await guess(one, PASSWORD))
    assert.equal(await statusWith(one, cookie), 200)
    assert.equal(await statusWith(other, cookie), 401)
  })

  test('ends with the password, even if the same one is set again', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    assert.equal(await statusWith(slug, cookie), 200)
    await edge.setPassword(slug, PASSWORD)
    assert.equal(await statusWith(slug, cookie), 401)
  })

  test('ends after 30 days', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    edge.clock.now += 30 * 86_400_000 - 1
    assert.equal(await statusWith(slug, cookie), 200)
    edge.clock.now += 1
    assert.equal(await statusWith(slug, cookie), 401)
  })

  test('cannot be made or lengthened by hand', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    const [name, value] = cookie.split('=') as [string, string]
    const [until, signature] = value.split('.') as [string, string]
    const forged = [
      `${Number(until) + 1}.${signature}`,
      `${until}0.${signature}`,
      `0${until}.${signature}`,
      `${until}.${signature}.x`,
      `${until}.`,
      `${until}`,
      `.${signature}`,
      `Infinity.${signature}`,
      `${until}.${signature.slice(0, -1)}`,
      '',
    ]
    for (const other of forged) {
      assert.equal(await statusWith(slug, `${name}=${other}`), 401, other)
    }
    assert.equal(await statusWith(slug, `x${cookie}`), 401)
  })

  test('is found beside others of its name that a neighbour may have set', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    assert.equal(await statusWith(slug, `slipway_password=1.x; slipway_password; ${cookie}`), 200)
  })

  test('admits without asking the database', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    await statusWith(slug, cookie)
    const { reads } = edge.store
    assert.equal(await statusWith(slug, cookie), 200)
    assert.equal(edge.store.reads, reads)
  })
})

describe('wrong guesses', () => {
  test('get the form again, with a sentence', async () => {
    const { status, headers, text } = await guess(await locked(), 'wrong', '/docs/')
    assert.equal(status, 401)
    assert.equal(headers['set-cookie'], undefined)
    assert.match(text, /not the password/)
  })

  test('are taken five times a minute from an address; then even the right one has to wait', async () => {
    const slug = await locked()
    for (let count = 0; count < 5; count++) assert.equal((await guess(slug, 'wrong')).status, 401)
    edge.clock.now += 20_000
    const refused = await guess(slug, PASSWORD, '/docs/')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '40')
    assert.match(refused.text, /<form .*value="\/docs\/"/s)
    edge.clock.now += 39_999
    assert.equal((await guess(slug, PASSWORD)).status, 429)
    edge.clock.now += 1
    assert.equal((await guess(slug, PASSWORD)).status, 303)
  })

  test('of another address, and those who are in already, are not held up', async () => {
    const slug = await locked()
    const cookie = cookieOf(await guess(slug, PASSWORD))
    for (let count = 0; count < 6; count++) await guess(slug, 'wrong')
    assert.equal(await statusWith(slug, cookie), 200)
    edge.address = '2001:db8::1'
    for (let count = 0; count < 5; count++) assert.equal((await guess(slug, 'wrong')).status, 401)
    edge.address = '2001:db8::ffff:2'
    assert.equal((await guess(slug, PASSWORD)).status, 429, 'the same network')
    edge.address = '2001:db8:0:1::1'
    assert.equal((await guess(slug, PASSWORD)).status, 303)
  })

  test('are taken a hundred times an hour at a site', async () => {
    const [slug, other] = [await locked(), await locked()]
    for (let count = 0; count < 100; count++) {
      edge.address = `198.51.100.${count}`
      assert.equal((await guess(slug, 'wrong')).status, 401)
    }
    edge.address = '203.0.113.1'
    const refused = await guess(slug, PASSWORD)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3600'])
    assert.match(refused.text, /60 minutes/)
    assert.equal((await guess(other, PASSWORD)).status, 303)
    edge.clock.now += HOUR
    assert.equal((await guess(slug, PASSWORD)).status, 303)
  })

  test('are counted exactly when they come at once, over two processes', async () => {
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

  test('are counted exactly even when all have looked before the first is counted', async () => {
    const guesses = new Guesses({ store: edge.store.watched, clock: () => edge.clock.now })
    edge.store.holdUp = () => setImmediate()
    const begun = await Promise.all(
      Array.from({ length: 40 }, () => guesses.begin(edge.address, 'some-site')),
    )
    edge.store.holdUp = () => undefined
    assert.equal(begun.filter((guess) => 'windows' in guess).length, 5)
  })

  test('are not what right ones are: those never count', async () => {
    const slug = await locked()
    for (let count = 0; count < 12; count++) assert.equal((await guess(slug, PASSWORD)).status, 303)
    for (let count = 0; count < 5; count++) assert.equal((await guess(slug, 'wrong')).status, 401)
    assert.equal((await guess(slug, 'wrong')).status, 429)
  })

  test('cost the store no write once they are refused', async () => {
    const slug = await locked()
    for (let count = 0; count < 5; count++) await guess(slug, 'wrong')
    const { write } = edge.store.real
    edge.store.real.write = () => Promise.reject(new Error('a write'))
    assert.equal((await guess(slug, 'wrong')).status, 429)
    edge.store.real.write = write
  })

  test('are refused while they cannot be counted', async () => {
    const slug = await locked()
    await edge.get(slug)
    edge.store.away = true
    const { status, headers } = await guess(slug, PASSWORD)
    edge.store.away = false
    assert.deepEqual([status, headers['retry-after'], headers['set-cookie']], [503, '7', undefined])
  })

  test('that say nothing are not counted', async () => {
    const slug = await locked()
    for (let count = 0; count < 10; count++) assert.equal((await post(slug, 'next=%2F')).status, 401)
    assert.equal((await post(slug, 'password=')).status, 401)
    assert.equal((await guess(slug, PASSWORD)).status, 303)
    edge.clock.now += MINUTE
  })
})

describe('a form that is not one', () => {
  test('of more than 4 KiB is refused, declared or not', async () => {
    const slug = await locked()
    assert.equal((await post(slug, `password=${'x'.repeat(5000)}`)).status, 413)
    const head = `POST /_slipway/password HTTP/1.1\r\nHost: ${edge.host(slug)}\r\nContent-Type: application/x-www-form-urlencoded\r\n`
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    assert.match(
      await edge.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}`),
      /^HTTP\/1\.1 413 /,
    )
  })

  test('of another type is refused', async () => {
    const slug = await locked()
    for (const type of ['multipart/form-data; boundary=x', 'application/json', 'text/plain', '']) {
      assert.equal((await post(slug, '{}', type)).status, 415)
    }
    assert.equal(
      (
        await post(
          slug,
          `password=${encodeURIComponent(PASSWORD)}`,
          'Application/X-WWW-Form-Urlencoded; charset=utf-8',
        )
      ).status,
      303,
    )
  })

  test('is a 404 or a 410 where there is no site', async () => {
    const gone = await edge.publish({ 'index.html': 'x' })
    await edge.end(gone, 'expired')
    assert.equal((await guess('no-such-site', 'x')).status, 404)
    assert.equal((await guess(gone, 'x')).status, 410)
  })

  test('that breaks off leaves nothing behind', async () => {
    const slug = await locked()
    await edge.get(slug)
    edge.logged.length = 0
    const socket = connect(edge.port, '127.0.0.1')
    socket.write(
      `POST /_slipway/password HTTP/1.1\r\nHost: ${edge.host(slug)}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\npassw`,
    )
    await once(socket, 'connect')
    await edge.get(slug)
    socket.destroy()
    await once(socket, 'close')
    assert.equal((await edge.get(slug)).status, 401)
    assert.equal(edge.logged.length, 0)
  })
})

describe('turns', () => {
  test('so many run, so many wait, the next is turned away', async () => {
    const turns = new Turns({ running: 2, waiting: 3 })
    const { open, opened } = gate()
    let running = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++running)
      await opened
      running--
      return 'done'
    }
    const taken = Array.from({ length: 5 }, () => turns.take(work))
    await assert.rejects(
      turns.take(work),
      (error) => error instanceof Failure && error.code === 'UNAVAILABLE',
    )
    open()
    assert.deepEqual(await Promise.all(taken), Array(5).fill('done'))
    assert.equal(most, 2)
    assert.equal(await turns.take(work), 'done')
  })

  test('work that fails gives its turn on', async () => {
    const turns = new Turns({ running: 1, waiting: 1 })
    const failing = turns.take(() => Promise.reject(new Error('failed')))
    const next = turns.take(async () => 'next')
    await assert.rejects(failing, /failed/)
    assert.equal(await next, 'next')
  })
})

function unescaped(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
