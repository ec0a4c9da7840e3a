import { after, before, describe, test } from 'node:test'
import { inBrowser, Web } from './person.ts'

let web: Web

before(async () => {
  web = await Web.open()
})

after(() => web?.[Symbol.asyncDispose]())

describe('a page whose script does not come', inBrowser, () => {
  test('says so, and comes with the next try', async () => {
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

describe('a page that cannot be drawn', inBrowser, () => {
  test('says so, and others can be opened from it', async () => {
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

describe('a page that was opened by another name of the service', inBrowser, () => {
  test('says which name to open to sign in', async () => {
    await using visitor = await web.visitor()
    await visitor.page.goto(`http://127.0.0.1:${web.service.port}/sign-in`)
    const link = visitor.page.getByRole('link', { name: web.service.baseUrl })
    await link.waitFor()
    await visitor.assertAccessible()
    await link.click()
    await visitor.page.waitForURL(`${web.service.baseUrl}/sign-in`)
  })
})

describe('somebody who has few requests left in the hour', inBrowser, () => {
  test('is told so, with when it starts again; and what to do when none is left', async () => {
    await using small = await web.another({ RATE_FREE: '14' })
    await using owner = await small.owner()
    const { page } = owner.visitor
    const client = small.service.client(owner.key)
    for (let asked = 0; asked < 6; asked++) await client.me()
    await page.goto(`${small.service.baseUrl}/sites`)
    await page
      .getByText(/^\d+ of 14 requests are left this hour; it starts again at \d\d:00( tomorrow)?\.$/)
      .waitFor()
    await owner.visitor.assertAccessible()
    for (let left = true; left; )
      left = await client.me().then(
        () => true,
        () => false,
      )
    await page.goto(`${small.service.baseUrl}/sites`)
    await page.getByText('The 14 requests of this hour are used.').waitFor()
    await page.getByText(/It goes on at \d\d:00/).waitFor()
    await owner.visitor.assertAccessible()
  })
})
