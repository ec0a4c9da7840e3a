import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { waitFor } from '../support/wait-for.ts'
import { web } from './shared.ts'
import { assertSwitchMoves } from './switches.ts'
import { type Owner, requiresBrowser } from './web-fixture.ts'

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe('the account page', requiresBrowser, () => {
  let owner: Owner
  let page: Page
  let slug: string
  let requests: number
  web.openForSuite(async () => {
    owner = await web.owner({ viewport: PHONE })
    page = owner.page
    slug = await publish(owner)
    await owner.client.addDomain('www.use.example.com', slug)
    requests = (await owner.client.me()).usage.requestsThisHour
    await page.goto(web.url('/account'))
    await page.getByText('This browser').waitFor()
    return owner
  })
  const part = (name: string) => page.getByRole('region', { name })
  const dialog = () => page.getByRole('dialog')
  const button = (name: string) => page.getByRole('button', { name, exact: true })

  test('shows the account and the usage of its plan, and sets which emails are sent', async () => {
    for (const text of [
      'Free',
      `${requests} of 1,000,000`,
      /^Resets at \d\d:00( tomorrow)?\./,
      /^1 of 1$/,
      '14 bytes of 107 GB',
      '1 of 10,000',
      'Each site can have 1,000 files and 10 GB in total, 5.3 GB per file.',
    ])
      await part('Plan & usage').getByText(text).waitFor()
    const domains = part('Plan & usage').getByRole('progressbar', { name: 'Domains' })
    assert.equal(await domains.getAttribute('aria-valuenow'), '100')
    await owner.assertAccessibleInAllViewports()
    await assertSwitchMoves(page, page.getByRole('switch').first())
    await page.getByRole('switch', { name: 'A site was deleted' }).click()
    await page.getByRole('switch', { name: 'A site was deleted', checked: false }).waitFor()
    const { notices } = await owner.client.me()
    assert.deepEqual([notices['site-deleted'], notices['site-expires']], [false, true])
  })

  /** Why a field of the dialog is refused. */
  const refusal = async (label: string) => {
    const field = dialog().getByLabel(label, { exact: true }).and(page.locator('[aria-invalid]'))
    const id = (await field.getAttribute('aria-describedby'))!.split(' ').at(-1)
    return page.locator(`[id="${id}"]`).textContent()
  }

  test('creates named keys with permissions, shows each once, lists them with their last use, and revokes them', async () => {
    await page.getByText('No named keys yet.').waitFor()
    await button('Create named key').click()
    await dialog().getByLabel('Name').fill('CI of bakery')
    await dialog().getByLabel('Only these sites').fill('no-such-site')
    await dialog().getByLabel('Expires').selectOption({ label: 'After 90 days' })
    await dialog().getByRole('button', { name: 'Create key' }).click()
    assert.equal(
      await refusal('Only these sites'),
      "Site not found, or it belongs to another account: 'no-such-site'.",
    )
    await owner.assertReadable()
    await dialog().getByLabel('Only these sites').fill(slug.toUpperCase())
    await dialog().getByRole('button', { name: 'Create key' }).click()
    const shown = await shownKey(page)
    const client = web.service.client(shown)
    const { key } = await client.me()
    assert.deepEqual([key?.name, key?.scope, key?.sites], ['CI of bakery', 'publish', [slug]])
    // Its use is recorded without a flush, and shown soon.
    await waitFor(async () => (await owner.client.keys()).keys[0]!.lastUsedAt !== null)
    await page.reload()
    const row = part('Named keys').getByRole('listitem')
    await row.getByText(/Created .*, used .*, expires/).waitFor()
    await row.getByText(`Only ${slug}`).waitFor()
    assert.ok(!(await page.content()).includes(shown))
    const open = row.getByRole('button', { name: 'Revoke key CI of bakery' })
    const confirm = dialog().getByRole('button', { name: 'Revoke key' })
    await open.click()
    await page.route('**/keys/*', (route) => route.abort(), { times: 1 })
    await confirm.click()
    await dialog().getByRole('alert').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await open.click()
    await confirm.waitFor()
    assert.equal(await dialog().getByRole('alert').count(), 0, 'the error of the dialog before')
    await confirm.click()
    await page.getByText('No named keys yet.').waitFor()
    await assert.rejects(client.me(), { code: 'UNAUTHORIZED' })
  })

  test('lets nothing be typed into a dialog that its running request would close', async () => {
    const { promise: held, resolve: resume } = Promise.withResolvers<void>()
    await page.route('**/api/v1/me/keys', (route) => held.then(() => route.abort()), { times: 1 })
    await button('Create named key').click()
    const [name, permission] = [dialog().getByLabel('Name'), dialog().getByLabel('Permission')]
    await name.fill('CI')
    await name.press('Enter')
    await dialog().locator('[aria-busy=true]').waitFor()
    await name.pressSequentially(' of bakery')
    assert.equal(await name.inputValue(), 'CI')
    assert.ok(await permission.isDisabled())
    resume()
    await dialog().getByRole('alert').waitFor()
    await name.pressSequentially(' of bakery')
    assert.deepEqual([await name.inputValue(), await permission.isDisabled()], ['CI of bakery', false])
    await dialog().getByRole('button', { name: 'Cancel' }).click()
  })

  test('trusts repositories with the jobs that can publish, lists them, and removes them', async () => {
    await page.getByText('No trusted repositories yet.').waitFor()
    await button('Trust repository').click()
    const submit = dialog().getByRole('button', { name: 'Trust repository' })
    await dialog().getByLabel('Repository').fill('bakery')
    await dialog().getByLabel('Site').fill(slug)
    await dialog().getByRole('switch', { name: 'Pull requests' }).click()
    await submit.click()
    assert.equal(await refusal('Repository'), 'This must be OWNER/REPOSITORY.')
    await owner.assertReadable()
    await dialog().getByLabel('Repository').fill('Ann/Bakery')
    await dialog().getByLabel('Site').fill('no-such-site')
    await submit.click()
    assert.equal(await refusal('Site'), 'Site not found, or it belongs to another account.')
    await dialog().getByLabel('Site').fill(slug.toUpperCase())
    await dialog().getByLabel('Name').fill('ma*in')
    await submit.click()
    assert.equal(await refusal('Name'), 'This must be a name, or the beginning of one and *.')
    await dialog().getByLabel('Name').fill('main')
    await submit.click()
    const row = part('Trusted repositories').getByRole('listitem')
    await row.getByText('GitHub: branch main, pull requests').waitFor()
    await row.getByText(`Only ${slug}`).waitFor()
    const [trust] = (await owner.client.trusts()).trusts
    const { repository, branch, tag, pullRequests, scope, site } = trust!
    assert.deepEqual(
      [repository, branch, tag, pullRequests, scope, site],
      ['ann/bakery', 'main', null, true, 'publish', slug],
    )
    await row.getByRole('button', { name: 'Remove ann/bakery' }).click()
    await dialog().getByRole('button', { name: 'Remove repository' }).click()
    await page.getByText('No trusted repositories yet.').waitFor()
    assert.deepEqual((await owner.client.trusts()).trusts, [])
  })

  test('lists the browsers that are signed in, this one first, and signs out the others, one or all', async () => {
    await using second = await web.openSession(owner.email, FIREFOX)
    await using third = await web.openSession(owner.email)
    assert.ok((await third.get('/api/v1/me')).ok())
    await page.reload()
    const rows = part('Active sessions').getByRole('listitem')
    await rows.first().getByText('This browser').waitFor()
    const before = await rows.count()
    await button('Sign out Firefox on Windows').click()
    await page.getByRole('status').getByText('Firefox on Windows signed out.').waitFor()
    await rows.nth(before - 1).waitFor({ state: 'detached' })
    await button('Sign out other sessions').click()
    await page
      .getByRole('status')
      .getByText(/^\d sessions? signed out\./)
      .waitFor()
    await rows.nth(1).waitFor({ state: 'detached' })
    for (const session of [second, third]) assert.equal((await session.get('/api/v1/me')).status(), 401)
  })

  test('replaces the API key after confirmation, shows it once, and ends the previous one', async () => {
    const client = web.service.client(await web.service.signIn(owner.email))
    await button('Replace key').click()
    await button('Cancel').click()
    assert.equal((await client.me()).email, owner.email)

    await button('Replace key').click()
    await dialog().getByText('The new key is shown only once.').waitFor()
    await dialog().getByRole('button', { name: 'Replace key' }).click()
    const key = await shownKey(page)
    assert.equal((await web.service.client(key).me()).email, owner.email)
    await assert.rejects(client.me(), { code: 'UNAUTHORIZED' })
    await page.getByText(`export SLIPWAY_URL=${web.service.baseUrl}`).waitFor()
    await page.getByText(`export SLIPWAY_KEY=${key}`).waitFor()
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    assert.ok(!kept.includes(key), 'it is stored')

    await page.getByRole('link', { name: 'Sites' }).click()
    await page.waitForURL('**/sites')
    await page.goBack()
    await button('Replace key').click()
    assert.ok(!(await page.content()).includes(key), 'it is shown again')
    await dialog().getByRole('button', { name: 'Replace key' }).click()
    await shownKey(page)
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
    await page.getByRole('heading', { name: 'Your new key' }).waitFor({ state: 'detached' })
  })

  test('signs out every tab and opens the front page, and reports when the server cannot be reached', async () => {
    const other = await page.context().newPage()
    await other.goto(web.url('/account'))
    await other.getByText(owner.email).first().waitFor()
    await page.route('**/api/auth/session', (route) => route.abort())
    await button('Sign out').click()
    await page.getByRole('alert').getByText("Can't reach the server.").waitFor()
    await page.unroute('**/api/auth/session')
    await button('Sign out').click()
    await page.getByRole('status').getByText("You're signed out").waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await other.getByRole('heading', { name: 'Sign in to see your account' }).waitFor()
    assert.equal(await other.getByText(owner.email).count(), 0)
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/me')).status), 401)
  })
})

describe('an account', requiresBrowser, () => {
  test('is deleted with everything once its address is typed, after a new sign-in when the session has expired', async () => {
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
    await dialog.getByText('all keys and sessions').waitFor()
    await owner.assertReadableInAllViewports()
    await field.fill('other@example.test')
    await field.press('Enter')
    assert.equal((await owner.client.me()).email, owner.email)

    await page.context().clearCookies()
    await field.fill(owner.email.toUpperCase())
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    const signIn = page.getByRole('dialog', { name: "You're signed out" })
    await signIn.getByRole('button', { name: 'Get a sign-in code' }).click()
    await signIn.getByText(/^The code for/).waitFor()
    await owner.assertReadable()
    assert.equal(await field.inputValue(), owner.email.toUpperCase())
    await web.writeCode(page, owner.email)
    await page.getByRole('status').getByText('Account deleted.').waitFor()
    await page.waitForURL(web.url('/'))
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await assert.rejects(owner.client.me(), { code: 'UNAUTHORIZED' })
    const key = await web.service.signIn(owner.email)
    assert.deepEqual((await web.service.client(key).list()).publishes, [])
  })
})

test(
  'the page of an account that is closed, but not deleted completely, says so and nothing else',
  requiresBrowser,
  async () => {
    const { page, owner } = await web.asOwner()
    const error = 'The account is closed. The rest of its data will be deleted within minutes.'
    const json = { error, code: 'UNAVAILABLE', status: 503, details: { closed: true } }
    await page.goto(web.url('/account'))
    await page.getByRole('button', { name: 'Delete account' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type your email address to confirm').fill(owner.email)
    await page.route('**/api/v1/me', (route) => route.fulfill({ status: 503, json }), { times: 1 })
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await page.getByText(error).first().waitFor()
    assert.equal(await page.getByText('Nothing was lost').count(), 0)
    await page.getByRole('status').getByText(error).waitFor()
    await page.waitForURL(web.url('/'))
  },
)

async function publish({ client }: Owner): Promise<string> {
  return (await client.publish({ files: toFiles({ 'index.html': '<h1>Hello</h1>' }) })).slug
}

async function shownKey(page: Page): Promise<string> {
  return (await page.getByText(/^sl_live_[0-9a-f]{32}$/).textContent())!
}
