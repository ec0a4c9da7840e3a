import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, beforeEach, describe, test } from 'node:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import type { Site } from '../../server/store/tables/sites.ts'
import { openBrowser } from '../support/browser.ts'
import type { HttpResponse } from '../support/http-client.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { type Content, EdgeFixture, FORM } from './fixture.ts'

const PASSWORD = 'Pa\u00dfwort & "more" \u2713'

const edge = EdgeFixture.shared()
let callers = 0
beforeEach(() => {
  // A new hour and a new client address: tests do not share attempts.
  edge.clock.now = Math.ceil((edge.clock.now + 1) / HOUR_MS) * HOUR_MS
  edge.address = `192.0.2.${++callers}`
})

const SECRET = 'secret'

/** Sites with every kind of response; a locked site must not reveal anything, not even a name. */
const SITES: Record<
  string,
  { row?: Partial<Site>; old?: Record<string, Content>; files: Record<string, Content> }
> = {
  'with rules': {
    files: {
      'index.html': SECRET,
      'docs/index.html': SECRET,
      '404.html': SECRET,
      _redirects:
        '/moved /secret 301\n/forced /secret 302!\n/docs/ /secret 307!\n/rewritten /index.html 200\n/lost /404.html 404\n',
      _headers: '/*\n  X-Secret: yes\n  Cache-Control: public, max-age=600\n',
    },
  },
  'with spaMode and a version before': {
    row: { spaMode: true },
    old: { 'old.txt': SECRET },
    files: { 'index.html': SECRET, 'app.js': SECRET },
  },
  'of one file': { files: { 'secret.txt': SECRET } },
}

const PATHS = `
/ /index.html /moved /forced?a=b /rewritten /lost /docs /docs/ /app.js /route /old.txt /_slipway/text /_slipway/password
/_headers /nowhere /nowhere.js /% //`
  .trim()
  .split(/\s+/)

const HEADERS: Record<string, string>[] = [
  {},
  { 'if-none-match': '*' },
  { range: 'bytes=0-1' },
  { 'accept-encoding': 'br', accept: 'text/html', 'sec-fetch-mode': 'navigate' },
]

async function locked(at = edge): Promise<string> {
  const slug = await at.publish({ 'index.html': 'inside', 'docs/index.html': 'docs', '404.html': 'lost' })
  await at.setPassword(slug, PASSWORD)
  return slug
}

async function statusWith(slug: string, cookie: string, path = '/'): Promise<number> {
  return (await edge.get(slug, path, { headers: { cookie } })).status
}

/** The status of the response to a submitted password. */
async function submit(slug: string, password: string): Promise<number> {
  return (await edge.submitPassword(slug, password)).status
}

/** Submits a wrong password this many times. */
async function guess(slug: string, count: number): Promise<void> {
  for (; count > 0; count--) assert.equal(await submit(slug, 'wrong'), 401)
}

/** The Cookie header for the cookie that a response set. */
function readCookie(reply: HttpResponse): string {
  return reply.headers['set-cookie']![0]!.split(';')[0]!
}

/** Enters the password; returns the Cookie header. */
async function enter(slug: string): Promise<string> {
  return readCookie(await edge.submitPassword(slug, PASSWORD))
}

describe('a site with a password', () => {
  test('asks a client that does not accept HTML in JSON', async () => {
    const { status, headers, json } = await edge.get(await locked(), '/', {
      headers: { accept: 'application/json' },
    })
    assert.deepEqual([status, headers['content-type']], [401, 'application/json; charset=utf-8'])
    assert.deepEqual([json.code, json.status], ['UNAUTHORIZED', 401])
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
    const long = `/docs/?${'a=%20&'.repeat(1300)}`
    const form = await edge.get(slug, long, { headers: { accept: 'text/html' } })
    const [, next = ''] = /name="next" type="hidden" value="([^"]*)"/.exec(form.text) ?? []
    assert.equal((await edge.submitPassword(slug, PASSWORD, unescaped(next))).headers.location, long)
  })

  test('sets a host-only HttpOnly cookie, which is Secure when sites use HTTPS', async () => {
    await using secure = await EdgeFixture.start({ baseUrl: 'https://api.test' })
    for (const [of, cookieName, more] of [
      [edge, 'slipway_password', []],
      [secure, '__Host-slipway_password', ['Secure']],
    ] as const) {
      const slug = await of.publish({ 'index.html': 'x' })
      await of.setPassword(slug, PASSWORD)
      const reply = await of.submitPassword(slug, PASSWORD)
      const [cookie, ...attributes] = reply.headers['set-cookie']![0]!.split('; ')
      assert.deepEqual(attributes.sort(), ['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', ...more])
      const { headers } = await of.get(slug)
      assert.match(headers['www-authenticate'] as string, new RegExp(`cookie-name="${cookieName}"`))
      // The name without its prefix is that of cookies from before the site used HTTPS.
      for (const sent of [cookie!, cookie!.replace('__Host-', '')])
        assert.equal((await of.get(slug, '/', { headers: { cookie: sent } })).status, 200, sent)
    }
  })

  test('accepts a password in any Unicode normalization', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    await edge.setPassword(slug, 'caf\u00e9')
    assert.equal(await submit(slug, 'cafe\u0301'), 303)
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
    assert.equal((await edge.submitPassword(slug, PASSWORD, '//evil.example')).headers.location, '/')
  })

  test('lets a visitor go back after a wrong password and the right one', requires('chromium'), async () => {
    await using local = await EdgeFixture.start({ siteDomain: 'localhost' })
    const slug = await locked(local)
    await using browser = await openBrowser()
    const { page } = browser
    const url = (path: string) => `http://${slug}.localhost:${local.port}${path}`
    await page.goto(url('/docs/?a=1'))
    for (const password of ['wrong', PASSWORD]) {
      await page.getByLabel('Password').fill(password)
      await Promise.all([page.waitForNavigation(), page.getByRole('button').click()])
      if (password === 'wrong') assert.equal(await page.getByRole('alert').count(), 1)
    }
    assert.equal(await page.textContent('body'), 'docs')
    for (let steps = 0; steps < 2; steps++) {
      await page.goBack()
      assert.deepEqual([page.url(), await page.textContent('body')], [url('/docs/?a=1'), 'docs'])
    }
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

for (const [name, { row = {}, old, files }] of Object.entries(SITES)) {
  describe(`a site with a password, ${name}`, () => {
    let hosts: string[]
    let slug: string
    before(async () => {
      slug = await edge.createSite(row)
      if (old) await edge.createVersion(slug, old)
      const live = await edge.createVersion(slug, files)
      await edge.setPassword(slug, PASSWORD)
      await edge.addDomain(`${slug}.example`, slug)
      const names = [slug, `${live}--${slug}`, `${'0'.repeat(26)}--${slug}`]
      hosts = [...names.map((name) => edge.host(name)), `${slug}.example`]
    })

    test('sends only the form for every path at every host before the password', async () => {
      for (const host of hosts) {
        assert.equal((await edge.request(host, '/', { method: 'HEAD' })).status, 401)
        assert.equal((await edge.request(host, '/', { method: 'PUT' })).status, 405)
        const options = await edge.request(host, '/', { method: 'OPTIONS' })
        assert.deepEqual([options.status, options.headers['x-secret']], [204, undefined])
        for (const path of PATHS) {
          for (const headers of host === hosts[0] ? HEADERS : [{}]) {
            const reply = await edge.request(host, path, { headers })
            const of = `${host}${path} ${JSON.stringify(headers)}`
            assert.equal(reply.status, 401, of)
            assert.doesNotMatch(reply.text.replace(/value="[^"]*"/, ''), /secret/i, of)
            for (const header of ['location', 'etag', 'last-modified', 'x-secret', 'content-range', 'vary']) {
              assert.equal(reply.headers[header], undefined, `${header} of ${of}`)
            }
            assert.match(reply.text, /<form method="post" action="\/_slipway\/password">/)
            assert.equal(reply.headers['cache-control'], 'no-store')
            assert.ok(reply.headers['www-authenticate'])
            assert.match(
              reply.headers['content-security-policy'] as string,
              /^default-src 'none'(?!.*form-action)/,
            )
          }
        }
      }
    })

    test('sends nothing cacheable after the password', async () => {
      const cookie = await enter(slug)
      const seen = new Set<number>()
      for (const path of PATHS) {
        for (const headers of HEADERS) {
          const reply = await edge.get(slug, path, { headers: { ...headers, cookie } })
          // The path of the form leads a visitor with the cookie on.
          const isOfSite = reply.status < 400 && reply.status !== 303
          const caching = isOfSite ? 'private, no-store' : 'no-store'
          assert.equal(reply.headers['cache-control'], caching, `${reply.status} ${path}`)
          seen.add(reply.status)
        }
      }
      assert.ok((seen.has(200) || seen.has(302)) && seen.has(404) && !seen.has(401), [...seen].join())
    })
  })
}

describe('a password cookie', () => {
  test('is invalid at another site, even with the same password', async () => {
    const [one, other] = [await locked(), await edge.publish({ 'index.html': 'other' })]
    const row = await edge.store.real.read.sites.find(one)
    await edge.updateSite(other, { passwordHash: row!.passwordHash })
    const cookie = await enter(one)
    assert.equal(await statusWith(one, cookie), 200)
    assert.equal(await statusWith(other, cookie), 401)
  })

  test('stays valid at a custom domain when the site gets another name', async () => {
    const slug = await locked()
    const host = 'renamed.example'
    await edge.addDomain(host, slug)
    const headers = { cookie: await enter(slug) }
    const status = async () => (await edge.request(host, '/', { headers })).status
    assert.equal(await status(), 200)
    await edge.store.real.write('durable', {}, async (tx) => {
      await tx.sites.rename(slug, 'another-name', edge.clock.now)
      for (const name of [slug, 'another-name', host]) await tx.notifyChanged(name)
    })
    assert.equal(await status(), 200)
  })

  test('expires after 30 days, and with the password, even if the same one is set again', async () => {
    const slug = await locked()
    const [cookie, another] = [await enter(slug), await enter(slug)]
    edge.clock.now += 30 * DAY_MS - 1
    assert.equal(await statusWith(slug, cookie), 200)
    edge.clock.now += 1
    assert.equal(await statusWith(slug, cookie), 401)
    edge.clock.now -= 1
    await edge.setPassword(slug, PASSWORD)
    assert.equal(await statusWith(slug, another), 401)
  })

  test('cannot be forged or extended', async () => {
    const slug = await locked()
    const cookie = await enter(slug)
    const [name, value] = cookie.split('=') as [string, string]
    const [until, signature] = value.split('.') as [string, string]
    const forged = [
      ...[`${Number(until) + 1}`, `${until}0`, `0${until}`, '', 'Infinity'].map(
        (time) => `${time}.${signature}`,
      ),
      ...[`${until}.${signature}.x`, `${until}.`, until, `${until}.${signature.slice(0, -1)}`, ''],
    ]
    for (const other of forged) assert.equal(await statusWith(slug, `${name}=${other}`), 401, other)
    assert.equal(await statusWith(slug, `x${cookie}`), 401)
  })

  test('is found beside others of its name, which another site may have set', async () => {
    const slug = await locked()
    const cookie = await enter(slug)
    assert.equal(await statusWith(slug, `slipway_password=1.x; slipway_password; ${cookie}`), 200)
    const forged = `slipway_password=${edge.clock.now + 1000}.${'x'.repeat(43)}; `
    assert.equal(await statusWith(slug, forged.repeat(100) + cookie), 200)
    assert.equal(await statusWith(slug, forged.repeat(100)), 401)
  })
})

describe('an invalid form', () => {
  test('of more than 64 KiB is refused, declared or not', async () => {
    const slug = await locked()
    assert.equal((await edge.post(slug, `password=${'x'.repeat(65_536)}`)).status, 413)
    const head = `POST /_slipway/password HTTP/1.1\r\nHost: ${edge.host(slug)}\r\nContent-Type: ${FORM}\r\n`
    const chunk = `8000\r\n${'x'.repeat(32_768)}\r\n`
    assert.match(
      await edge.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}${chunk}`),
      /^HTTP\/1\.1 413 /,
    )
  })

  test('of another type is refused', async () => {
    const slug = await locked()
    for (const type of ['multipart/form-data; boundary=x', 'application/json', 'text/plain', '']) {
      assert.equal((await edge.post(slug, '{}', { 'content-type': type })).status, 415)
    }
    const form = `password=${encodeURIComponent(PASSWORD)}`
    const type = { 'content-type': `${FORM.toUpperCase()}; charset=utf-8` }
    assert.equal((await edge.post(slug, form, type)).status, 303)
  })

  test('is a 404 or a 410 where there is no site', async () => {
    const gone = await edge.publish({ 'index.html': 'x' })
    await edge.deleteSite(gone, 'expired')
    assert.deepEqual([await submit('no-such-site', 'x'), await submit(gone, 'x')], [404, 410])
  })

  test('that is aborted or does not end leaves no state behind, and its connection is closed', async (t) => {
    const slug = await locked()
    await edge.get(slug)
    edge.logged.length = 0
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const head = `POST /_slipway/password HTTP/1.1\r\nHost: ${edge.host(slug)}\r\nContent-Type: ${FORM}\r\n`
    const begin = async () => {
      const socket = connect(edge.port, '127.0.0.1')
      // One form, and another without its end.
      for (const length of [50_000, 50_001]) {
        socket.write(`${head}Content-Length: ${length}\r\n\r\n${'x'.repeat(50_000)}`)
        if (length === 50_000) await once(socket, 'data')
      }
      return socket.resume()
    }
    const [aborted, endless] = [await begin(), await begin()]
    const isHeld = (forms: number) => edge.clientMemory.heldBytes >= forms * 50_000
    await waitFor(() => isHeld(2))
    assert.ok(!isHeld(3), 'the first of each connection is released')
    aborted.destroy()
    await waitFor(() => !isHeld(2))
    t.mock.timers.tick(14_999)
    assert.equal((await edge.get(slug)).status, 401)
    assert.equal(endless.closed, false)
    t.mock.timers.tick(1)
    await once(endless, 'close')
    await waitFor(() => edge.clientMemory.heldBytes === 0)
    assert.deepEqual(edge.logged, [])
  })
})

test('the form shows the title that the owner has set, escaped, or the host, never the title of the document', async () => {
  const document = { 'index.html': '<title>Secret plan</title>' }
  const titled = await edge.publish(document, { title: 'Bread & <b>butter</b>' })
  const untitled = await edge.publish(document)
  for (const [slug, title] of [
    [titled, 'Bread &#38; &#60;b&#62;butter&#60;/b&#62;'],
    [untitled, edge.host(untitled)],
  ] as const) {
    await edge.setPassword(slug, PASSWORD)
    const { text } = await edge.get(slug)
    assert.ok(text.includes(`<title>${title}</title>`))
    assert.doesNotMatch(text, /401|Secret plan/)
  }
})

describe('wrong passwords', () => {
  test('of a page of another site show the form and are no attempts, so that it locks no visitor out', async () => {
    const slug = await locked()
    const send = (headers: Record<string, string>, password = 'wrong') =>
      edge.submitPassword(slug, password, '/', headers)
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      // Over HTTP, without Fetch Metadata.
      { origin: 'http://another.test' },
      { origin: 'null' },
    ]) {
      for (let count = 0; count < 6; count++) assert.equal((await send(headers)).status, 401)
      const { status, headers: sent } = await send(headers, PASSWORD)
      assert.deepEqual([status, sent['set-cookie']], [401, undefined])
    }
    const own = { 'sec-fetch-site': 'same-origin', origin: `http://${edge.host(slug)}` }
    for (let count = 0; count < 5; count++) assert.equal((await send(own)).status, 401)
    assert.equal((await send(own, PASSWORD)).status, 429)
  })

  test('are accepted five times a minute from an address; then even the right one has to wait', async () => {
    const slug = await locked()
    await guess(slug, 5)
    edge.clock.now += 20_000
    const refused = await edge.submitPassword(slug, PASSWORD, '/docs/')
    assert.equal(refused.status, 429)
    assert.equal(refused.headers['retry-after'], '40')
    assert.match(refused.text, /<form .*value="\/docs\/"/s)
    const inJson = await edge.submitPassword(slug, PASSWORD, '/', { accept: 'application/json' })
    assert.deepEqual([inJson.status, inJson.headers['retry-after']], [429, '40'])
    edge.clock.now += 39_999
    assert.equal(await submit(slug, PASSWORD), 429)
    edge.clock.now += 1
    assert.equal(await submit(slug, PASSWORD), 303)
  })

  test('do not delay other addresses or visitors with a cookie', async () => {
    const slug = await locked()
    const cookie = await enter(slug)
    for (let count = 0; count < 6; count++) await submit(slug, 'wrong')
    assert.equal(await statusWith(slug, cookie), 200)
    edge.address = '2001:db8::1'
    await guess(slug, 5)
    edge.address = '2001:db8::ffff:2'
    assert.equal(await submit(slug, PASSWORD), 429, 'the same network')
    edge.address = '2001:db8:0:1::1'
    assert.equal(await submit(slug, PASSWORD), 303)
  })

  test('are accepted a hundred times an hour at a site', async () => {
    const [slug, other] = [await locked(), await locked()]
    for (let count = 0; count < 100; count++) {
      edge.address = `198.51.100.${count}`
      assert.equal(await submit(slug, 'wrong'), 401)
    }
    edge.address = '203.0.113.1'
    const refused = await edge.submitPassword(slug, PASSWORD)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3600'])
    assert.match(refused.text, /60 min\./)
    assert.equal(await submit(other, PASSWORD), 303)
    edge.clock.now += HOUR_MS
    assert.equal(await submit(slug, PASSWORD), 303)
  })

  test('are accepted twenty times an hour at a site from a network, without effect on others', async () => {
    const slug = await locked()
    for (let minute = 0; minute < 4; minute++) {
      if (minute > 0) edge.clock.now += MINUTE_MS
      await guess(slug, 5)
    }
    const refused = await edge.submitPassword(slug, PASSWORD)
    // Those of the minute are used up, too.
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3420'])
    edge.address = '203.0.113.7'
    assert.equal(await submit(slug, PASSWORD), 303)
  })

  test('count, and right ones never do', async () => {
    const slug = await locked()
    for (let count = 0; count < 12; count++) assert.equal(await submit(slug, PASSWORD), 303)
    await guess(slug, 5)
    assert.equal(await submit(slug, 'wrong'), 429)
  })

  test('are refused while they cannot be counted', async () => {
    const slug = await locked()
    await edge.get(slug)
    edge.store.unavailable = true
    const { status, headers } = await edge.submitPassword(slug, PASSWORD)
    edge.store.unavailable = false
    assert.deepEqual([status, headers['retry-after'], headers['set-cookie']], [503, '7', undefined])
  })
})

function unescaped(html: string): string {
  return html.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}
