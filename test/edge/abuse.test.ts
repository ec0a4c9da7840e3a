import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { SECOND_MS } from '../../server/lib/time.ts'
import { accountRow, suspension } from '../store/rows.ts'
import { waitFor } from '../support/wait-for.ts'
import { EdgeFixture, FORM, type RequestOptions } from './fixture.ts'

const CONTENT = 'the content of the site'
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' }

describe('a suspended site', () => {
  const edge = EdgeFixture.shared({ environment: { SLIPWAY_REPORT_EMAIL: 'abuse@example.test' } })
  const publish = async (row = {}) => {
    const slug = await edge.publish({ 'index.html': CONTENT }, row)
    const preview = { previewName: 'pr-7', previewUntil: edge.clock.now + 3_600_000 }
    const version = await edge.createVersion(slug, { 'index.html': CONTENT }, { live: false, row: preview })
    const domain = `${slug}.example.org`
    await edge.addDomain(domain, slug)
    const hosts = [slug, `${version}--${slug}`, `pr-7--${slug}`].map((label) => edge.host(label))
    return { slug, hosts: [...hosts, domain] }
  }
  const statuses = async (hosts: readonly string[]) => {
    const found = new Set<number>()
    for (const host of hosts)
      for (const path of ['/', '/index.html', '/nowhere']) {
        const { status, text, headers } = await edge.request(host, path)
        found.add(status)
        assert.equal(text.includes(CONTENT), status === 200)
        if (status === 451) assert.equal(headers['cache-control'], 'no-store')
      }
    return [...found].sort()
  }

  test('answers 451 at each of its hosts from the next request on, until it is resumed', async () => {
    const { slug, hosts } = await publish()
    assert.deepEqual(await statuses(hosts), [200, 404])
    await edge.updateSite(slug, { suspension: suspension('phishing') })
    assert.deepEqual(await statuses(hosts), [451])
    await edge.updateSite(slug, { suspension: null })
    assert.deepEqual(await statuses(hosts), [200, 404])
  })

  test('of a suspended account answers the same, also when it is new, with its own reason if it has one', async () => {
    const ownerId = 'a suspended account'
    await edge.store.real.write('durable', {}, (tx) =>
      tx.rows.insert('accounts', accountRow(ownerId, { suspension: suspension('unpaid') })),
    )
    assert.deepEqual(await statuses((await publish({ ownerId })).hosts), [451])
    const own = await publish({ ownerId, suspension: suspension('phishing', { publicReason: 'Deceptive' }) })
    assert.match((await edge.get(own.slug)).text, /Deceptive/)
  })

  test('keeps its certificates, and shows no form for its password', async () => {
    const { slug, hosts } = await publish()
    await edge.setPassword(slug, 'open sesame')
    await edge.updateSite(slug, { suspension: suspension('phishing') })
    assert.deepEqual(await statuses(hosts), [451])
    assert.equal((await edge.submitPassword(slug, 'open sesame')).status, 451)
    assert.equal(await edge.edge.mayHaveCertificate(hosts.at(-1)!), true)
  })

  test('has a page that names the contact and the public reason only', async () => {
    const reasons = { publicReason: 'Deceptive <site>', note: 'ticket 7' }
    const { slug } = await publish({ suspension: suspension('pays with stolen cards', reasons) })
    const { text, headers } = await edge.get(slug, '/', { headers: { 'accept-language': 'de' } })
    assert.match(
      text,
      /Diese Website ist gesperrt[\s\S]*Deceptive &#60;site&#62;[\s\S]*mailto:abuse@example\.test/,
    )
    assert.doesNotMatch(text, /stolen|ticket/)
    // RFC 7725, 4.
    assert.equal(headers.link, '<http://api.test:8080>; rel="blocked-by"')
  })
})

describe('the page of a suspended site', () => {
  const edge = EdgeFixture.shared()
  test('names no contact where the operator has no address', async () => {
    const slug = await edge.publish({ 'index.html': 'x' })
    await edge.updateSite(slug, { suspension: suspension('phishing') })
    const { status, text } = await edge.get(slug)
    assert.deepEqual([status, text.includes('Contact the operator')], [451, false])
  })
})

describe('a blocked file', () => {
  const edge = EdgeFixture.shared()
  const files = { 'index.html': '<title>x</title>bad', 'copy.bin': '<title>x</title>bad', 'good.txt': 'good' }

  test('answers 451 in every site and version that has it, and the other files stay', async () => {
    const sites = [await edge.publish(files), await edge.publish(files, { title: 'An injected title' })]
    const draft = await edge.createVersion(sites[0]!, { 'later.html': files['index.html'] }, { live: false })
    const get = async () => {
      const found = []
      for (const slug of sites)
        for (const path of ['/', '/index', '/copy.bin', '/good.txt']) found.push(await edge.get(slug, path))
      found.push(await edge.get(`${draft}--${sites[0]}`, '/later'))
      return found.map(({ status }) => status)
    }
    const all = [200, 200, 200, 200]
    const blocked = [451, 451, 451, 200]
    assert.deepEqual(await get(), [...all, ...all, 200])
    await edge.setBlocked(files['index.html'], true, sites)
    assert.deepEqual(await get(), [...blocked, ...blocked, 451])
    await edge.restore(sites[0]!, draft)
    assert.equal((await edge.get(sites[0]!, '/later')).status, 451)
    await edge.setBlocked(files['index.html'], false, sites)
    assert.deepEqual(
      [(await edge.get(sites[0]!, '/later')).status, (await edge.get(sites[1]!)).status],
      [200, 200],
    )
  })

  test('is not shown as the page for paths that do not exist', async () => {
    const slug = await edge.publish({ 'index.html': 'x', '404.html': 'bad page' })
    await edge.setBlocked('bad page', true, [slug])
    const { status, text } = await edge.get(slug, '/nowhere')
    assert.equal(status, 404)
    assert.doesNotMatch(text, /bad page/)
  })
})

describe('the form for reports', () => {
  const edge = EdgeFixture.shared()
  const link = (text: string) => /href="([^"]+)"[^>]*>Report abuse/.exec(text)?.[1]

  test('is linked from every page that the service generates, and knows the page', async () => {
    const slug = await edge.publish({ 'index.html': 'x' }, { ownerId: 'ann' })
    await edge.setPassword(slug, 'open sesame')
    const suspended = await edge.publish({ 'index.html': 'x' }, { suspension: suspension('phishing') })
    const expired = await edge.publish({ 'index.html': 'x' }, { expiresAt: edge.clock.now })
    for (const [site, path] of [
      [slug, '/'],
      [suspended, '/'],
      [expired, '/'],
      ['no-such-site', '/'],
      [expired, '/%'],
    ]) {
      const page = `http://${edge.host(site!)}:8080${path}`
      const target = link((await edge.get(site!, path)).text)
      assert.equal(target, '/_slipway/report')
      const { status, headers } = await edge.get(site!, target, { headers: { referer: page } })
      assert.equal(status, 303)
      assert.equal(headers.location, `http://api.test:8080/report?url=${encodeURIComponent(page)}`)
      assert.equal(headers['cache-control'], 'no-store')
    }
  })

  test('is for a page of the same host only', async () => {
    const root = encodeURIComponent(`http://${edge.host('a-site')}:8080/`)
    for (const referer of ['https://example.org/', `http://${edge.host('another')}:8080/`, undefined]) {
      const { headers } = await edge.get('a-site', '/_slipway/report', {
        headers: referer ? { referer } : {},
      })
      assert.equal(headers.location, `http://api.test:8080/report?url=${root}`)
    }
  })

  test('is named in a header of anonymous sites, which the publisher cannot change', async () => {
    const files = {
      'index.html': 'x',
      '404.html': 'x',
      _headers: '/*\n  X-Report-Abuse: https://example.org\n',
    }
    const anonymous = await edge.publish(files)
    const owned = await edge.publish({ 'index.html': 'x' }, { ownerId: 'ann' })
    const url = `http://api.test:8080/report?url=${encodeURIComponent(`http://${edge.host(anonymous)}:8080/`)}`
    for (const path of ['/', '/nowhere'])
      assert.equal((await edge.get(anonymous, path)).headers['x-report-abuse'], url)
    assert.equal((await edge.get(owned)).headers['x-report-abuse'], undefined)
  })

  test('is linked in the HTML of anonymous sites with SLIPWAY_ANONYMOUS_NOTICE=link', async () => {
    await using linking = await EdgeFixture.start({ environment: { SLIPWAY_ANONYMOUS_NOTICE: 'link' } })
    const files = { 'index.html': '<p>x', 'a.txt': 'x', 'empty.html': '' }
    const anonymous = await linking.publish(files)
    const owned = await linking.publish(files, { ownerId: 'ann' })
    const url = `http://api.test:8080/report?url=${encodeURIComponent(`http://${linking.host(anonymous)}:8080/`)}`
    const { text } = await linking.get(anonymous)
    assert.ok(text.startsWith('<p>x'))
    for (const page of [text, (await linking.get(anonymous, '/empty.html')).text])
      assert.equal(link(page), url)
    assert.deepEqual(
      [(await linking.get(anonymous, '/a.txt')).text, (await linking.get(owned)).text],
      ['x', '<p>x'],
    )
    const framed = await linking.publish({ 'a.html': '<p>x' })
    const pages = [await linking.get(framed), await linking.get(framed, '/a')]
    assert.deepEqual(
      pages.map((page) => link(page.text) !== undefined),
      [false, true],
    )
    linking.clock.now += SECOND_MS
    await linking.updateSite(framed, { ownerId: 'ann', updatedAt: linking.clock.now })
    const headers = { 'if-modified-since': pages[1]!.headers['last-modified']! }
    assert.equal((await linking.get(framed, '/a', { headers })).text, '<p>x', 'after a claim')
    const generated = await linking.get(await linking.publish({ 'a.txt': 'a', 'b.txt': 'b' }))
    assert.match(link(generated.text)!, /^http:\/\/api\.test:8080\/report\?url=/)
    const [, style] = /style="([^"]+)">Report abuse/.exec(generated.text)!
    const allowed = `'unsafe-hashes' 'sha256-${hash('sha256', style!, 'base64')}'; `
    assert.ok(`${generated.headers['content-security-policy']}`.includes(allowed))
  })
})

describe('the notice before anonymous sites', () => {
  const edge = EdgeFixture.shared({ environment: { SLIPWAY_ANONYMOUS_NOTICE: 'page' } })
  const files = {
    'index.html': CONTENT,
    '404.html': CONTENT,
    _headers: '/*\n  Cache-Control: public, max-age=600\n',
  }
  const accept = (slug: string, headers: RequestOptions['headers'] = {}) =>
    edge.get(slug, '/_slipway/notice', {
      method: 'POST',
      body: 'next=%2Fpage%3Fa%3D1',
      headers: { 'content-type': FORM, ...headers },
    })

  test('is what a browser sees first, once for each site', async () => {
    const slug = await edge.publish(files)
    for (const path of ['/', '/nowhere', '/index?a=1']) {
      const { status, text, headers } = await edge.get(slug, path, { headers: BROWSER })
      assert.equal(status, 200)
      assert.match(text, /published without an account on api\.test:8080/)
      assert.ok(!text.includes(CONTENT) && text.includes(`value="${path}"`))
      assert.equal(headers['cache-control'], 'no-store')
    }
    const { status, headers } = await accept(slug)
    assert.equal(status, 303)
    assert.equal(headers.location, '/page?a=1')
    const [cookie = ''] = headers['set-cookie'] ?? []
    assert.match(cookie, /^slipway-notice=1; Path=\/; Max-Age=31536000; HttpOnly; SameSite=Lax$/)
    const { text } = await edge.get(slug, '/', {
      headers: { ...BROWSER, cookie: `a=b; ${cookie.split(';')[0]}` },
    })
    assert.equal(text, CONTENT)
  })

  test('is not shown to programs, to parts of pages, and for sites of accounts', async () => {
    const anonymous = await edge.publish(files)
    const owned = await edge.publish(files, { ownerId: 'ann' })
    const requests: [string, Record<string, string>][] = [
      [owned, BROWSER],
      [anonymous, {}],
      [anonymous, { accept: '*/*' }],
      [anonymous, { ...BROWSER, 'sec-fetch-mode': 'cors' }],
    ]
    for (const [slug, headers] of requests)
      assert.equal((await edge.get(slug, '/', { headers })).text, CONTENT)
  })

  test('keeps pages of anonymous sites out of shared caches, whatever the publisher says', async () => {
    const [anonymous, owned] = [await edge.publish(files), await edge.publish(files, { ownerId: 'ann' })]
    assert.equal((await edge.get(anonymous)).headers['cache-control'], 'private, max-age=0, must-revalidate')
    assert.equal((await edge.get(owned)).headers['cache-control'], 'public, max-age=600')
  })

  test('is not skipped by a link or a form of another site', async () => {
    const slug = await edge.publish(files)
    const url = `http://${edge.host(slug)}`
    for (const [sent, expected] of [
      [{ 'sec-fetch-site': 'cross-site' }, 200],
      // A neighboring site.
      [{ 'sec-fetch-site': 'same-site' }, 200],
      [{ 'sec-fetch-site': 'same-origin' }, 303],
      // Over HTTP, without Fetch Metadata.
      [{ origin: 'http://another.test' }, 200],
      [{ origin: 'null' }, 200],
      [{ origin: url }, 303],
    ] as const) {
      const { status, headers } = await accept(slug, sent)
      assert.deepEqual([status, headers['set-cookie'] !== undefined], [expected, expected === 303])
    }
    const { text } = await edge.get(slug, '/_slipway/notice?next=/', { headers: BROWSER })
    assert.match(text, /published without an account/)
  })

  test('answers 400 to a form that its client does not send to its end, like that of a password', async (t) => {
    const slug = await edge.publish(files)
    await edge.setPassword(slug, 'open sesame')
    edge.logged.length = 0
    const { mock } = t.mock.method(edge.edge, 'respondToMethod')
    for (const path of ['/_slipway/notice', '/_slipway/password']) {
      const client = connect(edge.port, '127.0.0.1')
      const head = `POST ${path} HTTP/1.1\r\nHost: ${edge.host(slug)}\r\nContent-Type: ${FORM}\r\n`
      client.write(`${head}Content-Length: 100\r\n\r\nnext`)
      await waitFor(() => mock.callCount() === 1)
      client.destroy()
      assert.equal((await mock.calls[0]!.result!).status, 400)
      mock.resetCalls()
    }
    assert.deepEqual(edge.logged, [])
  })

  test('sets a cookie over HTTPS that sibling sites cannot set', async () => {
    await using secure = await EdgeFixture.start({
      baseUrl: 'https://api.test',
      environment: { SLIPWAY_ANONYMOUS_NOTICE: 'page' },
    })
    const slug = await secure.publish(files)
    const cookie = (name: string) => ({ headers: { ...BROWSER, cookie: `${name}=1` } })
    assert.notEqual((await secure.get(slug, '/', cookie('slipway-notice'))).text, CONTENT)
    assert.equal((await secure.get(slug, '/', cookie('__Host-slipway-notice'))).text, CONTENT)
  })
})
