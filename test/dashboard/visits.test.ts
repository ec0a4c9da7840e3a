import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { DESKTOP, PHONE } from '../visitor.ts'
import { type Owner, requiresBrowser, WebFixture } from './web-fixture.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let web: WebFixture
let ada: Owner
let client: Slipway
/** The slug of a site whose visits do not change during the tests. */
let visited: string

before(async () => {
  web = await WebFixture.open()
  if (requiresBrowser.skip) return
  ada = await web.owner()
  client = web.service.client(ada.key)
  visited = await visitedSite()
})

after(async () => {
  await ada?.[Symbol.asyncDispose]()
  await web?.[Symbol.asyncDispose]()
})

const PATHS = ['/', '/', '/', '/about', ...Array.from({ length: 11 }, (_, at) => `/gone/${at}`)]

/** Three visitors: today, yesterday and 20 days ago. */
async function visitedSite(): Promise<string> {
  const { clock } = web.service
  const now = clock.now
  const { slug, siteUrl } = await published(client)
  for (const since of [20 * DAY_MS, DAY_MS, 0]) {
    clock.now = now - since
    for (const path of PATHS) await visit(siteUrl + path.slice(1))
    await client.visits(slug, '24h')
  }
  clock.now = now
  return slug
}

function published(client: Slipway) {
  const pages = ['index.html', 'about.html'].map((path) => {
    const bytes = new TextEncoder().encode('<h1>Bread</h1>')
    return { path, size: bytes.length, contentType: 'text/html', open: () => bytes }
  })
  return client.publish({ files: pages })
}

function visit(address: string): Promise<void> {
  const { host, pathname } = new URL(address)
  const headers = { Host: host, 'User-Agent': 'Firefox', Referer: 'https://news.example/bread' }
  return new Promise((done, fail) => {
    const sent = request({ host: '127.0.0.1', port: web.service.port, path: pathname, headers }, (answer) => {
      answer.resume().on('end', done)
    })
    sent.on('error', fail).end()
  })
}

const visitsAt = (slug: string, query = '') => `${web.service.baseUrl}/sites/${slug}/visits${query}`

const total = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Over time' }).locator('div', { has: page.getByRole('heading', { name }) })

const chosenRange = (page: Page) =>
  page.getByRole('navigation', { name: 'How far back' }).locator('[aria-current=page]')

/** The texts of the rows of a table. */
async function readRows(page: Page, part: string): Promise<string[][]> {
  const rows = await page.getByRole('region', { name: part }).locator('tbody tr').all()
  return Promise.all(rows.map((row) => row.locator('td').allInnerTexts()))
}

describe('the visits of a site', requiresBrowser, () => {
  test('are accessible in all viewports and color schemes', async () => {
    await using owner = await web.visitorSignedInAs(ada, { viewport: PHONE })
    const { page } = owner
    await page.goto(visitsAt(visited, '?range=30d'))
    await page.getByText('All numbers by day').click()
    await owner.assertAccessibleInAllViewports()
    owner.assertNoComplaints()
    web.assertPolicyKept()
  })

  test('are shown for ranges with addresses of their own, with the most requested paths first', async () => {
    await using owner = await web.visitorSignedInAs(ada)
    const { page } = owner
    await page.goto(visitsAt(visited))
    await total(page, 'Requests').getByText('30', { exact: true }).waitFor()
    await chosenRange(page).getByText('7 days').waitFor()
    await page.getByRole('link', { name: '30 days' }).click()
    await total(page, 'Requests').getByText('45', { exact: true }).waitFor()
    await total(page, 'Visitors').getByText('3', { exact: true }).waitFor()
    assert.equal(page.url(), visitsAt(visited, '?range=30d'))
    assert.deepEqual(await readRows(page, 'Pages and files'), [
      ['/', '9'],
      ['/about', '3'],
    ])
    assert.deepEqual(await readRows(page, 'Came from'), [['news.example', '12']])
    const missing = () => readRows(page, 'Not found').then((rows) => rows.length)
    assert.equal(await missing(), 10)
    await page.getByRole('button', { name: 'Show all 11: Not found' }).click()
    await page.getByRole('button', { name: 'Show fewer: Not found' }).waitFor()
    assert.equal(await missing(), 11)
    await page.goBack()
    await total(page, 'Requests').getByText('30', { exact: true }).waitFor()
    await chosenRange(page).getByText('7 days').waitFor()
    owner.assertNoComplaints()
    web.assertPolicyKept()
  })

  test('are shown in a chart with tooltips, and in a table', async () => {
    await using owner = await web.visitorSignedInAs(ada, { viewport: DESKTOP })
    const { page } = owner
    await page.goto(visitsAt(visited, '?range=30d'))
    const part = page.getByRole('region', { name: 'Over time' })
    const plots = part.getByRole('img')
    assert.match(
      (await plots.nth(1).getAttribute('aria-label'))!,
      /^Requests by day: 45 in the last 30 days\./,
    )
    const { width, height } = (await plots.nth(1).boundingBox())!
    await plots.nth(1).hover({ position: { x: width - 24, y: height / 2 } })
    await part.getByText(/, so far$/).waitFor()
    await total(page, 'Requests').getByText('15', { exact: true }).waitFor()
    await page.getByRole('heading', { level: 1 }).hover()
    await total(page, 'Requests').getByText('45', { exact: true }).waitFor()
    await page.getByText('All numbers by day').click()
    const rows = await page.getByRole('group').getByRole('row').allInnerTexts()
    assert.equal(rows.length, 31)
    assert.match(rows.at(-1)!, /, so far\s+1\s+15\s/)
    assert.equal(rows.filter((row) => /\s0\s+0\s+0 bytes$/.test(row)).length, 27)
    owner.assertNoComplaints()
  })

  test('are redrawn when the window or its color scheme changes', async () => {
    await using owner = await web.visitorSignedInAs(ada, { viewport: DESKTOP })
    const { page } = owner
    await page.goto(visitsAt(visited))
    await page.locator('canvas').first().waitFor()
    const drawn = () => page.evaluate(() => document.querySelector('canvas')!.toDataURL())
    const changes = (before: string) =>
      page.waitForFunction((last) => document.querySelector('canvas')!.toDataURL() !== last, before)
    const light = await drawn()
    await page.emulateMedia({ colorScheme: 'dark' })
    await changes(light)
    const wide = await drawn()
    await page.setViewportSize({ width: 360, height: 800 })
    await changes(wide)
    await owner.assertAccessible()
    owner.assertNoComplaints()
  })

  test('of the last day are shown in the time zone of the browser', async () => {
    await using owner = await web.visitorSignedInAs(ada, { timezoneId: 'Asia/Kolkata' })
    const { page } = owner
    await page.goto(visitsAt(visited, '?range=24h'))
    await page.getByText('All numbers by hour').click()
    const hours = await page.getByRole('group').getByRole('rowheader').allInnerTexts()
    await owner.assertAccessible()
    assert.equal(hours.length, 24)
    assert.ok(hours.every((hour) => /^\w+, \d\d:30(, so far)?$/.test(hour)))
    await page.getByText('Hours are told by the clock of this device.').waitFor()
    await page
      .getByRole('region', { name: 'Pages and files' })
      .getByText(/00:00 UTC/)
      .waitFor()
    owner.assertNoComplaints()
  })

  test('explain how they are counted when there are none, and show the next one', async () => {
    await using owner = await web.visitorSignedInAs(ada)
    const { page } = owner
    const { slug, siteUrl } = await published(client)
    await page.goto(visitsAt(slug))
    await page.getByText('Nobody came in the last 7 days.').waitFor()
    await page.getByText('No cookie is set').waitFor()
    await owner.assertAccessible()
    await visit(siteUrl)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await total(page, 'Visitors').getByText('1', { exact: true }).waitFor()
    owner.assertNoComplaints()
  })

  test('can be reloaded after a network failure', async () => {
    await using owner = await web.visitorSignedInAs(ada)
    const { page } = owner
    await page.goto(visitsAt(visited))
    await total(page, 'Requests').getByText('30', { exact: true }).waitFor()
    await page.route('**/analytics*', (route) => route.abort())
    await page.getByRole('link', { name: '30 days' }).click()
    await page.getByText('The server does not answer.').waitFor()
    await page.unroute('**/analytics*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await total(page, 'Requests').getByText('45', { exact: true }).waitFor()
  })

  test('cost one request for each range, once, and load the chart script only here', async () => {
    await using owner = await web.visitorSignedInAs(ada)
    const { page } = owner
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    const times = (what: string) => requests.filter((path) => path.includes(what)).length
    await page.goto(`${web.service.baseUrl}/sites/${visited}/settings`)
    await page.getByRole('heading', { name: 'Password' }).waitFor()
    assert.equal(times('visits-view'), 0)
    const ways = page.getByRole('navigation', { name: 'How far back' })
    await page.getByRole('link', { name: 'Visits' }).click()
    await total(page, 'Requests').getByText('30', { exact: true }).waitFor()
    await ways.getByRole('link', { name: '30 days' }).click()
    await total(page, 'Requests').getByText('45', { exact: true }).waitFor()
    await ways.getByRole('link', { name: '7 days' }).click()
    await total(page, 'Requests').getByText('30', { exact: true }).waitFor()
    assert.deepEqual([times('visits-view'), times('/analytics')], [1, 2])
  })

  test('are not requested where they are not counted', async () => {
    await using quiet = await web.another({ VISITS: 'off' })
    await using owner = await quiet.owner()
    const { page } = owner.visitor
    const { slug } = await published(quiet.service.client(owner.key))
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(`${quiet.service.baseUrl}/sites/${slug}/visits`)
    await page.getByText('Visits are not counted here.').waitFor()
    await owner.visitor.assertAccessible()
    assert.deepEqual(
      requests.filter((url) => url.includes('analytics')),
      [],
    )
    owner.visitor.assertNoComplaints()
  })
})
