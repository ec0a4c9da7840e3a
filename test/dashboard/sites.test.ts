import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { sendRequest } from '../support/http-client.ts'
import { testVariant } from '../support/variants.ts'
import { toUpload, visited } from './file-drop.ts'
import { web } from './shared.ts'
import { type Account, requiresBrowser, textsAre, undone } from './web-fixture.ts'

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="teal"/></svg>'

/** Files of the first site. */
const FILES = {
  'index.html': '<h1>Harbour</h1>',
  'favicon.svg': ICON,
  _headers: '/*\n  X-A: b\n',
  'img/2026/sea/boat 1%.svg': ICON,
  'img/2026/sea/boat 10.svg': ICON,
  'img/2026/sea/boat 2.svg': ICON,
  'img/logo.svg': ICON,
  'css/site.css': 'a{}',
}

const MINUTE_MS = 60_000

/** An account with a site of every kind. */
let ada: Account
let slugs: Awaited<ReturnType<typeof severalSites>>

describe('the sites of an account', requiresBrowser, () => {
  before(async () => {
    ada = await web.createAccount()
    slugs = await severalSites()
  })

  test('the list and the page of a site are accessible in all viewports and color schemes', async () => {
    const { page, owner } = await web.asOwner('/sites', { account: ada, viewport: PHONE })
    await titlesAre(page, [slugs.pending, 'Locked away', 'Short-lived', 'Songs', 'The harbour'])
    await owner.assertAccessibleInAllViewports()
    await page.getByRole('link', { name: 'The harbour' }).click()
    await page.getByRole('heading', { level: 1, name: 'The harbour' }).waitFor()
    await preview(page).getByRole('heading', { name: 'Harbour' }).waitFor()
    await owner.assertAccessibleInAllViewports()
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('link', { name: 'site.css' }).waitFor()
    await owner.assertAccessibleInAllViewports()
    await page.goto(web.url(`/sites/${slugs.pending}`))
    await page.getByText("This site isn't live yet").waitFor()
    await owner.assertReadableInAllViewports()
    owner.assertNoComplaints()
  })

  test('the list shows title, address and state of each site', async () => {
    const { page } = await web.asOwner('/sites', { account: ada })
    const harbour = `${toHost(slugs.harbour)}\\s*8 files, \\d+ bytes · Updated 4 hours ago\\s*Live`
    for (const [title, expected] of [
      [slugs.pending, /2 files, 3\.1 kB · Updated .*Not live yet/],
      ['Locked away', /Live ?Password/],
      ['Short-lived', /Expires in 5\d min/],
      ['Songs', /Updated 3 hours ago\s*Live ?Expires .*\d{4}/],
      ['The harbour', new RegExp(harbour)],
    ] as const)
      await rows(page)
        .filter({ has: page.getByRole('heading', { name: title }) })
        .filter({ hasText: expected })
        .waitFor()
    await rows(page).filter({ hasText: 'Locked away' }).locator('.letter').waitFor()
    const picture = rows(page).filter({ hasText: 'The harbour' }).locator('img')
    await picture.evaluate((image: HTMLImageElement) => image.decode())
  })

  test('the list is searched by title and by address while typing', async () => {
    const { page } = await web.asOwner('/sites', { account: ada })
    const search = page.getByRole('searchbox', { name: 'Search' })
    for (const [typed, found] of [
      ['HARBOUR t', 'The harbour'],
      ['away  locked', 'Locked away'],
      [slugs.pending.slice(2), slugs.pending],
    ] as const) {
      await search.fill(typed)
      await titlesAre(page, [found])
      await page.getByRole('status').getByText('1 of 5 sites').waitFor()
    }
    await search.fill('nowhere to be found')
    await page.getByText('No sites match "nowhere to be found".').waitFor()
    await search.fill('')
    await rows(page).nth(4).waitFor()
  })

  testVariant('the list is sorted by title or by the last update, as this browser remembers', async () => {
    const account = await web.createAccount()
    for (const title of ['Boats', 'Zebras', 'Apples']) {
      web.service.clock.now += 1
      await account.client.publish({ title, files: toFiles({ 'a.html': 'a' }) })
    }
    const { page } = await web.asOwner('/sites', { account })
    await titlesAre(page, ['Apples', 'Zebras', 'Boats'])
    await page.getByLabel('Sort by').selectOption('Title')
    await titlesAre(page, ['Apples', 'Boats', 'Zebras'])
    await page.reload()
    await titlesAre(page, ['Apples', 'Boats', 'Zebras'])
    await page.getByLabel('Sort by').selectOption('Recently updated')
    await titlesAre(page, ['Apples', 'Zebras', 'Boats'])
  })

  test('the list has a menu for each site, which deletes it once its name is typed', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ title: 'Not needed', files: toFiles({ 'a.html': 'a' }) })
    await owner.client.publish({ title: 'Needed', files: toFiles({ 'a.html': 'a' }) })
    await page.goto(web.url('/sites'))
    await page.getByRole('button', { name: 'Actions for Not needed' }).click()
    await page.getByRole('menuitem', { name: 'Delete site' }).click()
    await page.getByLabel(`Type ${slug} to confirm`).fill(slug)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    await page.getByText('Not needed deleted.').waitFor()
    await titlesAre(page, ['Needed'])
  })

  testVariant(
    'the list explains how to publish the first site, shows fifty, more on request, and searches all of them',
    async () => {
      const { page, owner } = await web.asOwner('/sites')
      await page.getByText('No sites', { exact: true }).waitFor()
      await page.getByText(`npx ${web.service.baseUrl}/cli.tgz publish ./folder`).waitFor()
      await owner.assertReadable()
      await page.getByRole('link', { name: 'Publish a folder' }).click()
      await page.waitForURL(web.url('/'))

      const { client } = owner
      const { slug } = await client.publish({ files: toFiles({ 'index.html': 'first' }) })
      for (let made = 1; made < 52; made++) {
        web.service.clock.now += 1
        await client.duplicate(slug)
      }
      await client.setMetadata(slug, { title: 'The oldest' })
      await page.goto(web.url('/sites'))
      await rows(page).nth(49).waitFor()
      assert.equal(await rows(page).count(), 50)
      await page.getByRole('searchbox', { name: 'Search' }).fill('OLD the')
      await page.getByRole('status').getByText('1 site found').waitFor()
      await titlesAre(page, ['The oldest'])
      await page.getByRole('searchbox', { name: 'Search' }).fill('')
      await page.getByRole('button', { name: 'Show more' }).press('Enter')
      await rows(page).nth(51).waitFor()
      assert.equal(await rows(page).count(), 52)
      assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
      await page.waitForFunction(() => document.activeElement?.closest('li')?.previousElementSibling)
    },
  )

  testVariant(
    'the list shows the first letter of a site whose image fails to load, and recovers after a network failure',
    async () => {
      const { page, owner } = await web.asOwner()
      await owner.client.publish({ title: 'The harbour', files: toFiles(FILES) })
      await page.route('**/favicon.svg', (route) =>
        route.request().url().includes('--') ? route.abort() : route.continue(),
      )
      await page.route('**/api/v1/publishes*', (route) => route.abort())
      await page.goto(web.url('/sites'))
      await page.getByRole('alert').getByText("Can't reach the server.").waitFor()
      await page.unroute('**/api/v1/publishes*')
      await page.getByRole('button', { name: 'Try again' }).click()
      await rows(page).locator('.letter').getByText('T').waitFor()
      assert.equal(await rows(page).locator('img').count(), 0)
    },
  )

  test('the page of a site has its address to copy and to open, and its details', async () => {
    const { page, owner } = await web.asOwner(undefined, { account: ada })
    await owner.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(web.url(`/sites/${slugs.harbour}`))
    await page.getByRole('button', { name: 'Copy URL' }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), toSiteUrl(slugs.harbour))
    await page.getByRole('main').getByText('Live', { exact: true }).first().waitFor()
    await page.getByText('Updated 4 hours ago').waitFor()
    const { currentVersionId } = await ada.client.details(slugs.harbour)
    await page.getByRole('link', { name: `Version ${currentVersionId!.slice(0, 8)}` }).waitFor()
    const [names, values] = await Promise.all(
      (['term', 'definition'] as const).map((role) => page.getByRole(role).allTextContents()),
    )
    assert.deepEqual(names, ['Files', 'Size', 'Created', 'Expires', 'Password'])
    assert.deepEqual(values, ['8', '551 bytes', '4 hours ago', 'Never', 'Off'])
    const opened = await openedBy(page, () => page.getByRole('link', { name: 'Visit', exact: true }).click())
    assert.equal(opened.url(), toSiteUrl(slugs.harbour))
  })

  testVariant(
    'the page of a site has the latest versions to restore, and the visitors of a month',
    async () => {
      const { page, owner } = await web.asOwner()
      const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': '<h1>One</h1>' }) })
      for (const word of ['Two', 'Three', 'Four']) {
        web.service.clock.now += 1000
        await owner.client.publish({ slug, files: toFiles({ 'index.html': `<h1>${word}</h1>` }) })
      }
      const headers = { Host: toHost(slug), 'User-Agent': 'Firefox' }
      await sendRequest(web.service.port, { path: '/', headers })
      await page.goto(web.url(`/sites/${slug}`))
      await page.getByRole('img', { name: '1 visitor in 30 days' }).waitFor()
      const versions = page.getByRole('region', { name: 'Latest versions' }).getByRole('listitem')
      await versions.nth(2).waitFor()
      assert.equal(await versions.count(), 3)
      const restore = (at: number) =>
        versions
          .nth(at)
          .getByRole('button', { name: /^Restore version/ })
          .click()
      await restore(1)
      await preview(page).getByRole('heading', { name: 'Three' }).waitFor()
      await versions.nth(1).getByText('Live').waitFor()
      await page.route('**/restore', (route) => route.abort())
      await restore(0)
      await page.getByRole('alert').waitFor()
      await versions.nth(1).getByText('Live').waitFor()
    },
  )

  testVariant('the page of a site publishes chosen files as an update, from any of its tabs', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'old' }) })
    await page.goto(web.url(`/sites/${slug}/files`))
    await page.getByRole('button', { name: 'Publish update' }).click()
    await page.getByRole('menuitem', { name: 'Choose files or a ZIP' }).waitFor()
    await page.getByLabel('Update: files').setInputFiles([toUpload('index.html', '<h1>New</h1>')])
    await preview(page).getByRole('heading', { name: 'New' }).waitFor()
  })

  test('domains from before the server switched them off are listed, without a form that cannot work', async () => {
    await ada.client.addDomain('www.songs.example', slugs.songs)
    const { page, owner } = await web.asOwner('/account', { account: ada })
    await page.getByRole('link', { name: 'Domains' }).click()
    await page.getByText("Custom domains aren't available on this server").waitFor()
    await page.getByRole('listitem').filter({ hasText: 'www.songs.example' }).getByText('Pending').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Add domain' }).count(), 0)
    await owner.assertReadable()
  })

  testVariant('the page of a site shows its owner a preview without the password', async () => {
    const { page } = await web.asOwner(`/sites/${slugs.locked}`, { account: ada })
    await preview(page).getByRole('heading', { name: 'Harbour' }).waitFor()
  })

  testVariant(
    'the page of a site explains a site with an incomplete upload, and an incomplete update',
    async () => {
      const { page } = await web.asOwner(`/sites/${slugs.pending}/files`, { account: ada })
      const files = page.getByRole('region', { name: 'Files' })
      await files.getByText('big.zip').waitFor()
      assert.equal(await files.getByRole('link').count(), 0)
      await page.getByRole('link', { name: 'Versions' }).click()
      await page.getByText('No versions yet.').waitFor()
      const entries = [{ path: 'a.mp3', size: 7, contentType: 'audio/mpeg' }]
      await ada.client.update(slugs.songs, { files: entries })
      await page.goto(web.url(`/sites/${slugs.songs}`))
      await page.getByRole('status').getByText('An update is unfinished').waitFor()
    },
  )

  test('the page of a site explains a site that is unknown, of another account or expired, and links to the list', async () => {
    const { page, owner } = await web.asOwner()
    const { client } = owner
    const [deleted, short] = await Promise.all([
      client.publish({ files: toFiles(FILES) }),
      client.publish({ files: toFiles(FILES), ttlSeconds: 60 }),
    ])
    await page.goto(web.url('/sites'))
    await page.getByRole('heading', { name: deleted.slug }).waitFor()
    await client.delete(deleted.slug)
    await page.getByRole('link', { name: deleted.slug, exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Site not found' }).waitFor()
    await owner.assertReadable()
    await page.getByRole('link', { name: 'Your sites' }).click()
    await titlesAre(page, [short.slug])
    web.service.clock.now += 2 * MINUTE_MS
    for (const [path, expected] of [
      [slugs.harbour, 'Site not found'],
      ['never-was', 'Site not found'],
      [short.slug, 'This site has expired'],
      [`${short.slug}/nowhere`, 'Page not found'],
    ] as const) {
      await page.goto(web.url(`/sites/${path}`))
      await page.getByRole('heading', { level: 1, name: expected }).waitFor()
    }
  })

  test('files are shown in folders that open and close by keyboard', async () => {
    const { page } = await web.asOwner(`/sites/${slugs.harbour}/files`, { account: ada })
    const files = page.getByRole('region', { name: 'Files' })
    const atRoot = ['_headers', 'favicon.svg', 'index.html']
    const inImages = ['2026/sea', 'boat 1%.svg', 'boat 2.svg', 'boat 10.svg', 'logo.svg']
    const all = ['css', 'site.css', 'img', ...inImages, ...atRoot]
    const shows = (names: string[]) => textsAre(page, 'main bdi', names)
    const folder = (name: string) => files.locator('summary').filter({ hasText: name })
    await shows(all)
    await folder('img').press('Enter')
    await shows(all.filter((name) => !inImages.includes(name)))
    await folder('img').press('Enter')
    await folder('2026/sea').press('Space')
    await shows(all.filter((name) => !name.startsWith('boat')))
    assert.match((await folder('img').textContent())!, /^img4 files\d+ bytes$/)
  })

  testVariant(
    'files open at the site’s address, whatever their names, except those that are never served',
    async () => {
      const { page } = await web.asOwner(`/sites/${slugs.harbour}/files`, { account: ada })
      const opened = await openedBy(page, () => page.getByRole('link', { name: 'boat 1%.svg' }).click())
      assert.equal(opened.url(), `${toSiteUrl(slugs.harbour)}img/2026/sea/boat%201%25.svg`)
      assert.equal(await opened.locator('rect').count(), 1)
      assert.equal(await page.getByText('_headers', { exact: true }).count(), 1)
      assert.equal(await page.getByRole('link', { name: '_headers' }).count(), 0)
    },
  )

  testVariant('files are found by a part of their names when there are many', async () => {
    const paths = Array.from({ length: 250 }, (_, at) => `part ${at % 10}/page-${at}.html`)
    const { page, owner } = await web.asOwner()
    const contents = Object.fromEntries(paths.map((path) => [path, path]))
    const { slug } = await owner.client.publish({ files: toFiles(contents) })
    await page.goto(web.url(`/sites/${slug}/files`))
    const files = page.getByRole('region', { name: 'Files' })
    await files.getByText('250 files, 4.9 kB').waitFor()
    assert.equal(await files.getByRole('link').count(), 0)
    const search = page.getByRole('searchbox', { name: 'Search' })
    await search.fill('page')
    await files.getByText('the first 200 are shown').waitFor()
    assert.equal(await files.getByRole('link').count(), 200)
    await search.fill('9/PAGE-24')
    await files.getByRole('status').getByText('1 of 250 files').waitFor()
    assert.deepEqual(await files.getByRole('link').allTextContents(), ['part 9/page-249.html'])
  })

  test('files are edited, added, replaced and deleted, each as a version that can be undone', async () => {
    const contents = { 'index.html': '<h1>Old</h1>\r\n<p>text</p>', 'b.bin': 'b' }
    const { page, owner } = await web.asOwner()
    const { slug, siteUrl } = await owner.client.publish({ files: toFiles(contents) })
    await page.goto(web.url(`/sites/${slug}/files`))
    const act = async (path: string, name: string) => {
      await page.getByRole('button', { name: `Actions for ${path}` }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    const paths = async () => (await owner.client.details(slug)).files.map(({ path }) => path).sort()
    await act('index.html', 'Edit text')
    const dialog = page.getByRole('dialog', { name: 'Edit index.html' })
    await dialog.getByLabel('Content').fill('<h1>New</h1>\n<p>text</p>')
    await page.keyboard.press('Escape')
    await owner.assertAccessible()
    await dialog.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByText('index.html saved.').waitFor()
    assert.equal(await visited(siteUrl), '<h1>New</h1>\r\n<p>text</p>')
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), contents['index.html'])

    await page.getByLabel('Files to add').setInputFiles([toUpload('c.txt', 'c'), toUpload('empty.txt', '')])
    await page.getByLabel('Folder', { exact: true }).fill('/notes/')
    await page.getByRole('button', { name: 'Publish 1 file' }).click()
    await page.getByText('1 file published.').waitFor()
    await page.getByLabel('Replace b.bin').setInputFiles([toUpload('x.bin', 'bb')])
    await page.getByText('b.bin replaced.').waitFor()
    assert.equal(await visited(`${siteUrl}b.bin`), 'bb')
    assert.deepEqual(await paths(), ['b.bin', 'index.html', 'notes/c.txt'])
    await act('b.bin', 'Delete file')
    await page.getByText('b.bin deleted.').waitFor()
    assert.deepEqual(await paths(), ['index.html', 'notes/c.txt'])
    const { versions } = await owner.client.versions(slug)
    assert.equal(versions.find(({ current }) => current)?.message, 'Delete b.bin')
    // The picture of each version is stored after it is live.
    const isLast = async () =>
      (await owner.client.versions(slug)).versions.filter(({ thumbnailUrl }) => thumbnailUrl).length >= 4
    const stored = page.waitForResponse((one) => one.url().endsWith('/thumbnail') && isLast())
    if (await isLast()) stored.catch(() => undefined)
    else await stored
  })
})

describe('an edited file', requiresBrowser, () => {
  testVariant(
    'a file edited while another version went live is saved on top of that version, after a look at it',
    async () => {
      const { page, owner } = await web.asOwner()
      const { slug, siteUrl } = await owner.client.publish({
        files: toFiles({ 'index.html': 'old', 'b.txt': 'b' }),
      })
      await page.goto(web.url(`/sites/${slug}/files`))
      await page.getByRole('button', { name: 'Actions for index.html' }).click()
      await page.getByRole('menuitem', { name: 'Edit text' }).click()
      await page.getByLabel('Content').fill('mine')
      await owner.client.publish({ slug, files: toFiles({ 'index.html': 'theirs', 'b.txt': 'bb' }) })
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByRole('button', { name: 'Show the live text' }).click()
      await page.getByText('theirs', { exact: true }).waitFor()
      await owner.assertAccessible()
      await page.getByRole('button', { name: 'Save anyway' }).click()
      await page.getByText('index.html saved.').waitFor()
      assert.deepEqual([await visited(siteUrl), await visited(siteUrl, 'b.txt')], ['mine', 'bb'])
    },
  )
})

describe('a deleted site', requiresBrowser, () => {
  test('is restored from the trash, or deleted permanently', async () => {
    const { page, owner } = await web.asOwner()
    const [kept, lost] = await Promise.all(
      ['Kept', 'Lost'].map((title) => owner.client.publish({ title, files: toFiles(FILES) })),
    )
    for (const { slug } of [kept!, lost!]) await owner.client.delete(slug)
    await page.goto(web.url('/sites'))
    await page.getByRole('link', { name: 'Trash' }).click()
    await page.getByText('Deleted sites can be restored for 30 days.').waitFor()
    await page.getByRole('button', { name: 'Restore Kept' }).waitFor()
    await owner.assertReadableInAllViewports()
    await page.getByRole('button', { name: 'Restore Kept' }).click()
    await page.getByText('Kept restored.').waitFor()
    await page.getByRole('button', { name: 'Delete permanently: Lost' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('The trash is empty').waitFor()
    assert.deepEqual(
      (await owner.client.list()).publishes.map(({ title }) => title),
      ['Kept'],
    )
    owner.assertNoComplaints()
  })
})

describe('a shared site', requiresBrowser, () => {
  test('is published to by the people whom its owner invited, until they leave', async () => {
    const { page, owner } = await web.asOwner()
    await using guest = await web.owner()
    const { slug } = await owner.client.publish({ title: 'Shared', files: toFiles(FILES) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const people = page.getByRole('region', { name: 'People' })
    await people.getByLabel('Email address').fill(guest.email)
    await people.getByRole('button', { name: 'Invite' }).click()
    await people.getByText(web.url(`/sites/${slug}`)).waitFor()
    await people.getByRole('button', { name: `Remove ${guest.email}` }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await people.getByRole('button', { name: `Remove ${guest.email}` }).waitFor()
    await owner.assertReadableInAllViewports()

    await guest.page.goto(web.url('/sites'))
    await guest.page.getByText(`Shared by ${owner.email}`).waitFor()
    await guest.page.goto(web.url(`/sites/${slug}/settings`))
    await guest.page.getByRole('button', { name: 'Leave' }).click()
    assert.equal(await guest.page.getByText(/^(Danger zone|Access|Site name)$/).count(), 0)
    await guest.page.getByRole('button', { name: 'Leave site' }).click()
    await guest.page.getByText('No sites', { exact: true }).waitFor()
    assert.deepEqual((await owner.client.collaborators(slug)).collaborators, [])
    guest.assertNoComplaints()
    await guest.page.goto(web.url(`/sites/${slug}`))
    await guest.page.getByText("it's no longer shared with you").waitFor()
    owner.assertNoComplaints()
  })
})

/** Publishes sites of every kind; the newest ones are this old. */
async function severalSites() {
  const { client } = ada
  const { clock } = web.service
  clock.now -= 240 * MINUTE_MS + 10_000
  const harbour = await client.publish({ title: 'The harbour', files: toFiles(FILES) })
  clock.now += 60 * MINUTE_MS
  const songs = await client.publish({
    title: 'Songs',
    ttlSeconds: 30 * 86_400,
    files: toFiles({ 'a.mp3': 'la', 'b.mp3': 'la la' }),
  })
  clock.now += 180 * MINUTE_MS
  await client.publish({ title: 'Short-lived', ttlSeconds: 3600, files: toFiles({ 'index.html': 'short' }) })
  clock.now += 1
  const locked = await client.publish({ title: 'Locked away', files: toFiles(FILES) })
  await client.setMetadata(locked.slug, { password: 'open sesame' })
  clock.now += 1
  const pending = await client.create({
    files: [
      { path: 'index.html', size: 100, contentType: 'text/html' },
      { path: 'big.zip', size: 3000, contentType: 'application/zip' },
    ],
  })
  return { harbour: harbour.slug, songs: songs.slug, locked: locked.slug, pending: pending.slug }
}

function rows(page: Page) {
  return page.getByRole('main').getByRole('listitem')
}

/** Waits until the list has exactly these titles, in this order. */
function titlesAre(page: Page, titles: string[]): Promise<void> {
  return textsAre(page, 'main li h2', titles)
}

function preview(page: Page) {
  return page.frameLocator('iframe[title="The live site"]')
}

function toHost(slug: string): string {
  return `${slug}.localhost:${web.service.port}`
}

function toSiteUrl(slug: string): string {
  return `http://${toHost(slug)}/`
}

async function openedBy(page: Page, act: () => Promise<void>): Promise<Page> {
  const opening = page.context().waitForEvent('page')
  await act()
  const opened = await opening
  await opened.waitForLoadState()
  return opened
}
