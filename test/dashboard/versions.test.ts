import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { DESKTOP, PHONE } from '../support/browser.ts'
import { pluck } from '../support/pluck.ts'
import { recordCalls, visited } from './file-drop.ts'
import { web } from './shared.ts'
import { type Owner, requiresBrowser, undone } from './web-fixture.ts'

const FIRST = { 'index.html': '<h1>First</h1>', 'old.html': 'old', 'style.css': 'a{}' }
const SECOND = {
  'index.html': '<h1>Second</h1>',
  'style.css': 'a{}',
  'img/new one.svg': '<svg/>',
  _redirects: '/a /',
}
const DRAFT = { ...SECOND, 'index.html': '<h1>Draft</h1>' }

const MINUTE_MS = 60_000

describe('the versions of a site', requiresBrowser, () => {
  let owner: Owner
  let page: Page
  let slug: string
  let siteUrl: string
  web.openForSuite(async () => {
    owner = await web.owner()
    page = owner.page
    ;({ slug, siteUrl } = await publishVersions(owner))
    return owner
  })
  const open = async () => {
    await page.goto(web.url(`/sites/${slug}/versions`))
    await rows().first().waitFor()
  }
  const rows = () => page.getByRole('list', { name: 'Versions' }).locator('> li')
  const menu = (row: Locator) => row.getByRole('button', { name: /^Actions for version/ })
  const restore = () =>
    rows()
      .last()
      .getByRole('button', { name: /^Restore version/ })

  test('show when and by whom each was published, what changed, and a preview without the password', async () => {
    await owner.client.setMetadata(slug, { password: 'open sesame' })
    const calls = recordCalls(page)
    await open()
    const texts = await rows().allTextContents()
    assert.match(
      texts[0]!,
      /^1 hour ago ?Draft.*Try a new menu.*You, with an API key · 4 files · 27 bytes1 file changed$/,
    )
    assert.match(texts[1]!, /^2 hours ago ?Live.*You, from the browser · 4 files · \d+ bytes/)
    assert.match(texts[1]!, /2 files added, 1 file changed, 1 file removed$/)
    assert.match(texts[2]!, /^3 hours ago.*Published anonymously · 3 files · \d+ bytesFirst version$/)
    assert.equal(texts.length, 3)

    await page.setViewportSize(PHONE)
    await rows().nth(1).locator('summary').press('Enter')
    const lists = rows().nth(1).getByRole('list')
    await lists.nth(2).waitFor()
    for (const [at, names] of [['img/new one.svg', '_redirects'], ['index.html'], ['old.html']].entries())
      assert.deepEqual(await lists.nth(at).getByRole('listitem').allTextContents(), names)
    const links = rows().nth(1).getByRole('link')
    assert.deepEqual(await links.allTextContents(), ['img/new one.svg', 'index.html'])
    const preview = page.frameLocator('iframe[title="Preview of this version"]')
    await preview.getByRole('heading', { name: 'Second' }).waitFor()
    assert.equal(calls.filter((call) => /\/versions\/\w+$/.test(call)).length, 1)
    await owner.assertReadableInAllViewports()
    await page.setViewportSize(DESKTOP)
    await owner.client.setMetadata(slug, { password: null })
  })

  test('are compared, any two of them, with the lines of texts and pictures side by side', async () => {
    await open()
    const { versions } = await owner.client.versions(slug)
    await page.getByLabel('From', { exact: true }).selectOption(versions.at(-1)!.versionId)
    await page.getByLabel('To', { exact: true }).selectOption(versions[0]!.versionId)
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('2 files added, 1 file changed, 1 file removed.').waitFor()
    const files = page.locator('.compared > li')
    for (const [path, added, removed] of [
      ['index.html', ['+ <h1>Draft</h1>'], ['- <h1>First</h1>']],
      ['old.html', [], ['- old']],
    ] as const) {
      const file = files.filter({ hasText: path })
      await file.locator('summary').click()
      await file.locator('.diff').waitFor()
      assert.deepEqual(await file.locator('ins').allTextContents(), added)
      assert.deepEqual(await file.locator('del').allTextContents(), removed)
    }
    const picture = files.filter({ hasText: 'new one.svg' })
    await picture.locator('summary').click()
    assert.match((await picture.locator('img').getAttribute('src'))!, /new%20one\.svg\?versionId=/)
    await owner.assertReadableInAllViewports()
    await page.getByLabel('From', { exact: true }).selectOption(versions[0]!.versionId)
    await page.getByText('No differences.').waitFor()
  })

  test('are published and restored with one click and reverted with another, also from another page', async () => {
    await open()
    await page.getByRole('button', { name: /^Publish version/ }).click()
    await rows().first().getByText('Live', { exact: true }).waitFor()
    // The list shows it before the response, after which there is an undo.
    const undo = page.getByRole('button', { name: 'Undo' })
    await undo.waitFor()
    assert.equal(await visited(siteUrl), DRAFT['index.html'])
    await undo.click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])

    const refusal = { status: 409, json: { error: 'Not now', code: 'APPROVAL_REQUIRED', status: 409 } }
    await page.route('**/restore*', (route) => route.fulfill(refusal), { times: 1 })
    await restore().click()
    await page.getByText('Not now').waitFor()
    await rows().nth(1).getByText('Live', { exact: true }).waitFor()
    await restore().press('Enter')
    await rows().nth(2).getByText('Live', { exact: true }).waitFor()
    await undo.waitFor()
    assert.equal(await visited(siteUrl), FIRST['index.html'])
    await page
      .getByRole('status')
      .getByText(/^Version \w{10} is live\.$/)
      .waitFor()
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('link', { name: 'old.html' }).waitFor()
    await page.getByRole('link', { name: 'Sites' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
    await undo.click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])
  })

  test('keep the focus in the page when a button of theirs goes with its use, also where that fails', async () => {
    const refusal = { status: 409, json: { error: 'Not now', code: 'APPROVAL_REQUIRED', status: 409 } }
    const focused = (part: Locator) => part.and(page.locator(':focus')).waitFor()
    await open()
    await page.route('**/restore*', (route) => route.fulfill(refusal), { times: 1 })
    await restore().press('Enter')
    await page.getByText('Not now').waitFor()
    await focused(page.getByRole('list', { name: 'Versions' }))
    await page.getByRole('link', { name: 'Overview' }).click()
    const main = page.getByRole('main')
    await page.getByRole('region', { name: 'Latest versions' }).getByRole('button').first().press('Enter')
    const undo = page.getByRole('button', { name: 'Undo' })
    await undo.waitFor()
    await focused(main)
    await undo.press('Enter')
    await undone(page).waitFor()
    await focused(main)
    await page.getByRole('button', { name: 'Close' }).press('Enter')
    await undone(page).waitFor({ state: 'detached' })
    await focused(main)
  })

  test('are not reverted when another version went live since', async () => {
    await open()
    await restore().click()
    await page.getByText(/^Version \w{10} is live\.$/).waitFor()
    await owner.client.publish({ slug, files: toFiles({ 'index.html': 'Newer' }) })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText("Couldn't undo: another version is live by now.").waitFor()
    assert.equal(await visited(siteUrl), 'Newer')
  })

  test('are deleted after confirmation, but never the live one', async () => {
    await open()
    const before = (await owner.client.versions(slug)).versions.length
    const live = rows().filter({ has: page.getByText('Live', { exact: true }) })
    const oldest = rows().last()
    const remove = page.getByRole('menuitem', { name: 'Delete version' })
    await menu(live).press('Enter')
    await page.getByRole('menuitem', { name: 'Open preview' }).and(page.locator(':focus')).waitFor()
    assert.equal(await remove.count(), 0)
    await owner.assertReadable()
    await page.keyboard.press('Escape')
    await menu(live).and(page.locator(':focus')).waitFor()
    await menu(oldest).press('Enter')
    await page.getByRole('menuitem', { name: 'Open preview' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowUp')
    await remove.and(page.locator(':focus')).press('Enter')
    await owner.assertReadable()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete version' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await rows().last().getByText('Oldest saved version').waitFor()
    assert.equal((await owner.client.versions(slug)).versions.length, before - 1)
    await page.getByRole('list', { name: 'Versions' }).and(page.locator(':focus')).waitFor()
  })

  test('have previews beside them, with their addresses, which are promoted and deleted', async () => {
    for (const [preview, text] of Object.entries({ staging: 'Staging', 'pr-42': 'Change' })) {
      // Versions of one millisecond have no order.
      web.service.clock.now += MINUTE_MS
      await owner.client.publish({ slug, preview, files: toFiles({ ...SECOND, 'index.html': text }) })
    }
    await open()
    assert.equal(
      await rows()
        .filter({ hasText: /pr-42|staging/ })
        .count(),
      0,
    )
    const previews = page.getByRole('list', { name: 'Previews' }).locator('> li')
    assert.match(
      (await previews.allTextContents())[0]!,
      /^pr-42Promote.*You, with an API key · .*1 file changed.* · Expires /,
    )
    const href = await page.getByRole('link', { name: 'pr-42' }).getAttribute('href')
    assert.equal(await visited(href!), 'Change')
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Promote pr-42' }).click()
    await previews.first().getByText('Live', { exact: true }).waitFor()
    // The list shows it before the response.
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    assert.equal(await visited(siteUrl), 'Change')
    await page.getByRole('button', { name: 'Actions for preview staging' }).click()
    await page.getByRole('menuitem', { name: 'Delete preview' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete preview' }).click()
    await previews.nth(1).waitFor({ state: 'detached' })
    assert.deepEqual(pluck((await owner.client.previews(slug)).previews, 'name'), ['pr-42'])
  })
})

/** Publishes a site with three versions: one from before it was claimed, a live one from the dashboard, and a draft. */
async function publishVersions({ client, email }: Owner) {
  const { clock } = web.service
  clock.now = Date.now() - 180 * MINUTE_MS - 10_000
  const { slug, siteUrl, claimToken } = await web.service.client().publish({ files: toFiles(FIRST) })
  await client.claim(slug, claimToken!)
  clock.now += 60 * MINUTE_MS
  await publishInBrowser(email, slug, SECOND)
  clock.now += 60 * MINUTE_MS
  await client.publish({ slug, live: false, message: 'Try a new menu', files: toFiles(DRAFT) })
  clock.now += 60 * MINUTE_MS
  return { slug, siteUrl }
}

/** Publishes a version as the dashboard does, without an API key. */
async function publishInBrowser(
  email: string,
  slug: string,
  contents: Record<string, string>,
): Promise<void> {
  await using session = await web.openSession(email)
  const data = { files: toFiles(contents).map(({ open: _, ...entry }) => entry) }
  const { upload } = await (await session.put(`/api/v1/publish/${slug}`, { data })).json()
  for (const { url, path, method, headers } of upload.uploads)
    await session.fetch(url, { method, headers, data: contents[path]! })
  const done = await session.post(upload.finalizeUrl, { data: { versionId: upload.versionId } })
  assert.ok(done.ok())
}
