import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'
import { visited } from './file-drop.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

describe('a page whose script fails to load', requiresBrowser, () => {
  testVariant('reports that, and loads on the next attempt', async () => {
    const { page, visitor } = await web.asVisitor('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.route('**/assets/sign-in-page-*', (route) => route.abort())
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: "Couldn't load this page" }).waitFor()
    await visitor.assertReadable()
    await page.unroute('**/assets/sign-in-page-*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  })
})

describe('a page that fails to render', requiresBrowser, () => {
  testVariant('reports that, and links to the other pages', async () => {
    const { page, owner } = await web.asOwner()
    await page.route('**/api/v1/publishes*', (route) =>
      route.fulfill({ json: { publishes: [null], nextCursor: null } }),
    )
    await page.goto(web.url('/sites'))
    await page.getByRole('heading', { name: 'Something went wrong on this page' }).waitFor()
    assert.match(owner.complaints.splice(0).join('\n'), /^TypeError: /)
    await owner.assertReadable()
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
    await page.unroute('**/api/v1/publishes*')
    await page.getByRole('link', { name: 'Sites' }).click()
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor()
  })
})

describe('a page that was opened by another host name of the service', requiresBrowser, () => {
  testVariant('shows the host name to open for signing in', async () => {
    const { page, visitor } = await web.asVisitor()
    await page.goto(`http://127.0.0.1:${web.service.port}/sign-in`)
    const link = page.getByRole('link', { name: web.service.baseUrl })
    await link.waitFor()
    await visitor.assertReadable()
    await link.click()
    await page.waitForURL(web.url('/sign-in'))
  })
})

describe('a user with few requests left in the hour', requiresBrowser, () => {
  testVariant('sees how many and when the limit resets, and what to do when none is left', async () => {
    await using small = await web.another({ RATE_SESSION: '14' })
    await using owner = await small.owner()
    const { page } = owner
    const use = () => page.evaluate(() => fetch('/api/v1/me').then(({ ok }) => ok))
    await page.goto(`${small.service.baseUrl}/sites`)
    for (let requests = 0; requests < 6; requests++) await use()
    await page.goto(`${small.service.baseUrl}/sites`)
    await page
      .getByText(/^\d+ of 14 requests are left this hour\. The limit resets at \d\d:00( tomorrow)?\.$/)
      .waitFor()
    await owner.assertReadable()
    while (await use());
    await page.goto(`${small.service.baseUrl}/sites`)
    await page.getByText('Hourly limit reached (14 requests).').waitFor()
    await page.getByText(/Try again at \d\d:00/).waitFor()
    await owner.assertReadable()
  })
})

describe('a page that needs a sign-in', requiresBrowser, () => {
  testVariant('is accessible in all viewports and color schemes without one', async () => {
    const { page, visitor } = await web.asVisitor(undefined, { viewport: PHONE })
    for (const path of ALL_VARIANTS ? ['/domains', '/account', '/sites'] : ['/sites']) {
      await page.goto(web.url(path))
      await page.getByRole('heading', { name: /^Sign in/ }).waitFor()
      await visitor.assertReadableInAllViewports()
    }
    await visitor.assertAccessible()
    visitor.assertNoComplaints()
  })
})

describe('the command palette', requiresBrowser, () => {
  test('opens pages and own sites with the keyboard, and returns focus when it closes', async () => {
    const { page, owner } = await web.asOwner()
    const files = toFiles({ 'index.html': '<title>Marlow Street Bakery</title>' })
    const { slug } = await owner.client.publish({ files })
    await page.goto(web.url('/account'))
    const search = page.getByRole('button', { name: 'Search' })
    await search.focus()
    await page.keyboard.press('Control+k')
    const box = page.getByRole('combobox', { name: 'Search sites and pages' })
    await box.waitFor()
    await page.getByRole('option', { name: 'Marlow Street Bakery' }).waitFor()
    await owner.assertAccessible()
    await page.keyboard.press('Escape')
    await box.waitFor({ state: 'detached' })
    assert.ok(await search.evaluate((element) => element === document.activeElement))

    await page.keyboard.press('Control+k')
    await box.fill('site')
    await page.getByRole('option', { name: 'Sites', exact: true }).click()
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Domains' }).count(), 0)
    await search.click()
    await box.fill('street marlow')
    const results = page.getByRole('listbox', { name: 'Results' })
    await results.getByRole('option', { name: 'Marlow Street Bakery', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(web.url(`/sites/${slug}`))
  })

  test('runs the actions of the shown site, and asks before signing out with unsaved settings', async () => {
    const { page, owner } = await web.asOwner(undefined, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const { slug, siteUrl } = await owner.client.publish({ files: toFiles({ 'index.html': 'First' }) })
    // The ids of versions grow with time.
    web.service.clock.now += 1
    await owner.client.publish({ slug, files: toFiles({ 'index.html': 'Second' }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    await page.getByLabel('Title').fill('Unsaved')
    const run = async (name: string) => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search sites and pages' }).fill(name)
      await page.getByRole('option', { name, selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    await run('Copy URL')
    await page.getByText('URL copied.').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), siteUrl)
    const save = (await page.getByRole('region', { name: 'Unsaved changes' }).boundingBox())!
    const toast = (await page.locator('.toast-message').boundingBox())!
    assert.ok(toast.y + toast.height <= save.y, 'the toast covers the button that saves')

    await run('Undo the last publish')
    await page.getByText(/^Version \w{8} is live\.$/).waitFor()
    assert.equal(await visited(siteUrl), 'First')
    const choosing = page.waitForEvent('filechooser')
    await run('Publish update: choose files')
    await choosing

    await run('Sign out')
    const question = page.getByRole('dialog', { name: 'Discard unsaved settings?' })
    await question.getByText(`The settings of ${slug} aren't saved.`).waitFor()
    await owner.assertAccessible()
    await question.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText("You're signed out.").waitFor()
    await page.waitForURL(web.url('/'))
  })
})

describe('the frame of every page', requiresBrowser, () => {
  test('has a link that skips to the content, and the version of the service', async () => {
    const { page } = await web.asVisitor('/sign-in')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'MAIN')
    await page
      .getByRole('contentinfo')
      .getByText(/^Slipway \S+$/)
      .waitFor()
  })
})
