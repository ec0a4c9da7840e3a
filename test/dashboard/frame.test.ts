import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { testVariant } from '../support/variants.ts'
import { visited } from './file-drop.ts'
import { web } from './shared.ts'
import { requiresBrowser } from './web-fixture.ts'

test(
  'the command palette opens pages and own sites with the keyboard, runs the actions of the shown site, and asks before unsaved settings are lost',
  requiresBrowser,
  async () => {
    const { page, owner } = await web.asOwner(undefined, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const publish = (title: string, slug?: string, live = true) => {
      const files = toFiles({ 'index.html': `<title>${title}</title>` })
      return owner.client.publish({ files, live, ...(slug && { slug }) })
    }
    const { slug, siteUrl } = await publish('Marlow Street Bakery')
    // The ids of versions grow with time.
    web.service.clock.now += 1
    // A draft was never live.
    await publish('Draft', slug, false)
    web.service.clock.now += 1
    await publish('Second', slug)
    await page.goto(web.url('/account'))
    const search = page.getByRole('button', { name: 'Search' })
    await search.focus()
    await page.keyboard.press('Control+k')
    const box = page.getByRole('combobox', { name: 'Search sites and pages' })
    await box.waitFor()
    await page.getByRole('option', { name: 'Second' }).waitFor()
    await owner.assertReadable()
    await page.keyboard.press('Escape')
    await box.waitFor({ state: 'detached' })
    await search.and(page.locator(':focus')).waitFor()

    await page.keyboard.press('Control+k')
    await box.fill('site')
    await page.getByRole('option', { name: 'Sites', exact: true }).click()
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor()
    await search.click()
    const run = async (name: string) => {
      await box.fill(name)
      await page.getByRole('option', { name, selected: true }).waitFor()
      await page.keyboard.press('Enter')
    }
    await run('Second')
    await page.waitForURL(web.url(`/sites/${slug}`))

    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByLabel('Title').fill('Unsaved')
    await page.keyboard.press('Control+k')
    await run('Copy URL')
    await page.getByText('URL copied.').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), siteUrl)
    const save = (await page.getByRole('region', { name: 'Unsaved changes' }).boundingBox())!
    const toast = (await page.locator('.toast-message').boundingBox())!
    assert.ok(toast.y + toast.height <= save.y, 'the toast covers the button that saves')

    await page.keyboard.press('Control+k')
    await run('Undo the last publish')
    await page.getByText('Rolled back to the previous version.').waitFor()
    assert.match(await visited(siteUrl), /Marlow Street Bakery/)
    const choosing = page.waitForEvent('filechooser')
    await page.keyboard.press('Control+k')
    await run('Publish update: choose files')
    await choosing

    for (const [typed, name, path] of [
      ['vers', 'Versions of this site', `/sites/${slug}/versions`],
      ['visits', 'Visits of this site', `/sites/${slug}/visits`],
      ['edit', 'Files of this site', `/sites/${slug}/files`],
      ['settings', 'Settings of this site', `/sites/${slug}/settings`],
      ['delete', 'Delete this site', `/sites/${slug}/settings#danger-zone`],
    ] as const) {
      await page.keyboard.press('Control+k')
      await box.fill(typed)
      await page.getByRole('option', { name, selected: true }).waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(web.url(path))
    }
    await page.locator('.side-list [aria-current]', { hasText: 'Danger zone' }).waitFor()
    await page.keyboard.press('Control+k')
    await box.fill('help')
    await page.getByRole('option', { name: 'Docs' }).waitFor()
    const docs = await page.context().newPage()
    await docs.goto(web.url('/sites'))
    await docs.getByRole('button', { name: 'Search' }).click()
    await docs.getByRole('combobox').fill('custom domain')
    await docs.getByRole('option', { name: 'Search the docs for “custom domain”' }).click()
    await docs.getByRole('searchbox').and(docs.locator(':focus')).waitFor()
    await docs.locator('#results').getByRole('link', { name: 'Custom domains' }).first().click()
    await docs.waitForURL(web.url('/docs/domains'))
    await docs.close()
    await run('Sign out')
    const question = page.getByRole('dialog', { name: 'Discard unsaved settings?' })
    await question.getByText(`The settings of ${slug} aren't saved.`).waitFor()
    await owner.assertReadable()
    await question.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText("You're signed out.").waitFor()
    await page.waitForURL(web.url('/'))
  },
)

test('signing out asks before a text that is not saved is discarded', requiresBrowser, async () => {
  const { page, owner } = await web.asOwner()
  const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'hers' }) })
  await page.goto(web.url('/account'))
  await page.getByRole('link', { name: 'Sites', exact: true }).click()
  await page.locator(`a[href="/sites/${slug}"]`).click()
  await page.getByRole('link', { name: 'Files', exact: true }).click()
  await page.getByRole('button', { name: 'Actions for index.html' }).click()
  await page.getByRole('menuitem', { name: 'Edit text' }).click()
  await page.getByLabel('Content').fill('an hour of work')
  await page.goBack()
  await page.getByRole('link', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  const question = page.getByRole('dialog', { name: 'Discard unsaved texts?' })
  await question.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText("You're signed out.").waitFor()
  const closed = page.waitForEvent('close')
  await page.close({ runBeforeUnload: true })
  await closed
})

describe('a page', requiresBrowser, () => {
  test('has the focus on its heading, also when it is the first that is opened and its script is loaded for it', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': '<title>Bakery</title>' }) })
    for (const [from, link, to] of [
      ['/', '/account', 'Account'],
      ['/sites', `/sites/${slug}`, 'Bakery'],
    ] as const) {
      await page.goto(web.url(from))
      await page.locator(`a[href="${link}"]`).first().press('Enter')
      await page.getByRole('heading', { level: 1, name: to }).and(page.locator(':focus')).waitFor()
    }
    // A link that the next page does not have.
    await page.getByRole('link', { name: 'View all' }).press('Enter')
    await page.getByText('Every publish creates a version').waitFor()
    await page.getByRole('heading', { level: 1, name: 'Bakery' }).and(page.locator(':focus')).waitFor()
  })

  test('whose script could not be loaded once is loaded by the next visit, and in place', async () => {
    const { page, owner } = await web.asOwner('/sites')
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor()
    await page.route('**/assets/account-page*', (route) => route.abort())
    const failed = page.getByRole('heading', { name: "Couldn't load this page" })
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await failed.waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await failed.waitFor()
    await page.getByRole('link', { name: 'Sites', exact: true }).click()
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor()
    await page.unroute('**/assets/account-page*')
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByText(`Signed in as`).waitFor()
    owner.complaints.splice(0)
  })

  test('says that few requests are left until the limit is reset', async () => {
    const { page } = await web.asOwner()
    await page.clock.install()
    await page.route('**/api/v1/publishes*', async (route) => {
      const response = await route.fetch()
      const resetsAt = String(Math.floor(Date.now() / 1000) + 600)
      const limit = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': resetsAt }
      await route.fulfill({ response, headers: { ...response.headers(), ...limit } })
    })
    await page.goto(web.url('/sites'))
    const notice = page.getByText('requests are left this hour')
    await notice.waitFor()
    await page.clock.fastForward(3_600_000)
    await notice.waitFor({ state: 'detached' })
  })

  testVariant('that fails to render reports that, and links to the other pages', async () => {
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
  })
})
