import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BrowserContext, Page, Route } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { testVariant } from '../support/variants.ts'
import { buildZip, liveAt, pickFiles, toUpload, visited } from './file-drop.ts'
import { disk, web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

/** Requests the focus in every animation frame, and counts the attempts in its address. */
const FOCUS_STEALING = `<!doctype html><title>Grasping</title><input id="field"><script>
  let times = 0
  const grasp = () => {
    field.blur()
    field.focus()
    history.replaceState(null, '', '#' + ++times)
    requestAnimationFrame(grasp)
  }
  grasp()
</script>`

describe('a site in a preview', requiresBrowser, () => {
  test('runs no script on the claim page', async () => {
    const { page, visitor } = await web.asVisitor()
    const { claimUrl } = await web.service
      .client()
      .publish({ files: toFiles({ 'index.html': FOCUS_STEALING }) })
    await page.goto(claimUrl!)
    const field = page.frameLocator('iframe').locator('#field')
    await field.waitFor()
    await page.getByLabel('Your email address').click()
    await page.keyboard.type('ada@example.test')
    assert.equal(await page.getByLabel('Your email address').inputValue(), 'ada@example.test')
    assert.equal(await field.inputValue(), '')
    assert.ok(!page.frames()[1]!.url().includes('#'), 'its script ran')
    assert.match(visitor.complaints.splice(0).join('\n'), /^Blocked script execution in /)
  })

  test('cannot keep the keyboard focus', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': '<input id="field">' }) })
    await page.goto(web.url(`/sites/${slug}`))
    const button = page.getByRole('button', { name: 'Choose files or a ZIP' })
    await button.focus()
    await page.frameLocator('iframe').locator('#field').waitFor()
    const events = await button.evaluateHandle((element) => {
      const events = { blur: false, key: false }
      addEventListener('blur', () => Object.assign(events, { blur: true }))
      element.addEventListener('keydown', () => Object.assign(events, { key: true }))
      return events
    })
    await page.frames()[1]!.evaluate(() => document.querySelector('input')!.focus())
    await page.waitForFunction(({ blur }) => blur, events)
    await button.and(page.locator(':focus')).waitFor()
    // The browser sends keys to the page again only after it has processed the focus change.
    while (!(await events.evaluate(({ key }) => key))) await page.keyboard.press('Shift')
  })
})

describe('the storage of a browser', requiresBrowser, () => {
  testVariant('does not prevent publishing, whatever it contains', async () => {
    const { page } = await web.asVisitor('/')
    const site = { slug: 'a', claimToken: 'b', expiresAt: '2999-01-01T00:00:00.000Z' }
    for (const rubbish of [
      '[',
      'null',
      '[null]',
      '[1, "two", [], {}]',
      JSON.stringify([{ ...site, siteUrl: 'https://', claimUrl: 'http://[' }]),
      JSON.stringify([{ ...site, siteUrl: 'javascript:1', claimUrl: 'javascript:1' }]),
    ]) {
      await page.evaluate((text) => {
        localStorage.setItem('slipway.anonymous-sites', text)
        for (const name of ['slipway.pending', 'slipway.code-sent']) sessionStorage.setItem(name, text)
      }, rubbish)
      await page.goto(web.url('/'))
      await page.getByText('Drop a folder, files or a ZIP here').waitFor()
      assert.equal(await page.getByText('Unclaimed sites').count(), 0)
      await page.getByLabel('Files or a zip').setInputFiles([toUpload('index.html', rubbish)])
      assert.equal(await visited(await liveAt(page)), rubbish)
      await page.getByRole('link', { name: 'Sign in', exact: true }).click()
      await page.getByLabel('Your email address').waitFor()
    }
  })
})

describe('a zip', requiresBrowser, () => {
  testVariant('with a path of thousands of folders is refused immediately', async () => {
    const { page } = await web.asVisitor()
    const endless = Array.from({ length: 40 }, (_, at) => ({
      name: `${at}${'/a'.repeat(30_000)}`,
      data: Buffer.from('x'),
    }))
    await page.goto(web.service.baseUrl)
    await pickFiles(page, disk.file('endless.zip', buildZip(endless)))
    await page.getByRole('heading', { name: "This can't be published yet" }).waitFor()
    await page.getByText(/^0(\/a)+\/?\.\.\.: must have at most 500 characters, not 60001$/).waitFor()
  })
})

test('a published site is not shown to the next account that signs in', requiresBrowser, async () => {
  const { page } = await web.asOwner('/')
  await page.getByLabel('Files or a zip').setInputFiles([toUpload('index.html', 'hers')])
  await liveAt(page)
  await signInElsewhere(page.context())
  await page.getByRole('heading', { name: 'Your site is live' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Choose files or a ZIP' }).waitFor()
})

describe('a late response', requiresBrowser, () => {
  test('does not show data of another account', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'hers' }) })
    const late = await held(page, '**/api/v1/publishes*')
    await page.goto(web.url('/sites'))
    await late.requested
    const email = await signInElsewhere(page.context())
    await page.getByText('No sites', { exact: true }).waitFor()
    await late.release()
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByText(email).waitFor()
    await page.getByRole('link', { name: 'Sites', exact: true }).click()
    await page.getByText('No sites', { exact: true }).waitFor()
    assert.equal(await page.getByText(slug).count(), 0)
  })

  testVariant('does not overwrite what the user has typed since', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'a' }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const title = page.getByLabel('Title')
    await title.fill('Bread')
    const late = await held(page, '**/metadata')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await late.requested
    await title.fill('Bread and butter')
    await late.release()
    await page.getByText('Settings saved.').waitFor()
    assert.equal(await title.inputValue(), 'Bread and butter')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: 'Bread and butter' }).waitFor()
  })

  testVariant('does not navigate away from another page that was opened since', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'a' }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const late = await held(page, '**/duplicate')
    await page.getByRole('button', { name: 'Duplicate site' }).click()
    await late.requested
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor()
    await late.release()
    await page.getByText(`${slug} duplicated as `).waitFor()
    assert.equal(new URL(page.url()).pathname, '/account')
  })

  testVariant('is awaited when a site is deleted, whose name was typed, whatever is pressed', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'a' }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    await page.getByRole('region', { name: 'Danger zone' }).getByRole('button').click()
    const field = page.getByLabel(`Type ${slug} to confirm`)
    await field.fill('another')
    await field.press('Enter')
    await field.fill(slug)
    assert.equal((await owner.client.details(slug)).slug, slug)
    const late = await held(page, `**/api/v1/publish/${slug}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    await late.requested
    await page.getByRole('button', { name: 'Cancel' }).press('Enter')
    for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: `Delete ${slug}?` }).waitFor()
    await late.release()
    await page.waitForURL('**/sites')
    await page.getByText(`${slug} deleted.`).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await assert.rejects(owner.client.details(slug), { code: 'NOT_FOUND' })
  })
})

/** Holds back the response to the next such request until it is released. */
async function held(
  page: Page,
  pattern: string,
): Promise<{ requested: Promise<void>; release(): Promise<void> }> {
  const requested = Promise.withResolvers<void>()
  let finish: () => Promise<void>
  const keep = async (route: Route) => {
    const response = await route.fetch()
    finish = () => route.fulfill({ response })
    requested.resolve()
  }
  await page.route(pattern, keep, { times: 1 })
  return { requested: requested.promise, release: () => finish() }
}

/** Signs in a new account in another tab of the same browser. */
async function signInElsewhere(context: BrowserContext): Promise<string> {
  const tab = await context.newPage()
  await tab.goto(web.url('/docs'))
  const account = await web.createAccount()
  await web.signIn(tab, account)
  return account.email
}
