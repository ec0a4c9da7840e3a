import assert from 'node:assert/strict'
import { after, describe, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { LiveReload } from '../../server/edge/live-reload.ts'
import type { EdgeResponse } from '../../server/edge/response.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { toFiles } from '../api/content.ts'
import { openBrowser } from '../support/browser.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'

// Other tests of this process record the statements of their visits.
const service = await startTestService({}, Date.now(), { scheduledSweeps: [] })
after(() => service[Symbol.asyncDispose]())
const client = service.client(await service.signIn('ann@example.test'))
const { slug } = await client.publish({ files: toFiles({ 'index.html': 'live' }) })

describe('a preview with live reload', () => {
  async function publish(contents: Readonly<Record<string, string>>, liveReload = true) {
    service.clock.now++
    const files = toFiles(contents).map((file) =>
      file.path === 'wide.html' ? { ...file, contentType: 'text/html; charset=UTF-16LE' } : file,
    )
    return client.publish({ slug, preview: 'pr-1', liveReload, files })
  }

  function get(
    path: string,
    { label = 'pr-1', headers = {} }: { label?: string; headers?: Record<string, string> } = {},
  ) {
    return sendRequest(service.port, { site: `${label}--${slug}`, path, headers })
  }

  const tagOf = (versionId: string) =>
    `\n<script src="/_slipway/reload.js?version=${versionId}" async></script>\n`

  test('adds a script of its own host to each HTML document, and nothing to other files and hosts', async () => {
    const long = `<p>${'long '.repeat(100_000)}`
    const { versionId } = await publish({
      'index.html': '<p>1',
      'a/index.html': long,
      '404.html': 'none',
      'a.txt': 'text',
      'a.xhtml': '<html/>',
      'wide.html': '<\0p\0>\0',
    })
    const tag = tagOf(versionId)
    const rows = {
      '/': `<p>1${tag}`,
      '/a/': long + tag,
      '/missing': `none${tag}`,
      '/a.txt': 'text',
      '/a.xhtml': '<html/>',
      '/wide': '<\0p\0>\0',
    }
    for (const [path, expected] of Object.entries(rows)) {
      const { text, headers } = await get(path, { headers: { 'accept-encoding': 'gzip, br' } })
      assert.equal(text, expected, path)
      assert.equal(headers['content-length'], `${Buffer.byteLength(expected)}`)
    }
    const whole = Buffer.from(long + tag)
    for (const [start, end] of [
      [whole.length - 10, whole.length - 1],
      [long.length - 3, long.length + 3],
      [0, 9],
    ] as const) {
      const { text } = await get('/a/', { headers: { range: `bytes=${start}-${end}` } })
      assert.equal(text, whole.toString('latin1', start, end + 1))
    }
    assert.equal((await get('/', { label: versionId })).text, '<p>1')
    await client.promote(slug, 'pr-1')
    assert.equal((await sendRequest(service.port, { site: slug, path: '/' })).text, '<p>1')
    const script = await get('/_slipway/reload.js?version=x')
    assert.match(`${script.headers['content-type']} ${script.text}`, /^text\/javascript.*location\.reload/s)
    assert.equal((await sendRequest(service.port, { site: slug, path: '/_slipway/reload.js' })).status, 404)
  })

  test('answers an open page when another version is shown, not when the site changes otherwise', async () => {
    const { versionId } = await publish({ 'index.html': '2' })
    const wait = (version: string) => get(`/_slipway/reload?version=${version}`)
    assert.equal((await wait('an-earlier-one')).status, 200)
    const waiting = wait(versionId)
    await get('/')
    await client.setMetadata(slug, { spaMode: true })
    const next = await publish({ 'index.html': '3' })
    assert.deepEqual([(await waiting).status, (await get('/')).text], [200, `3${tagOf(next.versionId)}`])
    const later = wait(next.versionId)
    await publish({ 'index.html': '3' }, false)
    assert.equal((await later).status, 404, 'without live reload')
    assert.equal((await get('/')).text, '3')
  })

  test('reloads an open page once for each version, under its own policy', requires('chromium'), async () => {
    await publish({
      'index.html': '<h1>One</h1>',
      _headers: "/*\n  Content-Security-Policy: default-src 'self'",
    })
    await using browser = await openBrowser()
    const { page, complaints } = browser
    const respond = mock.method(LiveReload.prototype, 'respond')
    const asked = (query: RegExp) =>
      waitFor(() => respond.mock.calls.some((call) => query.test(call.arguments[0].target.query)))
    await page.goto(`http://pr-1--${slug}.localhost:${service.port}/#part`)
    for (const [text, files] of [
      ['Two', { 'index.html': '<h1>Two</h1>' }],
      ['Three', { 'README.md': '# Three' }],
    ] as const) {
      const { versionId } = await publish(files)
      await page.getByRole('heading', { name: text }).waitFor()
      // Its script runs after its text is shown.
      await asked(new RegExp(`version=${versionId}&page=`))
    }
    assert.match(page.url(), /#part$/)
    assert.deepEqual(
      complaints.filter((line) => !line.includes('/_slipway/reload?end')),
      [],
    )
    // The browser does not report a request that outlives its page.
    respond.mock.resetCalls()
    await page.goto('about:blank')
    await asked(/^\?end&page=\w+$/)
    mock.restoreAll()
  })

  test(
    'is asked once at a time by a page that was hidden while the service did not answer',
    requires('chromium'),
    async () => {
      const { versionId } = await publish({ 'index.html': '<h1>First</h1>' })
      const { respond } = LiveReload.prototype
      let requests = 0
      let inProgress = 0
      let most = 0
      mock.method(
        LiveReload.prototype,
        'respond',
        function (this: LiveReload, ...given: Parameters<typeof respond>) {
          const answer = () => respond.apply(this, given)
          if (!given[0].target.query.includes(`version=${versionId}&page=`)) return answer()
          if (++requests === 1) throw new ApiError('UNAVAILABLE', 'busy')
          most = Math.max(most, ++inProgress)
          return (answer() as Promise<EdgeResponse>).finally(() => inProgress--)
        },
      )
      await using browser = await openBrowser()
      const { page } = browser
      // The pause after a failure ends only when the test lets time pass.
      await page.clock.install({ time: 0 })
      await page.clock.pauseAt(1000)
      const failed = page.waitForResponse((response) => response.status() === 503)
      await page.goto(`http://pr-1--${slug}.localhost:${service.port}/`)
      await failed
      // The script has read the earlier response by then.
      await page.evaluate(() => fetch('/').then((response) => response.text()))
      await page.evaluate(() => {
        const change = () => document.dispatchEvent(new Event('visibilitychange'))
        Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
        change()
        Reflect.deleteProperty(document, 'visibilityState')
        change()
      })
      await waitFor(() => requests === 2)
      await page.clock.fastForward(60_000)
      await page.evaluate(() => fetch('/').then((response) => response.text()))
      // The page asks again if what ended its first request arrived after the second one.
      await page.clock.resume()
      await publish({ 'index.html': '<h1>Second</h1>' })
      await page.getByRole('heading', { name: 'Second' }).waitFor()
      assert.equal(most, 1)
      mock.restoreAll()
    },
  )

  test(
    'reloads an open page for the next version after another node did not know the last one',
    requires('chromium'),
    async () => {
      const { versionId: former } = await publish({ 'index.html': '<h1>Former</h1>' })
      const { versionId } = await publish({ 'index.html': '<h1>Shown</h1>' })
      const { respond } = LiveReload.prototype
      let stale = 0
      let waiting = 0
      mock.method(
        LiveReload.prototype,
        'respond',
        function (this: LiveReload, ...given: Parameters<typeof respond>) {
          const [request, site, find] = given
          if (!request.target.query.includes(`version=${versionId}&page=`))
            return respond.call(this, request, site, find)
          // At last one that does not know the preview.
          const shown = ++stale <= 3 ? former : undefined
          if (stale <= 4) return respond.call(this, request, site, async () => shown)
          waiting++
          return respond.call(this, request, site, find)
        },
      )
      await using browser = await openBrowser()
      const { page } = browser
      let documents = 0
      page.on('request', (request) => request.isNavigationRequest() && documents++)
      await page.goto(`http://pr-1--${slug}.localhost:${service.port}/`)
      await waitFor(() => waiting === 1)
      // The service may be asked before the events of the page have arrived, which come in order.
      await page.evaluate(() => undefined)
      assert.equal(documents, 2, 'it reloads once for what another node shows')
      await publish({ 'index.html': '<h1>Next</h1>' })
      await page.getByRole('heading', { name: 'Next' }).waitFor()
      mock.restoreAll()
    },
  )

  test('shows no file that a publish removed, unless that publish does not reload open pages', async () => {
    await publish({ 'index.html': '4', 'a.js': 'a' })
    await publish({ 'index.html': '5', 'b.js': 'b' })
    assert.equal((await get('/a.js')).status, 404)
    await publish({ 'index.html': '6' }, false)
    assert.equal((await get('/b.js')).text, 'b')
  })

  test('keeps its pages behind the password of the site', async () => {
    const { versionId } = await publish({ 'index.html': '4' })
    await client.setMetadata(slug, { password: 'secret' })
    for (const path of [`/_slipway/reload?version=${versionId}`, '/_slipway/reload.js'])
      assert.equal((await get(path)).status, 401)
    await client.setMetadata(slug, { password: null })
  })
})

describe('requests that wait for a change', () => {
  const request = (address: string, page = '', parameter = 'version=1') =>
    ({
      target: { path: '/_slipway/reload', query: `?${parameter}${page && `&page=${page}`}` },
      headers: {},
      socket: { remoteAddress: address },
    }) as HttpRequest
  const clientIp = ({ socket }: Pick<HttpRequest, 'socket'>) => socket.remoteAddress!
  const unchanged = async () => '1'
  /** More than the end of a request takes, and less than its maximum wait. */
  const passTurns = async () => {
    for (let turns = 0; turns < 100; turns++) await turn()
  }

  test('end without one when their time is over, and when the service stops', async () => {
    const brief = new LiveReload({ clientIp, maxWaitMs: 1 })
    assert.equal((await brief.respond(request('192.0.2.1'), 'a', unchanged))?.status, 204)
    const stopping = new LiveReload({ clientIp })
    const waiting = stopping.respond(request('192.0.2.1'), 'a', unchanged)
    stopping.end()
    assert.equal((await waiting)?.status, 204)
    assert.equal((await stopping.respond(request('192.0.2.1'), 'a', unchanged))?.status, 204)
  })

  test('are limited in number, in total, for each network and for each site, and the others are refused', async () => {
    const few = new LiveReload({ clientIp, waiting: { total: 4, perKey: 2, perName: 3 } })
    const wait = async (address: string, site = 'a') => few.respond(request(address), site, unchanged)
    const waiting = [wait('192.0.2.1'), wait('192.0.2.1')]
    await assert.rejects(wait('192.0.2.1'), { code: 'UNAVAILABLE' })
    waiting.push(wait('192.0.2.2'))
    await assert.rejects(wait('192.0.2.3'), { code: 'UNAVAILABLE' })
    waiting.push(wait('192.0.2.3', 'b'))
    await assert.rejects(wait('192.0.2.3', 'b'), { code: 'UNAVAILABLE' })
    few.end()
    for (const one of waiting) assert.equal((await one)?.status, 204)
  })

  test('end when their page waits again, so that each page counts once however often it is hidden', async () => {
    const few = new LiveReload({ clientIp, waiting: { total: 2, perKey: 2, perName: 2 } })
    const wait = async (page: string, address = '192.0.2.1') =>
      few.respond(request(address, page), 'a', unchanged)
    const hidden = Array.from({ length: 5 }, () => wait('first'))
    const last = wait('first')
    let ended = 0
    for (const one of hidden) void one.then((response) => response?.status === 204 && ended++)
    await passTurns()
    assert.equal(ended, hidden.length)
    const other = wait('other')
    await assert.rejects(wait('first', '192.0.2.2'), { code: 'UNAVAILABLE' }, 'a page of another network')
    few.invalidate(['a'])
    few.end()
    for (const one of [last, other]) assert.equal((await one)?.status, 204)
  })

  test('end when their page is closed, and make room for others', async () => {
    const one = new LiveReload({ clientIp, waiting: { total: 1, perKey: 1, perName: 1 } })
    const wait = async (page: string) => one.respond(request('192.0.2.1', page), 'a', unchanged)
    const end = (page: string, address = '192.0.2.1') =>
      one.respond(request(address, page, 'end'), 'a', unchanged) as EdgeResponse
    const closed = wait('closed')
    assert.equal(end('closed', '192.0.2.2').status, 204)
    await assert.rejects(wait('next'), { code: 'UNAVAILABLE' }, 'a page of another network')
    let status: number | undefined
    void closed.then((response) => {
      status = response?.status
    })
    assert.equal(end('closed').status, 204)
    await passTurns()
    assert.equal(status, 204)
    const next = wait('next')
    one.end()
    assert.equal((await next)?.status, 204)
  })

  test('see a change that arrives while the version is looked up', async () => {
    const racing = new LiveReload({ clientIp })
    let looked = 0
    const find = async () => {
      looked++
      if (looked === 2) {
        racing.invalidate(['a'])
        await passTurns()
      }
      return looked < 3 ? '1' : '2'
    }
    const waiting = racing.respond(request('192.0.2.1'), 'a', find)
    await waitFor(() => looked === 1)
    racing.invalidate(['b'])
    racing.invalidate(undefined)
    assert.deepEqual([(await waiting)?.status, looked], [200, 3])
  })
})
