import { after, before, describe, test } from 'node:test'
import { requiresBrowser, WebFixture } from './web-fixture.ts'

let web: WebFixture

before(async () => {
  web = await WebFixture.open()
})

after(() => web?.[Symbol.asyncDispose]())

describe('a page whose script fails to load', requiresBrowser, () => {
  test('reports that, and loads on the next attempt', async () => {
    await using visitor = await web.visitor()
    const { page } = visitor
    await page.goto(web.service.baseUrl)
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
    await using owner = await web.owner()
    const { page } = owner.visitor
    await page.route('**/api/v1/publishes*', (route) =>
      route.fulfill({ json: { publishes: [null], nextCursor: null } }),
    )
    await page.goto(`${web.service.baseUrl}/sites`)
    await page.getByRole('heading', { name: 'This page made a mistake.' }).waitFor()
    await owner.visitor.assertAccessible()
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    await page.unroute('**/api/v1/publishes*')
    await page.getByRole('link', { name: 'Sites' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
  })
})

describe('a page that was opened by another host name of the service', requiresBrowser, () => {
  test('shows the host name to open for signing in', async () => {
    await using visitor = await web.visitor()
    await visitor.page.goto(`http://127.0.0.1:${web.service.port}/sign-in`)
    const link = visitor.page.getByRole('link', { name: web.service.baseUrl })
    await link.waitFor()
    await visitor.assertAccessible()
    await link.click()
    await visitor.page.waitForURL(`${web.service.baseUrl}/sign-in`)
  })
})

describe('a user with few requests left in the hour', requiresBrowser, () => {
  test('sees how many and when the limit resets, and what to do when none is left', async () => {
    await using small = await web.another({ RATE_SESSION: '14' })
    await using owner = await small.owner()
    const { page } = owner.visitor
    const use = () => page.evaluate(() => fetch('/api/v1/me').then(({ ok }) => ok))
    await page.goto(`${small.service.baseUrl}/sites`)
    for (let requests = 0; requests < 6; requests++) await use()
    await page.goto(`${small.service.baseUrl}/sites`)
    await page
      .getByText(/^\d+ of 14 requests are left this hour; it starts again at \d\d:00( tomorrow)?\.$/)
      .waitFor()
    await owner.visitor.assertAccessible()
    while (await use());
    await page.goto(`${small.service.baseUrl}/sites`)
    await page.getByText('The 14 requests of this hour are used.').waitFor()
    await page.getByText(/It goes on at \d\d:00/).waitFor()
    await owner.visitor.assertAccessible()
  })
})
