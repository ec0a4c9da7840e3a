import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { web } from './shared.ts'
import { newAddress, type Owner, requiresBrowser } from './web-fixture.ts'

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('the account page', requiresBrowser, () => {
  test('shows the account and the usage of its plan, and sets which emails are sent', async () => {
    const { page, owner } = await web.asOwner(undefined, { viewport: PHONE })
    const slug = await publish(owner)
    await owner.client.addDomain('www.use.example.com', slug)
    const before = (await owner.client.me()).usage.requestsThisHour
    await page.goto(web.url('/account'))
    await page.getByText('This browser').waitFor()
    const part = page.getByRole('region', { name: 'Plan & usage' })
    for (const text of [
      'Free',
      `${before} of 1,000,000`,
      /^Resets at \d\d:00( tomorrow)?\./,
      /^1 of 1$/,
      '14 bytes of 107 GB',
      '1 of 10,000',
      'Each site can have 1,000 files and 10 GB in total, 5.3 GB per file.',
    ])
      await part.getByText(text).waitFor()
    const domains = part.getByRole('progressbar', { name: 'Domains' })
    assert.equal(await domains.getAttribute('aria-valuenow'), '100')
    await owner.assertAccessibleInAllViewports()
    await page.getByRole('switch', { name: 'A site was deleted' }).click()
    await page.getByRole('switch', { name: 'A site was deleted', checked: false }).waitFor()
    const { notices } = await owner.client.me()
    assert.deepEqual([notices['site-deleted'], notices['site-expires']], [false, true])
    owner.assertNoComplaints()
  })

  testVariant('writes dates and times as in the locale of the browser, and numbers in English', async () => {
    const { page } = await web.asOwner('/account', { locale: 'es-CO' })
    await page.getByText('10 GB in total, 5.3 GB per file').waitFor()
    await page.getByText(/^Resets at \d+:00\s[ap]\.\sm\./).waitFor()
    const today = new Date().toLocaleDateString('es-CO', { dateStyle: 'long' })
    await page.locator('time[lang=es-CO]', { hasText: today }).first().waitFor()
  })
})

describe('the API key', requiresBrowser, () => {
  test('is replaced after confirmation, shown once, and the previous one stops working', async () => {
    const { page, owner } = await web.asOwner('/account')
    const replace = page.getByRole('button', { name: 'Replace key' })
    await replace.click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await owner.client.me()).email, owner.email)

    await replace.click()
    await page.getByRole('dialog').getByText('The new key is shown only once.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace key' }).click()
    const key = await shownKey(page)
    assert.equal((await web.service.client(key).me()).email, owner.email)
    await assert.rejects(owner.client.me(), { code: 'UNAUTHORIZED' })
    await page.getByText(`export SLIPWAY_URL=${web.service.baseUrl}`).waitFor()
    await page.getByText(`export SLIPWAY_KEY=${key}`).waitFor()
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    assert.ok(!kept.includes(key), 'it is stored')

    await page.getByRole('link', { name: 'Sites' }).click()
    await page.waitForURL('**/sites')
    await page.goBack()
    await replace.click()
    assert.ok(!(await page.content()).includes(key), 'it is shown again')
    await page.getByRole('dialog').getByRole('button', { name: 'Replace key' }).click()
    await shownKey(page)
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    await page.getByRole('heading', { name: 'Your new key' }).waitFor({ state: 'detached' })
  })

  testVariant('is created without confirmation where there is none', async () => {
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

describe('named keys', requiresBrowser, () => {
  test('are created with permissions, shown once, listed with their last use, and revoked', async () => {
    const { page, owner } = await web.asOwner(undefined, { viewport: PHONE })
    const slug = await publish(owner)
    await page.goto(web.url('/account'))
    await page.getByText('No named keys yet.').waitFor()
    await page.getByRole('button', { name: 'Create named key' }).click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('CI of bakery')
    await form.getByLabel('Only these sites').fill('no-such-site')
    await form.getByLabel('Expires').selectOption({ label: 'After 90 days' })
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('Site not found').waitFor()
    await owner.assertReadableInAllViewports()
    await form.getByLabel('Only these sites').fill(slug)
    await form.getByRole('button', { name: 'Create key' }).click()
    const client = web.service.client(await shownKey(page))
    const { key } = await client.me()
    assert.deepEqual([key?.name, key?.scope, key?.sites], ['CI of bakery', 'publish', [slug]])
    await page.reload()
    const row = page.getByRole('region', { name: 'Named keys' }).getByRole('listitem')
    await row.getByText(/Created .*, used .*, expires/).waitFor()
    await row.getByText(`Only ${slug}`).waitFor()
    await owner.assertReadableInAllViewports()
    await row.getByRole('button', { name: 'Revoke key CI of bakery' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('No named keys yet.').waitFor()
    await assert.rejects(client.me(), { code: 'UNAUTHORIZED' })
  })
})

describe('trusted repositories', requiresBrowser, () => {
  test('are added with the jobs that can publish, listed, and removed', async () => {
    const { page, owner } = await web.asOwner(undefined, { viewport: PHONE })
    const slug = await publish(owner)
    await page.goto(web.url('/account'))
    await page.getByText('No trusted repositories yet.').waitFor()
    await page.getByRole('button', { name: 'Trust repository' }).click()
    const form = page.getByRole('dialog')
    const submit = form.getByRole('button', { name: 'Trust repository' })
    await form.getByLabel('Repository').fill('bakery')
    await form.getByLabel('Site').fill(slug)
    await form.getByRole('switch', { name: 'Pull requests' }).click()
    await submit.click()
    await form.getByText('must be OWNER/REPOSITORY').waitFor()
    await owner.assertReadableInAllViewports()
    await form.getByLabel('Repository').fill('Ann/Bakery')
    await submit.click()
    const row = page.getByRole('region', { name: 'Trusted repositories' }).getByRole('listitem')
    await row.getByText('GitHub: branch main, pull requests').waitFor()
    await row.getByText(`Only ${slug}`).waitFor()
    const [trust] = (await owner.client.trusts()).trusts
    const { repository, branch, tag, pullRequests, scope, site } = trust!
    assert.deepEqual(
      { repository, branch, tag, pullRequests, scope, site },
      {
        repository: 'ann/bakery',
        branch: 'main',
        tag: null,
        pullRequests: true,
        scope: 'publish',
        site: slug,
      },
    )
    await page.reload()
    await row.getByText(/Added .*, never used/).waitFor()
    await owner.assertReadable()
    await row.getByRole('button', { name: 'Remove ann/bakery' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove repository' }).click()
    await page.getByText('No trusted repositories yet.').waitFor()
    assert.deepEqual((await owner.client.trusts()).trusts, [])
  })
})

describe('browsers that are signed in', requiresBrowser, () => {
  test('are listed with this one first, and can be signed out individually or all together', async () => {
    const { page, owner } = await web.asOwner()
    await using second = await web.openSession(owner.email, FIREFOX)
    await using third = await web.openSession(owner.email)
    assert.ok((await third.get('/api/v1/me')).ok())
    await page.goto(web.url('/account'))
    const rows = page.getByRole('region', { name: 'Active sessions' }).getByRole('listitem')
    await rows.first().getByText('This browser').waitFor()
    assert.equal(await rows.count(), 3)
    await page.getByRole('button', { name: 'Sign out Firefox on Windows' }).click()
    await page.getByRole('status').getByText('Firefox on Windows signed out.').waitFor()
    await rows.nth(2).waitFor({ state: 'detached' })
    assert.equal(await rows.count(), 2)
    await page.getByRole('button', { name: 'Sign out other sessions' }).click()
    await page.getByRole('status').getByText('1 session signed out.').waitFor()
    await rows.nth(1).waitFor({ state: 'detached' })
    for (const session of [second, third]) assert.equal((await session.get('/api/v1/me')).status(), 401)
    await page.reload()
    await rows.first().getByText('This browser').waitFor()
  })

  testVariant(
    'that were signed out elsewhere since the list was loaded are shown as signed out',
    async () => {
      const { page, owner } = await web.asOwner()
      await using second = await web.openSession(owner.email, FIREFOX)
      await page.goto(web.url('/account'))
      const end = page.getByRole('button', { name: 'Sign out Firefox on Windows' })
      await end.waitFor()
      assert.ok((await second.delete('/api/auth/session')).ok())
      await end.click()
      await page.getByRole('status').getByText('Firefox on Windows signed out.').waitFor()
      await end.waitFor({ state: 'detached' })
    },
  )
})

describe('signing out', requiresBrowser, () => {
  test('opens the front page and signs out every tab, and reports when the server cannot be reached', async () => {
    const { page, owner } = await web.asOwner()
    const other = await page.context().newPage()
    await other.goto(web.url('/account'))
    await other.getByText(owner.email).first().waitFor()
    await page.goto(web.url('/account'))
    const signOut = page.getByRole('button', { name: 'Sign out', exact: true })
    await page.getByText('This browser').waitFor()
    await page.route('**/api/auth/session', (route) => route.abort())
    await signOut.click()
    await page.getByRole('alert').getByText("Can't reach the server.").waitFor()
    await page.unroute('**/api/auth/session')
    await signOut.click()
    await page.getByRole('status').getByText("You're signed out").waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await other.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    assert.equal(await other.getByText(owner.email).count(), 0)
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/me')).status), 401)
  })

  testVariant('also happens when this browser is signed out in the list', async () => {
    const { page } = await web.asOwner('/account')
    await page.getByRole('listitem').getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('status').getByText("You're signed out").waitFor()
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
    const button = page.getByRole('button', { name: 'Delete account' })
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' })
    const field = dialog.getByLabel('Type your email address to confirm')
    await button.click()
    await field.fill(owner.email)
    await page.keyboard.press('Escape')
    await button.and(page.locator(':focus')).click()
    assert.equal(await field.inputValue(), '')
    await dialog.getByText('2 sites (28 bytes) with all versions').waitFor()
    await dialog.getByText("1 domain: visitors can't open your sites there").waitFor()
    await dialog.getByText('your API key and all sessions').waitFor()
    await owner.assertReadableInAllViewports()
    await field.fill('other@example.test')
    await field.press('Enter')
    assert.equal((await owner.client.me()).email, owner.email)

    await field.fill(owner.email.toUpperCase())
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await page.getByRole('status').getByText('Account deleted.').waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await assert.rejects(owner.client.me(), { code: 'UNAUTHORIZED' })
    const key = await web.service.signIn(owner.email)
    assert.deepEqual((await web.service.client(key).list()).publishes, [])
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
  return (await page.getByText(/^sl_live_[0-9a-f]{32}$/).textContent())!
}
