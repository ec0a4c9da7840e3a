import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { requires } from '../tools/part.ts'
import { ContextPool, openBrowser } from './browser.ts'
import { listen } from './listen.ts'

test('the test browser opens a site by its name and records errors', requires('chromium'), async () => {
  await using server = createServer((request, response) => {
    if (request.url === '/cut') return request.socket.destroy()
    response.setHeader('Content-Type', 'text/html')
    response.end(`<title>${request.headers.host}</title><link rel="icon" href="data:,">
      <script>console.error('logged'); setTimeout(() => { fetch('/cut').catch(() => {}); oops() })</script>`)
  })
  const host = `some-slug.localhost:${await listen(server)}`

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

test('a wait for what a page never shows fails with it and what is shown', requires('chromium'), async () => {
  await using pool = await ContextPool.open()
  await using user = await pool.visitor()
  await user.page.setContent('<h1>Deleted</h1>')
  const waiting = user.page.getByText('Restored').waitFor()
  const notify = (silentMs: number) => process.emit('message', { kind: 'silent', silentMs }, undefined)
  notify(15_000)
  await user.page.evaluate(() => fetch('/').catch(() => undefined))
  for (const silentMs of [30_000, 45_000]) notify(silentMs)
  await assert.rejects(waiting, /heading "Deleted"[\s\S]*waiting for getByText\('Restored'\)/)
})
