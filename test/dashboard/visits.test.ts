import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { toFiles } from '../api/content.ts'
import { DESKTOP } from '../support/browser.ts'
import { sendRequest } from '../support/http-client.ts'
import { testVariant } from '../support/variants.ts'
import { recordCalls } from './file-drop.ts'
import { web } from './shared.ts'
import { type Account, requiresBrowser } from './web-fixture.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let account: Account
/** The slug of a site whose visits do not change during the tests. */
let visited: string

const PATHS = ['/', '/', '/', '/about', ...Array.from({ length: 11 }, (_, at) => `/gone/${at}`)]

/** Three visitors: today, yesterday and 20 days ago. */
async function visitedSite(): Promise<string> {
  const { clock } = web.service
  const now = clock.now
  const { slug, siteUrl } = await published(account.client)
  for (const since of [20 * DAY_MS, DAY_MS, 0]) {
    clock.now = now - since
    for (const path of PATHS) await visit(siteUrl + path.slice(1))
    await account.client.visits(slug, '24h')
  }
  clock.now = now
  return slug
}

function published(client: Slipway) {
  return client.publish({
    files: toFiles({ 'index.html': '<h1>Bread</h1>', 'about.html': '<h1>Bread</h1>' }),
  })
}

async function visit(address: string): Promise<void> {
  const { host, pathname } = new URL(address)
  const headers = { host, 'User-Agent': 'Firefox', Referer: 'https://news.example/bread' }
  await sendRequest(web.service.port, { path: pathname, headers })
}

const visitsPath = (slug: string, query = '') => `/sites/${slug}/visits${query}`

const total = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Over time' }).locator('div', { has: page.getByRole('heading', { name }) })

/** The texts of the rows of a table. */
async function readRows(page: Page, part: string): Promise<string[][]> {
  const rows = await page.getByRole('region', { name: part }).locator('tbody tr').all()
  return Promise.all(rows.map((row) => row.locator('td').allInnerTexts()))
}

describe('the visits of a site', requiresBrowser, () => {
  before(async () => {
    account = await web.createAccount()
    visited = await visitedSite()
  })

  test('are shown for ranges with addresses of their own, each requested once, with a script only for them', async () => {
    const { page } = await web.asOwner(undefined, { account })
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const times = (what: string) => requests.filter((url) => url.includes(what)).length
    const shows = async (range: string, requestsInRange: string) => {
      await total(page, 'Requests').getByText(requestsInRange, { exact: true }).waitFor()
      await page
        .getByRole('navigation', { name: 'Time range' })
        .locator('[aria-current=page]')
        .getByText(range)
        .waitFor()
    }
    await page.goto(web.url(`/sites/${visited}/settings`))
    await page.getByRole('heading', { name: 'Access' }).waitFor()
    assert.equal(times('visits-view'), 0)
    await page.getByRole('link', { name: 'Visits' }).click()
    await shows('7 days', '30')
    await page.route('**/analytics*', (route) => route.abort())
    await page.getByRole('link', { name: '30 days' }).click()
    await page.getByText("Can't reach the server.").waitFor()
    await page.unroute('**/analytics*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await shows('30 days', '45')
    await total(page, 'Visitors').getByText('3', { exact: true }).waitFor()
    assert.equal(page.url(), web.url(visitsPath(visited, '?range=30d')))
    const paths = [
      ['/', '9'],
      ['/about', '3'],
    ]
    assert.deepEqual(await readRows(page, 'Pages'), paths)
    assert.deepEqual(await readRows(page, 'Referrers'), [['news.example', '12']])
    assert.equal((await readRows(page, 'Not found')).length, 10)
    await page.getByRole('button', { name: 'Show all 11: Not found' }).click()
    await page.getByRole('button', { name: 'Show fewer: Not found' }).waitFor()
    assert.equal((await readRows(page, 'Not found')).length, 11)
    await page.goBack()
    await shows('7 days', '30')
    assert.deepEqual([times('visits-view'), times('/analytics')], [1, 3])
  })

  test('are shown in a chart with tooltips, and in a table, both accessible, and exported', async () => {
    const { page, owner } = await web.asOwner(visitsPath(visited, '?range=30d'), { account })
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
    await owner.assertAccessibleInAllViewports()
    owner.assertNoComplaints()
    const exporting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const file = await exporting
    assert.equal(file.suggestedFilename(), `${visited}-visits-30d.csv`)
    const lines = (await text(await file.createReadStream())).split('\r\n')
    assert.deepEqual([lines[0], lines.length], ['day,visitors,requests,bytes', 32])
    assert.match(lines[30]!, /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z,1,15,\d+$/)
  })

  testVariant('are redrawn when the window or its color scheme changes', async () => {
    const { page, owner } = await web.asOwner(visitsPath(visited), { account, viewport: DESKTOP })
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
    await owner.assertReadable()
  })

  testVariant('of the last day are shown in the time zone of the browser', async () => {
    const { page, owner } = await web.asOwner(visitsPath(visited, '?range=24h'), {
      account,
      timezoneId: 'Asia/Kolkata',
    })
    await page.getByText('All numbers by hour').click()
    const hours = await page.getByRole('group').getByRole('rowheader').allInnerTexts()
    await owner.assertReadable()
    assert.equal(hours.length, 24)
    assert.ok(hours.every((hour) => /^\w+, \d\d:30(, so far)?$/.test(hour)))
    await page.getByText('Times are in your time zone').waitFor()
    await page
      .getByRole('region', { name: 'Pages' })
      .getByText(/per UTC day/)
      .waitFor()
  })

  testVariant('explain how they are counted when there are none, and show the next one', async () => {
    const { page, owner } = await web.asOwner(undefined, { account })
    const { slug, siteUrl } = await published(account.client)
    await page.goto(web.url(visitsPath(slug)))
    await page.getByText('No visits in the last 7 days.').waitFor()
    await page.getByText('We use no cookies').waitFor()
    await owner.assertReadable()
    await visit(siteUrl)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await total(page, 'Visitors').getByText('1', { exact: true }).waitFor()
  })

  testVariant('are not requested where they are not counted', async () => {
    await using quiet = await web.another({ VISITS: 'off' })
    await using owner = await quiet.owner()
    const { page } = owner
    const { slug } = await published(owner.client)
    const calls = recordCalls(page)
    await page.goto(`${quiet.service.baseUrl}/sites/${slug}/visits`)
    await page.getByText("Visits aren't counted on this server").waitFor()
    await owner.assertReadable()
    assert.deepEqual(calls, [`GET /api/v1/publish/${slug}`])
  })
})
