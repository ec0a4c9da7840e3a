import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { dropOn, recordCalls, visited } from './file-drop.ts'
import { disk, web } from './shared.ts'
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

/** Of the current test. */
let ada: Owner

describe('the versions of a site', requiresBrowser, () => {
  test('show when and by whom each was published, what changed, and a preview without the password', async () => {
    const { slug, page } = await versions()
    await ada.client.setMetadata(slug, { password: 'open sesame' })
    const calls = recordCalls(page)
    await opened(slug)
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
    await ada.assertAccessibleInAllViewports()
    ada.assertNoComplaints()
  })

  test('are restored with one click and reverted with another, also from another page', async () => {
    const { page, siteUrl } = await openVersions()
    await page.getByRole('button', { name: /^Restore version/ }).press('Enter')
    await rows().nth(2).getByText('Live', { exact: true }).waitFor()
    assert.equal(await visited(siteUrl), FIRST['index.html'])
    await ada.assertReadable()
    await page
      .getByRole('status')
      .getByText(/^Version \w{8} is live\.$/)
      .waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])
    await rows().nth(1).getByText('Live', { exact: true }).waitFor()

    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByText(/^Version \w{8} is live\.$/).waitFor()
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('link', { name: 'old.html' }).waitFor()
    await page.getByRole('link', { name: 'Sites' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])
  })

  test('are not reverted when another version went live since', async () => {
    const { page, slug, siteUrl } = await openVersions()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByText(/^Version \w{8} is live\.$/).waitFor()
    await ada.client.publish({ slug, files: toFiles({ 'index.html': 'Newer' }) })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText("Couldn't undo: a newer version is already live.").waitFor()
    assert.equal(await visited(siteUrl), 'Newer')
  })

  testVariant('that are drafts can be published', async () => {
    const { siteUrl } = await openVersions()
    await ada.page.getByRole('button', { name: /^Publish version/ }).click()
    await rows().first().getByText('Live', { exact: true }).waitFor()
    assert.equal(await rows().first().getByText('Draft').count(), 0)
    assert.equal(await visited(siteUrl), DRAFT['index.html'])
  })

  test('are deleted after confirmation, but never the live one', async () => {
    const { page, slug } = await openVersions()
    const remove = page.getByRole('menuitem', { name: 'Delete version' })
    await menu(1).press('Enter')
    await page.getByRole('menuitem', { name: 'Open preview' }).and(page.locator(':focus')).waitFor()
    assert.equal(await remove.count(), 0)
    await ada.assertReadable()
    await page.keyboard.press('Escape')
    await menu(1).and(page.locator(':focus')).waitFor()
    await menu(2).press('Enter')
    await page.getByRole('menuitem', { name: 'Open preview' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowUp')
    await remove.and(page.locator(':focus')).press('Enter')
    await ada.assertReadable()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await rows().count(), 3)
    await menu(2).click()
    await remove.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete version' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await rows().nth(1).getByText('Oldest saved version').waitFor()
    assert.equal(await rows().count(), 2)
    const { versions: kept } = await ada.client.versions(slug)
    assert.equal(kept.length, 2)
    await page.getByRole('list', { name: 'Versions' }).and(page.locator(':focus')).waitFor()
  })

  testVariant(
    'that were deleted in another tab are reported as deleted, with a link to the others',
    async () => {
      const { page, slug, first } = await openVersions()
      await ada.client.deleteVersion(slug, first)
      await page.getByRole('button', { name: /^Restore version/ }).click()
      await page.getByRole('alert').getByText('It may have been deleted in another tab.').waitFor()
      await page.getByRole('button', { name: 'Try again' }).click()
      await rows().nth(2).waitFor({ state: 'detached' })
      assert.equal(await rows().count(), 2)
    },
  )
})

test(
  'previews are listed with their addresses beside the versions, promoted and deleted',
  requiresBrowser,
  async () => {
    const { page, slug, siteUrl } = await versions()
    for (const [preview, text] of Object.entries({ staging: 'Staging', 'pr-42': 'Change' })) {
      // Versions of one millisecond have no order.
      web.service.clock.now += MINUTE_MS
      await ada.client.publish({ slug, preview, files: toFiles({ ...SECOND, 'index.html': text }) })
    }
    await opened(slug)
    assert.equal(await rows().count(), 3)
    const previews = page.getByRole('list', { name: 'Previews' }).locator('> li')
    assert.match(
      (await previews.allTextContents())[0]!,
      /^pr-42Promote.*You, with an API key · 1 file changed · Expires /,
    )
    const href = await page.getByRole('link', { name: 'pr-42' }).getAttribute('href')
    assert.equal(await visited(href!), 'Change')
    await ada.assertReadable()
    await page.getByRole('button', { name: 'Promote pr-42' }).click()
    await previews.first().getByText('Live', { exact: true }).waitFor()
    assert.equal(await visited(siteUrl), 'Change')
    await page.getByRole('button', { name: 'Actions for preview staging' }).click()
    await page.getByRole('menuitem', { name: 'Delete preview' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete preview' }).click()
    await previews.nth(1).waitFor({ state: 'detached' })
    assert.deepEqual(
      (await ada.client.previews(slug)).previews.map(({ name }) => name),
      ['pr-42'],
    )
  },
)

describe('the list of sites', requiresBrowser, () => {
  testVariant('files dropped on a site in the list are its next version', async () => {
    const { slug, siteUrl, page } = await versions()
    await page.goto(web.url('/sites'))
    const row = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: slug }) })
    await row.getByText('4 files').waitFor()
    await dropOn(page, '.site-list h2', disk.file('row/index.html', '<h1>Onto the row</h1>'))
    await page.getByRole('button', { name: 'Replace everything' }).click()
    await row.getByText(/^1 file,/).waitFor()
    assert.equal(await visited(siteUrl), '<h1>Onto the row</h1>')
    await ada.assertReadable()
  })
})

/** Creates a site with three versions: one from before it was claimed, a live one from the dashboard, and a draft. */
async function versions() {
  const { clock } = web.service
  ada = (await web.asOwner('/docs')).owner
  const { client } = ada
  clock.now = Date.now() - 180 * MINUTE_MS - 10_000
  const created = await web.service.client().publish({ files: toFiles(FIRST) })
  const { slug, siteUrl } = created
  await client.claim(slug, created.claimToken!)
  clock.now += 60 * MINUTE_MS
  await publishInBrowser(slug, SECOND)
  clock.now += 60 * MINUTE_MS
  await client.publish({ slug, live: false, message: 'Try a new menu', files: toFiles(DRAFT) })
  clock.now += 60 * MINUTE_MS
  return { slug, siteUrl, first: created.versionId, page: ada.page }
}

/** Publishes a version as the dashboard does, without an API key. */
async function publishInBrowser(slug: string, contents: Record<string, string>): Promise<void> {
  await using session = await web.openSession(ada.email)
  const data = { files: toFiles(contents).map(({ open: _, ...entry }) => entry) }
  const { upload } = await (await session.put(`/api/v1/publish/${slug}`, { data })).json()
  for (const { url, path, method, headers } of upload.uploads)
    await session.fetch(url, { method, headers, data: contents[path]! })
  const done = await session.post(upload.finalizeUrl, { data: { versionId: upload.versionId } })
  assert.ok(done.ok())
}

/** Creates such a site and opens the list of its versions. */
async function openVersions() {
  const site = await versions()
  await opened(site.slug)
  return site
}

async function opened(slug: string): Promise<void> {
  await ada.page.goto(web.url(`/sites/${slug}/versions`))
  await rows().first().waitFor()
}

function rows() {
  return ada.page.getByRole('list', { name: 'Versions' }).locator('> li')
}

/** The menu of a version. */
function menu(at: number) {
  return rows()
    .nth(at)
    .getByRole('button', { name: /^Actions for version/ })
}
