import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { DAY_MS } from '../../server/lib/time.ts'
import { toFiles } from '../api/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { type Account, type Owner, requiresBrowser } from './web-fixture.ts'

const PATHS = ['/', '/', '/', '/about', ...Array.from({ length: 11 }, (_, at) => `/gone/${at}`)]

const FILES = { 'index.html': '<h1>Bread</h1>', 'about.html': '<h1>Bread</h1>' }

/** A site with three visitors: today, yesterday and 20 days ago. */
async function publishVisited({ client }: Account): Promise<string> {
  const { clock } = web.service
  const now = clock.now
  const { slug } = await client.publish({ files: toFiles(FILES) })
  for (const since of [20 * DAY_MS, DAY_MS, 0]) {
    clock.now = now - since
    for (const path of PATHS) await visit(slug, path)
    await client.visits(slug, '24h')
  }
  clock.now = now
  return slug
}

async function visit(site: string, path: string): Promise<void> {
  const headers = { 'User-Agent': 'Firefox', Referer: 'https://news.example/bread' }
  await sendRequest(web.service.port, { site, path, headers })
}

describe('the visits of a site', requiresBrowser, () => {
  let owner: Owner
  let page: Page
  let slug: string
  web.openForSuite(async () => {
    owner = await web.owner()
    page = owner.page
    slug = await publishVisited(owner)
    return owner
  })
  const openSettings = async () => {
    await page.goto(web.url(`/sites/${slug}/settings`))
    await page.getByRole('heading', { name: 'Access' }).waitFor()
  }
  const open = async (range: string) => {
    if (!page.url().includes('/visits')) await page.goto(web.url(`/sites/${slug}/visits`))
    await page.getByRole('link', { name: range }).click()
  }
  const total = (name: string) =>
    page
      .getByRole('region', { name: 'Over time' })
      .locator('div', { has: page.getByRole('heading', { name }) })
  /** The texts of the rows of a table. */
  const readRows = async (part: string): Promise<string[][]> => {
    const rows = await page.getByRole('region', { name: part }).locator('tbody tr').all()
    return Promise.all(rows.map((row) => row.locator('td').allInnerTexts()))
  }

  test('are shown for ranges with addresses of their own, each requested once, with a script only for them', async () => {
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const times = (what: string) => requests.filter((url) => url.includes(what)).length
    const shows = async (range: string, requestsInRange: string) => {
      await total('Requests').getByText(requestsInRange, { exact: true }).waitFor()
      await page
        .getByRole('navigation', { name: 'Time range' })
        .locator('[aria-current=page]')
        .getByText(range)
        .waitFor()
    }
    await openSettings()
    assert.equal(times('visits-view'), 0)
    await page.getByRole('link', { name: 'Visits' }).click()
    await shows('7 days', '30')
    await page.route('**/analytics*', (route) => route.abort())
    await page.getByRole('link', { name: '30 days' }).click()
    await page.getByText("Can't reach the server.").waitFor()
    await page.unroute('**/analytics*')
    await page.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.locator('main:focus').waitFor()
    await shows('30 days', '45')
    await total('Visitors').getByText('3', { exact: true }).waitFor()
    assert.equal(page.url(), web.url(`/sites/${slug}/visits?range=30d`))
    assert.equal((await readRows('Pages')).join(' '), '/,9 /about,3')
    assert.deepEqual(await readRows('Referrers'), [['news.example', '12']])
    assert.equal((await readRows('Not found')).length, 10)
    await page.getByRole('button', { name: 'Show all 11: Not found' }).click()
    await page.getByRole('button', { name: 'Show fewer: Not found' }).waitFor()
    assert.equal((await readRows('Not found')).length, 11)
    await page.goBack()
    await shows('7 days', '30')
    assert.deepEqual([times('visits-view'), times('/analytics')], [1, 3])
  })

  test('are shown in a chart with tooltips, and in a table, both accessible, and exported', async () => {
    await open('30 days')
    await total('Requests').getByText('45', { exact: true }).waitFor()
    const part = page.getByRole('region', { name: 'Over time' })
    const plots = part.getByRole('img')
    assert.match(
      (await plots.nth(1).getAttribute('aria-label'))!,
      /^Requests by day: 45 in the last 30 days\./,
    )
    const { width, height } = (await plots.nth(1).boundingBox())!
    await plots.nth(1).hover({ position: { x: width - 24, y: height / 2 } })
    await part.getByText(/, so far$/).waitFor()
    await total('Requests').getByText('15', { exact: true }).waitFor()
    await page.getByRole('heading', { level: 1 }).hover()
    await total('Requests').getByText('45', { exact: true }).waitFor()
    await page.getByText('All numbers by day').click()
    const rows = await page.getByRole('group').getByRole('row').allInnerTexts()
    assert.equal(rows.length, 31)
    assert.match(rows.at(-1)!, /, so far\s+1\s+15\s/)
    assert.equal(rows.filter((row) => /\s0\s+0\s+0 bytes$/.test(row)).length, 27)
    await owner.assertReadableInAllViewports()
    const exporting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const file = await exporting
    assert.equal(file.suggestedFilename(), `${slug}-visits-30d.csv`)
    const lines = (await text(await file.createReadStream())).split('\r\n')
    assert.deepEqual([lines[0], lines.length], ['day,visitors,requests,bytes', 32])
    assert.match(lines[30]!, /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z,1,15,\d+$/)
  })

  test('are shown by days of UTC in a browser whose time zone the server does not know', async () => {
    const { page: theirs } = await web.asOwner(undefined, { account: owner, timezoneId: 'Asia/Tokyo' })
    await theirs.addInitScript(() => {
      const { resolvedOptions } = Intl.DateTimeFormat.prototype
      Intl.DateTimeFormat.prototype.resolvedOptions = function () {
        return { ...resolvedOptions.call(this), timeZone: 'Asia/Newest' }
      }
    })
    await theirs.goto(web.url(`/sites/${slug}/visits`))
    const [first] = (await owner.client.visits(slug, '7d')).series
    const day = new Date(first!.at).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' })
    await theirs.getByText('Days are those of UTC.').waitFor()
    await theirs.getByText('All numbers by day').click()
    await theirs.locator('.numbers tbody th').first().getByText(`${day}, `).waitFor()
  })

  test('are those of one path or host after a click on its row, at an address of its own, until the next click', async () => {
    const row = (part: string, name: string) =>
      page.getByRole('region', { name: part }).getByRole('row').filter({ hasText: name })
    const marked = () => page.locator('.ranked [aria-current]').allInnerTexts()
    await open('30 days')
    await total('Visitors').getByText('3', { exact: true }).waitFor()
    const visits = page.url()
    // The link covers the row.
    await row('Pages', '/about').getByRole('cell').last().click({ force: true })
    await page.getByText('Requests of /about.').waitFor()
    await page.getByText('Days are those of UTC.').waitFor()
    await total('Requests').getByText('3', { exact: true }).waitFor()
    assert.deepEqual([await marked(), await total('Visitors').count()], [['/about'], 0])
    assert.equal(page.url(), `${visits}&path=%2Fabout`)
    assert.equal((await readRows('Pages')).join(' '), '/,9 /about,3')
    await owner.assertReadableInAllViewports()
    await row('Referrers', 'news.example').getByRole('link').press('Enter')
    await page.getByText('Requests referred by news.example.').waitFor()
    assert.deepEqual(await marked(), ['news.example'])
    await page.reload()
    await total('Requests').getByText('12', { exact: true }).waitFor()
    await page.getByText('All numbers by day').click()
    const exporting = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const [head] = (await text(await (await exporting).createReadStream())).split('\r\n')
    assert.equal(head, 'day,requests')
    await page.goBack()
    await page.getByText('Requests of /about.').waitFor()
    await row('Pages', '/about').getByRole('link').click()
    await total('Visitors').getByText('3', { exact: true }).waitFor()
    assert.deepEqual([await marked(), page.url()], [[], visits])
  })

  testVariant('of the last day are shown in the time zone of the browser', async () => {
    const { page } = await web.asOwner(`/sites/${slug}/visits?range=24h`, {
      account: owner,
      timezoneId: 'Asia/Kolkata',
    })
    await page.getByText('All numbers by hour').click()
    const hours = await page.getByRole('group').getByRole('rowheader').allInnerTexts()
    assert.equal(hours.length, 24)
    for (const hour of hours) assert.match(hour, /^\w+, \d\d:30(, so far)?$/)
    await page.getByText('Times are in your time zone').waitFor()
  })

  testVariant('explain how they are counted when there are none, and show the next one', async () => {
    const { slug: other } = await owner.client.publish({ files: toFiles(FILES) })
    await page.goto(web.url(`/sites/${other}/visits`))
    await page.getByText('No visits in the last 7 days.').waitFor()
    await page.getByText('We use no cookies').waitFor()
    await owner.assertReadable()
    await visit(other, '/')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await total('Visitors').getByText('1', { exact: true }).waitFor()
  })
})
