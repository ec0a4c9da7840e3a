import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { newAddress, type Owner, requiresBrowser, useWeb } from './web-fixture.ts'

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

const web = useWeb({ RATE_FREE: '60' })

describe('the account page', requiresBrowser, () => {
  test('shows the account, and asks for confirmation before a change', async () => {
    const { page, owner } = await web.asOwner(undefined, { viewport: PHONE })
    await publish(owner)
    await page.goto(web.url('/account'))
    await page.getByText('This browser').waitFor()
    await owner.assertAccessibleInAllViewports()

    await page.getByRole('switch', { name: 'Reminders' }).click()
    await page.getByRole('switch', { name: 'Reminders', checked: false }).waitFor()
    assert.equal((await owner.client.me()).reminders, false)

    await page.getByRole('button', { name: 'Replace key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Replace API key?' })
    await owner.assertAccessibleInAllViewports()
    await dialog.getByRole('button', { name: 'Replace key' }).click()
    await page.getByRole('heading', { name: 'Your new key' }).and(page.locator(':focus')).waitFor()
    await owner.assertAccessibleInAllViewports()

    await page.getByRole('button', { name: 'Delete account' }).click()
    await page.getByRole('dialog', { name: 'Delete your account?' }).waitFor()
    await owner.assertAccessibleInAllViewports()
    owner.assertNoComplaints()
  })

  test('shows the usage of the plan, without adding to it', async () => {
    const { page, owner } = await web.asOwner()
    const slug = await publish(owner)
    await owner.client.addDomain('www.use.example.com', slug)
    const before = (await owner.client.me()).usage.requestsThisHour
    await page.goto(web.url('/account'))
    const part = page.getByRole('region', { name: 'Plan & usage' })
    await part.getByText('Free').waitFor()
    await part.getByText(`${before} of 60`).waitFor()
    await part.getByText(/^Resets at \d\d:00( tomorrow)?\./).waitFor()
    await part.getByText('1 of 1').waitFor()
    assert.equal(
      await part.getByRole('progressbar', { name: 'Domains' }).getAttribute('aria-valuenow'),
      '100',
    )
    await part.getByText('14 bytes').waitFor()
    await part.getByText('Each site can have 1,000 files and 10 GB in total, 5.3 GB per file.').waitFor()
  })
})

describe('numbers, dates and times', requiresBrowser, () => {
  const texts: [locale: string, limits: string, clock: RegExp][] = [
    ['de-DE', '1.000 files and 10 GB in total, 5,3 GB per file', /^Resets at \d\d:00/],
    ['en-US', '1,000 files and 10 GB in total, 5.3 GB per file', /^Resets at \d+:00 [AP]M/],
  ]
  for (const [locale, limits, clock] of texts) {
    test(`are written as in ${locale} for a browser with that locale`, async () => {
      const { page } = await web.asOwner('/account', { locale })
      await page.getByText(limits).waitFor()
      await page.getByText(clock).waitFor()
      const today = new Date().toLocaleDateString(locale, { dateStyle: 'long' })
      await page.getByText(today).first().waitFor()
    })
  }
})

describe('the API key', requiresBrowser, () => {
  test('is replaced after confirmation, shown once, and the previous one stops working', async () => {
    const { page, owner } = await web.asOwner('/account')
    await page.getByRole('button', { name: 'Replace key' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await owner.client.me()).email, owner.email)

    await page.getByRole('button', { name: 'Replace key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The new key is shown only once.').waitFor()
    await dialog.getByRole('button', { name: 'Replace key' }).click()
    const key = await shownKey(page)
    assert.equal((await web.service.client(key).me()).email, owner.email)
    assert.equal(await isUnauthorized(owner.client.me()), true)
    await page.getByText(`export SLIPWAY_URL=${web.service.baseUrl}`).waitFor()
    await page.getByText(`export SLIPWAY_KEY=${key}`).waitFor()
  })

  test('is stored nowhere: it disappears when the page is left', async () => {
    const { page } = await web.asOwner('/account')
    await page.getByRole('button', { name: 'Replace key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace key' }).click()
    const key = await shownKey(page)
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    assert.ok(!kept.includes(key))

    await page.getByRole('link', { name: 'Sites' }).click()
    await page.waitForURL('**/sites')
    await page.goBack()
    await page.getByRole('button', { name: 'Replace key' }).waitFor()
    assert.ok(!(await page.content()).includes(key))

    await page.getByRole('button', { name: 'Replace key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace key' }).click()
    await shownKey(page)
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    await page.getByRole('heading', { name: 'Your new key' }).waitFor({ state: 'detached' })
  })

  test('is created without confirmation where there is none', async () => {
    const { page } = await web.asVisitor()
    await signIn(page, newAddress())
    await page.getByText('No API key yet.').waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = await shownKey(page)
    await page.getByRole('button', { name: 'Hide key' }).click()
    await page.getByRole('button', { name: 'Replace key' }).waitFor()
    assert.ok(!(await page.content()).includes(key))
  })
})

describe('browsers that are signed in', requiresBrowser, () => {
  test('are listed with this one first, and can be signed out individually or all together', async () => {
    const { page, owner } = await web.asOwner()
    await using second = await web.visitor({ userAgent: FIREFOX })
    await using third = await web.visitor()
    for (const visitor of [second, third]) await signIn(visitor.page, owner.email)
    await page.goto(web.url('/account'))
    const rows = page.getByRole('region', { name: 'Active sessions' }).getByRole('listitem')
    await rows.first().getByText('This browser').waitFor()
    assert.equal(await rows.count(), 3)
    await page.getByRole('button', { name: 'Sign out Firefox on Windows' }).click()
    await page.getByRole('status').getByText('Firefox on Windows signed out.').waitFor()
    assert.equal(await rows.count(), 2)
    await page.getByRole('button', { name: 'Sign out other sessions' }).click()
    await page.getByRole('status').getByText('1 session signed out.').waitFor()
    assert.equal(await rows.count(), 1)
    for (const visitor of [second, third]) {
      await visitor.page.goto(web.url('/account'))
      await visitor.page.getByRole('dialog', { name: "You're signed out" }).waitFor()
    }
    await page.reload()
    await rows.first().getByText('This browser').waitFor()
  })

  test('that were signed out elsewhere since the list was loaded are shown as signed out', async () => {
    const { page, owner } = await web.asOwner()
    await using second = await web.visitor({ userAgent: FIREFOX })
    await signIn(second.page, owner.email)
    await page.goto(web.url('/account'))
    const end = page.getByRole('button', { name: 'Sign out Firefox on Windows' })
    await end.waitFor()
    await page.evaluate(() => fetch('/api/v1/me/sessions', { method: 'DELETE' }))
    await end.click()
    await page.getByRole('status').getByText('Firefox on Windows signed out.').waitFor()
    await end.waitFor({ state: 'detached' })
  })
})

describe('signing out', requiresBrowser, () => {
  test('opens the front page and signs out every tab', async () => {
    const { page, owner } = await web.asOwner()
    const other = await page.context().newPage()
    await other.goto(web.url('/account'))
    await other.getByText(owner.email).first().waitFor()
    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('status').getByText("You're signed out").waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await other.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    assert.equal(await other.getByText(owner.email).count(), 0)
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/me')).status), 401)
  })

  test('also happens when this browser is signed out in the list', async () => {
    const { page } = await web.asOwner('/account')
    await page.getByRole('listitem').getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('status').getByText("You're signed out").waitFor()
    await page.waitForURL(web.url('/'))
  })

  test('reports when the server cannot be reached', async () => {
    const { page } = await web.asOwner('/account')
    await page.getByText('This browser').waitFor()
    await page.route('**/api/auth/session', (route) => route.abort())
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('alert').getByText("Can't reach the server.").waitFor()
    await page.unroute('**/api/auth/session')
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.waitForURL(web.url('/'))
  })
})

describe('deleting the account', requiresBrowser, () => {
  test('shows how much will be deleted, requires the address, and deletes everything', async () => {
    const { page, owner } = await web.asOwner()
    const slug = await publish(owner)
    await publish(owner)
    await owner.client.addDomain('www.leaving.example.com', slug)
    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'Delete account' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' })
    await dialog.getByText('2 sites (28 bytes) with all versions').waitFor()
    await dialog.getByText("1 domain: visitors can't open your sites there").waitFor()
    await dialog.getByText('your API key and all sessions').waitFor()

    const field = dialog.getByLabel('Type your email address to confirm')
    await field.fill('other@example.test')
    await field.press('Enter')
    assert.equal((await owner.client.me()).email, owner.email)

    await field.fill(owner.email.toUpperCase())
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await page.getByRole('status').getByText('Account deleted.').waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    assert.equal(await isUnauthorized(owner.client.me()), true)
    owner.assertNoComplaints()

    const key = await web.service.signIn(owner.email)
    assert.deepEqual((await web.service.client(key).list()).publishes, [])
  })

  test('keeps everything when it is cancelled', async () => {
    const { page, owner } = await web.asOwner('/account')
    await page.getByRole('button', { name: 'Delete account' }).click()
    const field = page.getByLabel('Type your email address to confirm')
    await field.fill(owner.email)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete account' }).and(page.locator(':focus')).click()
    assert.equal(await field.inputValue(), '')
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await owner.client.me()).email, owner.email)
  })
})

/** Signs in through the dashboard, so that the account has no API key, and opens the account page. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.goto(web.url('/account'))
  await web.askForCode(page, email)
  await web.writeCode(page, email)
  await page.getByText('This browser').waitFor()
}

async function publish({ client }: Owner): Promise<string> {
  return (await client.publish({ files: toFiles({ 'index.html': '<h1>Hello</h1>' }) })).slug
}

async function shownKey(page: Page): Promise<string> {
  const key = await page.getByText(/^sl_live_[0-9a-f]{32}$/).textContent()
  return key!
}

async function isUnauthorized(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    (error: unknown) => isSlipwayError(error, 'UNAUTHORIZED'),
  )
}
