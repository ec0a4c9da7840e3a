import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { DESKTOP, PHONE } from '../support/browser.ts'
import { visited } from './file-drop.ts'
import { type Owner, requiresBrowser, useWeb } from './web-fixture.ts'

const FIRST = { 'index.html': '<h1>First</h1>', 'old.html': 'old', 'style.css': 'a{}' }
const SECOND = {
  'index.html': '<h1>Second</h1>',
  'style.css': 'a{}',
  'img/new one.svg': '<svg/>',
  _redirects: '/a /',
}
const DRAFT = { ...SECOND, 'index.html': '<h1>Draft</h1>' }

const MINUTE_MS = 60_000

let ada: Owner
const web = useWeb({}, (account) => {
  ada = account
})

describe('the versions of a site', requiresBrowser, () => {
  test('show when, by whom and with what each was published, and what changed', async () => {
    await openVersions()
    const texts = await rows().allTextContents()
    assert.match(
      texts[0]!,
      /^1 hour ago ?Draft.*Try a new menu.*You, with an API key · 4 files · 27 bytes1 file changed$/,
    )
    assert.match(texts[1]!, /^2 hours ago ?Live.*You, from the browser · 4 files · \d+ bytes/)
    assert.match(texts[1]!, /2 files added, 1 file changed, 1 file removed$/)
    assert.match(texts[2]!, /^3 hours ago.*Published anonymously · 3 files · \d+ bytesOldest saved version$/)
    assert.equal(texts.length, 3)
    ada.assertNoComplaints()
  })

  test('show the changed files and a preview', async () => {
    const { slug } = await versions()
    const { page } = ada
    await page.setViewportSize(PHONE)
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await opened(slug)
    await rows().nth(1).locator('summary').press('Enter')
    const lists = rows().nth(1).getByRole('list')
    await lists.nth(2).waitFor()
    assert.deepEqual(await lists.nth(0).getByRole('listitem').allTextContents(), [
      'img/new one.svg',
      '_redirects',
    ])
    assert.deepEqual(await lists.nth(1).getByRole('listitem').allTextContents(), ['index.html'])
    assert.deepEqual(await lists.nth(2).getByRole('listitem').allTextContents(), ['old.html'])
    assert.deepEqual(await rows().nth(1).getByRole('link').allTextContents(), [
      'img/new one.svg',
      'index.html',
    ])
    const preview = page.frameLocator('iframe[title="Preview of this version"]')
    await preview.getByRole('heading', { name: 'Second' }).waitFor()
    assert.equal(requests.filter((path) => /\/versions\/\w+$/.test(path)).length, 1)
    await ada.assertAccessibleInAllViewports()
    await page.setViewportSize(DESKTOP)
    ada.assertNoComplaints()
  })

  test('are restored with one click and reverted with another, also from another page', async () => {
    const { page, siteUrl } = await openVersions()
    await page.getByRole('button', { name: /^Restore version/ }).press('Enter')
    await rows().nth(2).getByText('Live', { exact: true }).waitFor()
    assert.equal(await visited(siteUrl), FIRST['index.html'])
    await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)))
    await ada.assertAccessible()
    await page
      .getByRole('status')
      .getByText(/^Version \w{8} is live\.$/)
      .waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Rolled back.').waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])
    await rows().nth(1).getByText('Live', { exact: true }).waitFor()

    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByText(/^Version \w{8} is live\.$/).waitFor()
    await page.getByRole('link', { name: 'Sites' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Sites' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Rolled back.').waitFor()
    assert.equal(await visited(siteUrl), SECOND['index.html'])
    ada.assertNoComplaints()
  })

  test('are not reverted when another version went live since', async () => {
    const { page, slug, siteUrl } = await openVersions()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByText(/^Version \w{8} is live\.$/).waitFor()
    await ada.client.publish({ slug, files: toFiles({ 'index.html': 'Newer' }) })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText("Couldn't undo: a newer version is already live.").waitFor()
    assert.equal(await visited(siteUrl), 'Newer')
    ada.assertNoComplaints()
  })

  test('show the restored version on every view of the site', async () => {
    const { page } = await openVersions()
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await rows().nth(2).getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('link', { name: 'old.html' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    const preview = page.frameLocator('iframe[title="The live site"]')
    await preview.getByRole('heading', { name: 'First' }).waitFor()
  })

  test('that are drafts can be published', async () => {
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
    await ada.assertAccessible()
    await page.keyboard.press('Escape')
    await menu(1).and(page.locator(':focus')).waitFor()
    await menu(2).press('Enter')
    await page.getByRole('menuitem', { name: 'Open preview' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('ArrowUp')
    await remove.and(page.locator(':focus')).press('Enter')
    await ada.assertAccessible()
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
    ada.assertNoComplaints()
  })

  test('can be downloaded as an archive', async () => {
    const { page, slug } = await openVersions()
    await menu(2).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: 'Download files' }).click()
    const archive = await (await downloading).path()
    const bytes = readFileSync(archive).toString('latin1')
    for (const name of Object.keys(FIRST)) assert.ok(bytes.includes(name), name)
    assert.equal((await downloading).suggestedFilename(), `${slug}.zip`)
  })

  test('that were deleted in another tab are reported as deleted, with a link to the others', async () => {
    const { page, slug, first } = await openVersions()
    await ada.client.deleteVersion(slug, first)
    await page.getByRole('button', { name: /^Restore version/ }).click()
    await page.getByRole('alert').getByText('It may have been deleted in another tab.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await rows().nth(2).waitFor({ state: 'detached' })
    assert.equal(await rows().count(), 2)
    ada.complaints.length = 0
  })

  test('of a site with a password are shown to their owner without it', async () => {
    const { slug } = await versions()
    const { page } = ada
    await ada.client.setMetadata(slug, { password: 'open sesame' })
    await opened(slug)
    await rows().nth(1).locator('summary').click()
    const preview = page.frameLocator('iframe[title="Preview of this version"]')
    await preview.getByRole('heading', { name: 'Second' }).waitFor()
    ada.assertNoComplaints()
  })
})

describe('dropping files on an own site', requiresBrowser, () => {
  test('publishes the next version, on its page', async () => {
    const { slug, siteUrl } = await versions()
    const { page } = ada
    await page.goto(web.url(`/sites/${slug}`))
    await page
      .getByLabel('Files or a zip')
      .setInputFiles([{ name: 'index.html', mimeType: 'text/html', buffer: Buffer.from('<h1>Dropped</h1>') }])
    await page.getByRole('button', { name: 'Replace everything' }).click()
    const preview = page.frameLocator('iframe[title="The live site"]')
    await preview.getByRole('heading', { name: 'Dropped' }).waitFor()
    assert.equal(await visited(siteUrl), '<h1>Dropped</h1>')
    await page.getByRole('link', { name: 'Versions' }).click()
    await rows().nth(3).waitFor()
    assert.match((await rows().first().textContent())!, /Live.*You, from the browser · 1 file/)
    ada.assertNoComplaints()
  })

  test('publishes the next version, in the list', async () => {
    const { slug, siteUrl } = await versions()
    const { page } = ada
    await page.goto(web.url('/sites'))
    const row = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: slug }) })
    await row.getByText('4 files').waitFor()
    await dropOn(page, slug, '<h1>Onto the row</h1>')
    await page.getByRole('button', { name: 'Replace everything' }).click()
    await row.getByText(/^1 file,/).waitFor()
    assert.equal(await visited(siteUrl), '<h1>Onto the row</h1>')
    await ada.assertAccessible()
    ada.assertNoComplaints()
  })
})

/** Creates a site with three versions: one from before it was claimed, a live one from the dashboard, and a draft. */
async function versions(): Promise<{ slug: string; siteUrl: string; first: string }> {
  const { clock } = web.service
  const client = ada.client
  clock.now = Date.now() - 180 * MINUTE_MS - 10_000
  const created = await web.service.client().publish({ files: toFiles(FIRST) })
  const { slug, siteUrl } = created
  await client.claim(slug, created.claimToken!)
  clock.now += 60 * MINUTE_MS
  await publishInPage(slug, SECOND)
  clock.now += 60 * MINUTE_MS
  await client.publish({ slug, live: false, message: 'Try a new menu', files: toFiles(DRAFT) })
  clock.now += 60 * MINUTE_MS
  return { slug, siteUrl, first: created.versionId }
}

async function publishInPage(slug: string, contents: Record<string, string>): Promise<void> {
  const { page } = ada
  if (new URL(page.url()).origin !== web.service.baseUrl) await page.goto(web.service.baseUrl)
  const entries = toFiles(contents).map(({ open: _, ...entry }) => entry)
  await page.evaluate(publishHere, { slug, entries, contents })
}

interface Update {
  slug: string
  entries: { path: string; contentType: string }[]
  contents: Record<string, string>
}

/** Runs in the page: publishes a version with its session. */
async function publishHere({ slug, entries, contents }: Update): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const update = await fetch(`/api/v1/publish/${slug}`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ files: entries }),
  })
  const { upload } = await update.json()
  for (const target of upload.uploads) {
    await fetch(target.url, { ...target, body: contents[target.path] })
  }
  const body = JSON.stringify({ versionId: upload.versionId })
  const done = await fetch(upload.finalizeUrl, { method: 'POST', headers, body })
  if (!done.ok) throw new Error(await done.text())
}

/** Creates such a site and opens the list of its versions. */
async function openVersions() {
  const site = await versions()
  await opened(site.slug)
  return { page: ada.page, ...site }
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
    .getByRole('button', { name: /^Actions of version/ })
}

/** Drops a file on the row of a site. */
async function dropOn(page: Page, slug: string, content: string): Promise<void> {
  const carried = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([text], 'index.html', { type: 'text/html' }))
    return transfer
  }, content)
  const heading = page.getByRole('heading', { name: slug })
  await heading.dispatchEvent('dragover', { dataTransfer: carried })
  await heading.dispatchEvent('drop', { dataTransfer: carried })
}
