import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { requires } from '../tools/part.ts'
import { ContextPool, openBrowser } from './browser.ts'

test('the test browser opens a site by its name and records errors', requires('chromium'), async () => {
  await using server = createServer((request, response) => {
    if (request.url === '/cut') return request.socket.destroy()
    response.setHeader('Content-Type', 'text/html')
    response.end(`<title>${request.headers.host}</title><link rel="icon" href="data:,">
      <script>console.error('logged'); setTimeout(() => { fetch('/cut').catch(() => {}); oops() })</script>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `some-slug.localhost:${(server.address() as AddressInfo).port}`

  await using browser = await openBrowser()
  const logged = browser.page.waitForEvent('console', (message) => message.text() === 'logged')
  const thrown = browser.page.waitForEvent('pageerror')
  const cut = browser.page.waitForEvent('requestfailed')
  await browser.page.goto(`http://${host}/`)
  assert.equal(await browser.page.title(), host)
  await Promise.all([logged, thrown, cut])
  for (const complaint of [
    /^console: logged /,
    /^script: oops is not defined/,
    /^request: GET .*\/cut net::/,
  ]) {
    assert.ok(
      browser.complaints.some((line) => complaint.test(line)),
      `${complaint} in ${browser.complaints}`,
    )
  }
})

test('a reused page has no data of earlier pages and is online', requires('chromium'), async () => {
  await using server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html').end('<link rel="icon" href="data:,">')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://localhost:${(server.address() as AddressInfo).port}/`
  await using pool = await ContextPool.open()

  const first = await pool.visitor()
  await first.page.goto(url)
  const fresh = await first.page.evaluate(readState)
  await first.context.addCookies([{ name: 'a', value: '1', url }])
  await first.context.grantPermissions(['geolocation'])
  await first.page.evaluate(async () => {
    localStorage.setItem('a', '1')
    sessionStorage.setItem('a', '1')
    await caches.open('a')
    await new Promise((resolve) => Object.assign(indexedDB.open('a'), { onsuccess: resolve }))
  })
  assert.notDeepEqual(await first.page.evaluate(readState), fresh)
  await first.context.newPage()
  await first.context.route('**', (route) => route.abort())
  await first.context.setOffline(true)
  await first[Symbol.asyncDispose]()

  await using second = await pool.visitor()
  assert.ok(second.page === first.page)
  await second.page.goto(url)
  assert.deepEqual(await second.page.evaluate(readState), fresh)
  assert.equal(second.context.pages().length, 1)
})

test('a context with a replaced clock is not reused', requires('chromium'), async () => {
  await using pool = await ContextPool.open()
  const first = await pool.visitor()
  await first.page.clock.install()
  await first[Symbol.asyncDispose]()
  await using second = await pool.visitor()
  assert.ok(second.context !== first.context)
})

/** Runs in the page. */
async function readState(): Promise<unknown[]> {
  const { state } = await navigator.permissions.query({ name: 'geolocation' })
  const databases = await indexedDB.databases()
  return [
    document.cookie,
    { ...localStorage },
    { ...sessionStorage },
    await caches.keys(),
    databases.length,
    state,
  ]
}
