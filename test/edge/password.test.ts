import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { EdgeFixture, readCookie } from './fixture.ts'

const PASSWORD = 'Pa\u00dfwort & "more" \u2713'
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

describe('a site with a password', () => {
  test('sends only the form, for every path, every read method and every version host', async () => {
    const slug = await locked()
    const draft = await edge.createVersion(slug, { 'index.html': 'draft' }, { live: false })
    await edge.addDomain('locked.example.org', slug, 'active')
    for (const host of [slug, `${draft}--${slug}`, `${'0'.repeat(26)}--${slug}`]
      .map((name) => edge.host(name))
      .concat('locked.example.org')) {
      for (const path of ['/', '/docs', '/docs/', '/nowhere', '/nowhere.js', '/%', '/_slipway/password']) {
        const { status, headers, text } = await edge.request(host, path)
        assert.equal(status, 401, `${host}${path}`)
        assert.match(text, /<form method="post" action="\/_slipway\/password">/)
        assert.doesNotMatch(text, /inside|draft|lost/)
        assert.equal(headers['cache-control'], 'no-store')
        assert.equal(headers.etag, undefined)
        assert.ok(headers['www-authenticate'])
        assert.match(headers['content-security-policy'] as string, /form-action 'self'/)
        assert.equal((await edge.request(host, path, { method: 'HEAD' })).status, 401)
      }
      assert.equal((await edge.request(host, '/', { headers: { 'if-none-match': '*' } })).status, 401)
      assert.equal((await edge.request(host, '/', { method: 'PUT' })).status, 405)
    }
  })

  test('redirects a visitor with the right password to the requested page', async () => {
    const slug = await locked()
    const reply = await edge.submitPassword(slug, PASSWORD, '/docs/?a=1')
    assert.deepEqual([reply.status, reply.headers.location], [303, '/docs/?a=1'])
    assert.equal(reply.headers['cache-control'], 'no-store')
    const inside = await edge.get(slug, '/docs/', { headers: { cookie: `a=b; ${readCookie(reply)}; c=d` } })
    assert.deepEqual([inside.status, inside.text], [200, 'docs'])
    assert.equal(inside.headers['cache-control'], 'private, no-store')
    assert.equal(await statusWith(slug, readCookie(reply), '/nowhere'), 404)
  })

  test('sets a host-only HttpOnly cookie', async () => {
    const { headers } = await edge.submitPassword(await locked(), PASSWORD)
    const [, ...attributes] = headers['set-cookie']![0]!.split('; ')
    assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
  })

  test('sets a Secure cookie when sites use HTTPS', async () => {
    await using secure = await EdgeFixture.start({ baseUrl: 'https://api.test' })
    const slug = await secure.publish({ 'index.html': 'x' })
    await secure.setPassword(slug, PASSWORD)
    const body = new URLSearchParams({ password: PASSWORD }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const reply = await secure.get(slug, '/_slipway/password', { method: 'POST', body, headers: type })
    assert.equal(reply.status, 303)
    const [cookie, ...attributes] = reply.headers['set-cookie']![0]!.split('; ')
    assert.match(cookie!, /^__Host-slipway_password=/)
    assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'])
    const { headers } = await secure.get(slug)
    assert.match(headers['www-authenticate'] as string, /cookie-name="__Host-slipway_password"/)
    const statusOf = async (sent: string) =>
      (await secure.get(slug, '/', { headers: { cookie: sent } })).status
    assert.equal(await statusOf(cookie!), 200)
    assert.equal(await statusOf(cookie!.replace('__Host-', '')), 200, 'one from before it had that name')
  })

  test('accepts a password in any Unicode normalization', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    await edge.setPassword(slug, 'caf\u00e9')
    assert.equal((await edge.submitPassword(slug, 'cafe\u0301')).status, 303)
  })

  test('never redirects to another host', async () => {
    const slug = await locked()
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      'https://evil.example',
      '',
      '/\r\nA: b',
    ]) {
      const { status, headers } = await edge.submitPassword(slug, PASSWORD, next)
      assert.deepEqual([status, headers.location], [303, '/'], next)
    }
  })

  test('keeps the requested page in the form, escaped', async () => {
    const slug = await locked()
    const { text } = await edge.get(slug, `/a"><script>alert(1)</script>?b='&c`)
    const [, next] = /name="next" type="hidden" value="([^"]*)"/.exec(text)!
    assert.doesNotMatch(text, /<script/)
    assert.equal(unescaped(next!), `/a"><script>alert(1)</script>?b='&c`)
    const again = await edge.submitPassword(slug, 'wrong', unescaped(next!))
    assert.ok(again.text.includes(`value="${next}"`))
    assert.match((await edge.get(slug, '//evil.example')).text, /name="next" type="hidden" value="\/">/)
  })

  test('is public again when the password is removed', async () => {
    const slug = await locked()
    assert.equal((await edge.get(slug)).status, 401)
    await edge.setPassword(slug, null)
    assert.equal((await edge.get(slug)).status, 200)
    const { status, headers } = await edge.submitPassword(slug, 'anything', '/docs/')
    assert.deepEqual([status, headers.location, headers['set-cookie']], [303, '/docs/', undefined])
  })
})

describe('a password cookie', () => {
  test('is invalid at another site, even with the same password', async () => {
    const [one, other] = [await locked(), await edge.publish({ 'index.html': 'other' })]
    const row = await edge.store.real.read.sites.bySlug(one)
    await edge.updateSite(other, { passwordHash: row!.passwordHash })
    const cookie = readCookie(await edge.submitPassword(one, PASSWORD))
    assert.equal(await statusWith(one, cookie), 200)
    assert.equal(await statusWith(other, cookie), 401)
  })

  test('expires with the password, even if the same one is set again', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
    assert.equal(await statusWith(slug, cookie), 200)
    await edge.setPassword(slug, PASSWORD)
    assert.equal(await statusWith(slug, cookie), 401)
  })

  test('expires after 30 days', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
    edge.clock.now += 30 * 86_400_000 - 1
    assert.equal(await statusWith(slug, cookie), 200)
    edge.clock.now += 1
    assert.equal(await statusWith(slug, cookie), 401)
  })

  test('cannot be forged or extended', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
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

  test('is found beside others of its name, which another site may have set', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
    assert.equal(await statusWith(slug, `slipway_password=1.x; slipway_password; ${cookie}`), 200)
    const forged = `slipway_password=${edge.clock.now + 1000}.${'x'.repeat(43)}; `
    assert.equal(await statusWith(slug, forged.repeat(100) + cookie), 200)
    assert.equal(await statusWith(slug, forged.repeat(100)), 401)
  })

  test('is verified without a store read', async () => {
    const slug = await locked()
    const cookie = readCookie(await edge.submitPassword(slug, PASSWORD))
    await statusWith(slug, cookie)
    const { reads } = edge.store
    assert.equal(await statusWith(slug, cookie), 200)
    assert.equal(edge.store.reads, reads)
  })
})

describe('an invalid form', () => {
  test('of more than 4 KiB is refused, declared or not', async () => {
    const slug = await locked()
    assert.equal((await edge.post(slug, `password=${'x'.repeat(5000)}`)).status, 413)
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
      assert.equal((await edge.post(slug, '{}', type)).status, 415)
    }
    assert.equal(
      (
        await edge.post(
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
    await edge.deleteSite(gone, 'expired')
    assert.equal((await edge.submitPassword('no-such-site', 'x')).status, 404)
    assert.equal((await edge.submitPassword(gone, 'x')).status, 410)
  })

  test('that is aborted leaves no state behind', async () => {
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

test('a form that does not end gets its connection closed', async (context) => {
  const slug = await locked()
  await edge.get(slug)
  edge.logged.length = 0
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const body = request({
    host: '127.0.0.1',
    port: edge.port,
    path: '/_slipway/password',
    method: 'POST',
    headers: {
      host: edge.host(slug),
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': 100,
    },
  })
  body.write('password=')
  const failed = once(body, 'error')
  await edge.get(slug)
  context.mock.timers.tick(14_999)
  assert.equal((await edge.get(slug)).status, 401)
  assert.equal(body.destroyed, false)
  context.mock.timers.tick(1)
  assert.match(String(await failed), /hang up|ECONNRESET/)
  assert.deepEqual(edge.logged, [])
})

function unescaped(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
