import { describe, test } from 'node:test'
import { PHONE } from '../support/browser.ts'
import { requiresBrowser, useWeb } from './web-fixture.ts'

const web = useWeb()

describe('a page whose script fails to load', requiresBrowser, () => {
  test('reports that, and loads on the next attempt', async () => {
    const { page, visitor } = await web.asVisitor('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.route('**/assets/sign-in-page-*', (route) => route.abort())
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'The connection broke before this page was here.' }).waitFor()
    await visitor.assertAccessible()
    await page.unroute('**/assets/sign-in-page-*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })
})

describe('a page that fails to render', requiresBrowser, () => {
  test('reports that, and links to the other pages', async () => {
    const { page, owner } = await web.asOwner()
    await page.route('**/api/v1/publishes*', (route) =>
      route.fulfill({ json: { publishes: [null], nextCursor: null } }),
    )
    await page.goto(web.url('/sites'))
    await page.getByRole('heading', { name: 'This page made a mistake.' }).waitFor()
    await owner.assertAccessible()
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    await page.unroute('**/api/v1/publishes*')
    await page.getByRole('link', { name: 'Sites' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
  })
})

describe('a page that was opened by another host name of the service', requiresBrowser, () => {
  test('shows the host name to open for signing in', async () => {
    const { page, visitor } = await web.asVisitor()
    await page.goto(`http://127.0.0.1:${web.service.port}/sign-in`)
    const link = page.getByRole('link', { name: web.service.baseUrl })
    await link.waitFor()
    await visitor.assertAccessible()
    await link.click()
    await page.waitForURL(web.url('/sign-in'))
  })
})

describe('a user with few requests left in the hour', requiresBrowser, () => {
  test('sees how many and when the limit resets, and what to do when none is left', async () => {
    await using small = await web.another({ RATE_SESSION: '14' })
    await using owner = await small.owner()
    const { page } = owner
    const use = () => page.evaluate(() => fetch('/api/v1/me').then(({ ok }) => ok))
    await page.goto(`${small.service.baseUrl}/sites`)
    for (let requests = 0; requests < 6; requests++) await use()
    await page.goto(`${small.service.baseUrl}/sites`)
    await page
      .getByText(/^\d+ of 14 requests are left this hour; it starts again at \d\d:00( tomorrow)?\.$/)
      .waitFor()
    await owner.assertAccessible()
    while (await use());
    await page.goto(`${small.service.baseUrl}/sites`)
    await page.getByText('The 14 requests of this hour are used.').waitFor()
    await page.getByText(/It goes on at \d\d:00/).waitFor()
    await owner.assertAccessible()
  })
})

describe('a page that needs a sign-in', requiresBrowser, () => {
  test('is accessible in all viewports and color schemes without one', async () => {
    const { page, visitor } = await web.asVisitor(undefined, { viewport: PHONE })
    for (const path of ['/sites', '/domains', '/account']) {
      await page.goto(web.url(path))
      await page.getByRole('heading', { name: /^Sign in/ }).waitFor()
      await visitor.assertAccessibleInAllViewports()
    }
    visitor.assertNoComplaints()
  })
})
