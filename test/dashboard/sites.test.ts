import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { toFiles, toManifest } from '../api/content.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { getUrl, sendRequest } from '../support/http-client.ts'
import { pluck } from '../support/pluck.ts'
import { testVariant } from '../support/variants.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { dropOn, hold, holdUploads, liveAt, recordCalls, toUpload, visited } from './file-drop.ts'
import { disk, web } from './shared.ts'
import {
  type Account,
  asksBeforeClosing,
  type Owner,
  requiresBrowser,
  textsAre,
  typeWhileSending,
  undone,
} from './web-fixture.ts'

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="teal"/></svg>'

/** Files of the first site. */
const FILES = {
  'index.html': '<h1>Harbour</h1><input id="field">',
  'favicon.svg': ICON,
  _headers: '/*\n  X-A: b\n',
  'img/2026/sea/boat 1%.svg': ICON,
  'img/2026/sea/boat 10.svg': ICON,
  'img/2026/sea/boat 2.svg': ICON,
  'img/logo.svg': ICON,
  'css/site.css': 'a{}',
}

const MINUTE_MS = 60_000

describe('the sites of an account', requiresBrowser, () => {
  let ada: Owner
  let page: Page
  let slugs: Awaited<ReturnType<typeof severalSites>>
  web.openForSuite(async () => {
    ada = await web.owner({ permissions: ['clipboard-read', 'clipboard-write'] })
    page = ada.page
    slugs = await severalSites(ada)
    await page.goto(web.url('/sites'))
    return ada
  })
  const openList = async () => {
    await page.getByRole('link', { name: 'Sites', exact: true }).first().click()
    await titlesAre(page, [slugs.pending, 'Locked away', 'Short-lived', 'Songs', 'The harbour'])
  }
  const openHarbour = async () => {
    await openList()
    await page.getByRole('link', { name: 'The harbour' }).click()
    await preview(page).getByRole('heading', { name: 'Harbour' }).waitFor()
  }

  test('are listed with title, address and state, and searched by title and address while typing', async () => {
    await openList()
    await ada.assertReadableInAllViewports()
    const harbour = `${toHost(slugs.harbour)}\\s*8 files, \\d+ bytes · Updated 4 hours ago`
    for (const [title, expected] of [
      [slugs.pending, /2 files, 3\.1 kB · Updated .*Not live yet/],
      ['Locked away', /Password/],
      ['Short-lived', /Expires in 5\d min/],
      ['Songs', /Updated 3 hours ago\s*Expires .*\d{4}/],
      ['The harbour', new RegExp(harbour)],
    ] as const)
      await rows(page)
        .filter({ has: page.getByRole('heading', { name: title }) })
        .filter({ hasText: expected })
        .waitFor()
    await rows(page).filter({ hasText: 'Locked away' }).locator('.letter').waitFor()
    const picture = rows(page).filter({ hasText: 'The harbour' }).locator('img')
    await picture.evaluate((image: HTMLImageElement) => image.decode())
    const [icon, box] = await Promise.all([picture.boundingBox(), picture.locator('..').boundingBox()])
    assert.deepEqual(
      [icon!.width, icon!.height, icon!.y > box!.y],
      [32, 32, true],
      'a whole icon of its size',
    )

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

  test('have a page with address, state, details and a preview, which cannot keep the keyboard focus', async () => {
    await openHarbour()
    await ada.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'Copy URL' }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), toSiteUrl(slugs.harbour))
    await page.getByRole('main').getByText('Live', { exact: true }).first().waitFor()
    await page.getByText('Updated 4 hours ago').waitFor()
    const { currentVersionId } = await ada.client.details(slugs.harbour)
    await page.getByRole('link', { name: `Version ${currentVersionId!.slice(0, 10)}` }).waitFor()
    const [names, values] = await Promise.all(
      (['term', 'definition'] as const).map((role) => page.getByRole(role).allTextContents()),
    )
    assert.deepEqual(names, ['Files', 'Size', 'Created', 'Expires', 'Password'])
    assert.deepEqual(values, ['8', '569 bytes', '4 hours ago', 'Never', 'Off'])
    await page.getByRole('img', { name: '1 visitor in 30 days' }).waitFor()
    await page
      .getByRole('region', { name: 'Latest versions' })
      .getByRole('listitem')
      .getByText('Live', { exact: true })
      .waitFor()

    const button = page.getByRole('button', { name: 'Choose files or a ZIP' })
    await button.focus()
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
    const opening = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'Visit', exact: true }).click()
    const opened = await opening
    await opened.waitForURL(toSiteUrl(slugs.harbour))
    await opened.close()
  })

  test('have their files in folders that open and close by keyboard, with links to those that are served', async () => {
    await openHarbour()
    await page.getByRole('link', { name: 'Files' }).click()
    const files = page.getByRole('region', { name: 'Files' })
    const atRoot = ['_headers', 'favicon.svg', 'index.html']
    const inImages = ['2026/sea', 'boat 1%.svg', 'boat 2.svg', 'boat 10.svg', 'logo.svg']
    const all = ['css', 'site.css', 'img', ...inImages, ...atRoot]
    const shows = (names: string[]) => textsAre(page, 'main bdi', names)
    const folder = (name: string) => files.locator('summary').filter({ hasText: name })
    await shows(all)
    const href = await page.getByRole('link', { name: 'boat 1%.svg' }).getAttribute('href')
    assert.equal(href, `${toSiteUrl(slugs.harbour)}img/2026/sea/boat%201%25.svg`)
    assert.equal(await page.getByRole('link', { name: '_headers' }).count(), 0)
    await ada.assertReadableInAllViewports()
    await folder('img').press('Enter')
    await shows(all.filter((name) => !inImages.includes(name)))
    await folder('img').press('Enter')
    await folder('2026/sea').press('Space')
    await shows(all.filter((name) => !name.startsWith('boat')))
    assert.match((await folder('img').textContent())!, /^img4 files\d+ bytes$/)
  })

  test('are shown to their owner before they are live, and without their password', async () => {
    await openList()
    await page.getByRole('link', { name: slugs.pending, exact: true }).click()
    await page.getByText("This site isn't live yet").waitFor()
    await ada.assertReadable()
    await openList()
    await page.getByRole('link', { name: 'Locked away' }).click()
    await preview(page).getByRole('heading', { name: 'Harbour' }).waitFor()
  })
})

test('domains are listed without a form once the server has them switched off', requiresBrowser, async () => {
  await using folder = await memoryFolder()
  const DATA = folder.path
  const addDomain = async () => {
    await using before = await web.another({ DATA })
    const account = await before.createAccount()
    const { slug } = await account.client.publish({ files: toFiles({ 'index.html': 'la' }) })
    await account.client.addDomain('www.songs.example', slug)
    return account
  }
  const account = await addDomain()
  await using other = await web.another({ DATA, PROXY_HOST: '' })
  const owner = await other.owner({ account })
  const { page } = owner
  await page.goto(other.url('/domains'))
  await page.getByText("Custom domains aren't available on this server").waitFor()
  await page.getByRole('listitem').filter({ hasText: 'www.songs.example' }).getByText('Pending').waitFor()
  assert.equal(await page.getByText('Add domain').count(), 0)
  await page.goto(other.url('/account'))
  await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
  assert.equal(await page.getByRole('navigation').getByRole('link', { name: 'Domains' }).count(), 0)
  const plan = (of: Page) => of.getByRole('region', { name: 'Plan & usage' })
  await plan(page).getByRole('link', { name: 'Domains' }).waitFor()
  const without = await other.owner()
  await without.page.goto(other.url('/account'))
  await plan(without.page).getByText('Stored').waitFor()
  assert.equal(await plan(without.page).getByText('Domains').count(), 0)
})

test('a site published without a browser gets a picture when its owner visits', requiresBrowser, async () => {
  const { page, owner } = await web.asOwner()
  const files = toFiles({
    'index.html': '<link rel=stylesheet href=s.css><h1>Blue</h1>',
    's.css': 'body{background:#00f}',
  })
  const [listed, opened] = [await owner.client.publish({ files }), await owner.client.publish({ files })]
  const stored = () =>
    page.waitForResponse((response) => response.url().endsWith('/thumbnail') && response.ok())
  const first = stored()
  await page.goto(web.url(`/sites/${opened.slug}`))
  assert.match((await first).url(), new RegExp(`/${opened.slug}/versions/${opened.versionId}/`))
  const second = stored()
  await page.goto(web.url('/sites'))
  assert.match((await second).url(), new RegExp(`/${listed.slug}/`))
  await page.reload()
  await page.locator('.thumbnail.start-page img').nth(1).waitFor()
})

describe('a site', requiresBrowser, () => {
  test('is deleted by the menu of the list, and restored from the trash or, once its name is typed, deleted permanently', async () => {
    const { page, owner } = await web.asOwner()
    const [, lost] = await Promise.all(
      ['Kept', 'Lost'].map((title) => owner.client.publish({ title, files: toFiles({ 'a.html': 'a' }) })),
    )
    await owner.client.delete(lost!.slug)
    const { slug: unfinished } = await owner.client.create({ files: toManifest({ 'a.html': 'a' }) })
    await page.goto(web.url(`/sites/${unfinished}/settings`))
    await page.getByRole('region', { name: 'Danger zone' }).getByText("can't be undone").waitFor()
    await page.getByRole('button', { name: 'Delete site' }).click()
    await page.getByLabel(`Type ${unfinished} to confirm`).fill(unfinished)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    await page.getByText(`${unfinished} deleted.`).waitFor()
    await page.goto(web.url('/sites'))
    await page.getByRole('button', { name: 'Actions for Kept' }).click()
    await page.getByRole('menuitem', { name: 'Delete site' }).click()
    const list = Promise.withResolvers<void>()
    await page.route('**/api/v1/publishes?*', (route) => list.promise.then(() => route.continue()))
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    await page.getByText('Kept deleted.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    list.resolve()
    await page.getByText('No sites', { exact: true }).waitFor()
    await page.getByText(`npx ${web.service.baseUrl}/cli.tgz publish ./folder`).waitFor()

    await page.getByRole('link', { name: 'Trash' }).click()
    await page.getByText('Deleted sites can be restored for 30 days.').waitFor()
    await page.getByRole('button', { name: 'Restore Kept' }).waitFor()
    await owner.assertReadableInAllViewports()
    await page.getByRole('button', { name: 'Restore Kept' }).click()
    await page.getByText('Kept restored.').waitFor()
    await page.locator('main:focus').waitFor()
    await page.getByRole('link', { name: 'Open site' }).click()
    await page.getByRole('heading', { name: 'Kept', level: 1 }).waitFor()
    await page.route('**/duplicate', (route) => route.abort())
    await page.getByRole('button', { name: 'Site actions' }).click()
    await page.getByRole('menuitem', { name: 'Duplicate site' }).click()
    await page.getByText("Couldn't duplicate the site. Can't reach the server.").waitFor()
    await owner.assertReadable()
    await page.goBack()
    await page.getByRole('button', { name: 'Delete permanently: Lost' }).click()
    const field = page.getByLabel(`Type ${lost!.slug} to confirm`)
    await field.fill('another')
    await field.press('Enter')
    assert.equal((await owner.client.list({ deleted: true })).publishes.length, 1)
    await field.fill(lost!.slug)
    const trash = Promise.withResolvers<void>()
    await page.route('**/api/v1/publishes?*', (route) => trash.promise.then(() => route.continue()))
    await page.getByRole('dialog').getByRole('button', { name: 'Delete permanently' }).click()
    await page.getByText('Lost deleted permanently.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    trash.resolve()
    await page.getByText('The trash is empty').waitFor()
    assert.deepEqual(pluck((await owner.client.list()).publishes, 'title'), ['Kept'])
  })

  test('is shared with the people whom its owner invites, until they leave, and not shown to others', async () => {
    const { page, owner } = await web.asOwner()
    const { page: theirs, owner: guest } = await web.asOwner()
    const { slug } = await owner.client.publish({ title: 'Shared', files: toFiles(FILES) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const people = page.getByRole('region', { name: 'People' })
    await people.getByLabel('Email address').fill(guest.email)
    const email = people.getByLabel('Email address')
    await typeWhileSending(page, '**/collaborators', {
      send: () => people.getByRole('button', { name: 'Invite' }).click(),
      type: () => email.fill('next'),
    })
    await people.getByText(web.url(`/sites/${slug}`)).waitFor()
    assert.equal(await email.inputValue(), 'next')
    const removal = people.getByRole('button', { name: `Remove ${guest.email}` })
    await removal.click()
    await page.getByText('do not come back when you invite them again').waitFor()
    await page.getByRole('button', { name: 'Remove person' }).click()
    await page.getByText(`${guest.email} removed.`).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    await email.fill(guest.email)
    await people.getByRole('button', { name: 'Invite' }).click()
    await removal.waitFor()
    await owner.assertReadable()

    await theirs.goto(web.url('/sites'))
    await theirs.getByText(`Shared by ${owner.email}`).waitFor()
    await theirs.getByRole('link', { name: 'Shared', exact: true }).click()
    await theirs.getByRole('link', { name: 'Settings' }).click()
    await theirs.getByRole('button', { name: 'Leave' }).click()
    assert.equal(await theirs.getByText(/^(Danger zone|Access|Site name)$/).count(), 0)
    await theirs.getByRole('button', { name: 'Leave site' }).click()
    await theirs.getByText('No sites', { exact: true }).waitFor()
    assert.deepEqual((await owner.client.collaborators(slug)).collaborators, [])
    const calls = recordCalls(theirs)
    await theirs.goto(web.url(`/sites/${slug}`))
    await theirs.getByRole('heading', { level: 1, name: 'Site not found' }).waitFor()
    await theirs.getByText("it's no longer shared with you").waitFor()
    await theirs.evaluate(() => fetch('/api/v1/limits'))
    assert.equal(calls.filter((call) => call === `GET /api/v1/publish/${slug}`).length, 1)
    await guest.assertReadable()

    await owner.client.setMetadata(slug, { ttlSeconds: 60 })
    web.service.clock.now += 2 * MINUTE_MS
    await page.goto(web.url(`/sites/${slug}`))
    await page.getByRole('heading', { level: 1, name: 'This site has expired' }).waitFor()
    await dropOn(page, 'h1', disk.folder('again', { 'index.html': 'again' }))
    assert.equal(await visited(await liveAt(page)), 'again')
  })

  test('files are edited, added, replaced and deleted, each as a version that can be undone', async () => {
    const end = `<p>${'text '.repeat(400)}</p>`
    const contents = { 'index.html': `<h1>Old</h1>\r\n${end}`, 'b.bin': 'b' }
    const { page, owner } = await web.asOwner()
    const files = toFiles(contents)
    const log = { contentType: 'text/x-log' }
    const { slug, siteUrl } = await owner.client.publish({ files: files.with(1, { ...files[1]!, ...log }) })
    await page.goto(web.url(`/sites/${slug}`))
    await page.getByRole('link', { name: 'Files' }).click()
    const act = async (path: string, name: string) => {
      await page.getByRole('button', { name: `Actions for ${path}` }).click()
      await page.getByRole('menuitem', { name }).click()
    }
    const edit = async (path: string) => {
      await act(path, 'Edit text')
      await focusedContent(page).waitFor()
    }
    const paths = async () => (await owner.client.details(slug)).files.map(({ path }) => path).sort()
    await edit('index.html')
    const dialog = page.getByRole('dialog', { name: 'Edit index.html' })
    const content = dialog.getByLabel('Content')
    // The begin is in view, and not the end of a long line.
    assert.equal(await content.evaluate(({ scrollLeft }) => scrollLeft), 0)
    await page.keyboard.press('ControlOrMeta+s')
    await page.keyboard.type('<!-- New -->')
    assert.equal(await content.inputValue(), `<!-- New --><h1>Old</h1>\n${end}`)
    await content.fill('<h1>New</h1>\n<p>text</p>')
    await page.keyboard.press('Escape')
    await dialog.getByRole('alert').getByText('Save or discard your changes first.').waitFor()
    await owner.assertReadable()
    await asksBeforeClosing(page)
    await page.goBack()
    // The session has ended in another tab, and begins again.
    await page.evaluate((email) => {
      for (const newValue of [null, email])
        dispatchEvent(new StorageEvent('storage', { key: 'slipway.signed-in', newValue }))
    }, owner.email)
    contents['b.bin'] = 'c'
    const other = { ...toFiles(contents)[1]!, ...log }
    await owner.client.publish({ slug, files: [other], merge: true })
    await page.goForward()
    await edit('index.html')
    await page.keyboard.press('ControlOrMeta+s')
    await page.getByRole('button', { name: 'Save anyway' }).click()
    await page.getByText('index.html saved.').waitFor()
    assert.equal(await visited(siteUrl), '<h1>New</h1>\r\n<p>text</p>')
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.equal(await visited(siteUrl), contents['index.html'])

    const panel = page.locator('.publishing')
    const result = (change: string) => panel.getByText(change).waitFor()
    const secret = makeSecret()
    await page
      .getByLabel('Files to add')
      .setInputFiles([toUpload('c.txt', secret), toUpload('empty.txt', '')])
    await page.getByLabel('Folder', { exact: true }).fill('/notes/')
    const held = await holdUploads(page)
    await page.getByRole('button', { name: 'Publish 2 files' }).click()
    await held.first
    await page.getByRole('progressbar', { name: 'Uploading' }).waitFor()
    await page.getByLabel('Replace b.bin').setInputFiles([toUpload('x.bin', 'bb')])
    await page.getByText('Wait until the current upload has finished.').waitFor()
    await owner.assertReadableInAllViewports()
    held.release()
    await page.getByRole('button', { name: /^Allow for this site: .* notes\/c\.txt, line 1$/ }).click()
    await result('2 files added, 2 unchanged.')
    assert.equal(await visited(`${siteUrl}notes/c.txt`), secret)
    // Another text than before first, and the one before then.
    for (let times = 0; times < 2; times++) {
      await edit('notes/c.txt')
      await page.getByLabel('Content').fill('')
      const save = page.getByRole('button', { name: 'Save as new version' })
      await typeWhileSending(page, '**/finalize', {
        send: () => save.click(),
        type: () => page.getByLabel('Content').fill('more'),
      })
      await waitFor(async () => (await visited(`${siteUrl}notes/c.txt`)) === '')
      assert.equal(await page.getByLabel('Content').inputValue(), 'more')
      // Opened again before the page has loaded the version that it saved.
      const loading = Promise.withResolvers<void>()
      await page.route(`**/api/v1/publish/${slug}`, async (route) => {
        if (route.request().method() === 'GET') await loading.promise
        await route.continue()
      })
      await save.click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      assert.equal(await visited(`${siteUrl}notes/c.txt`), 'more')
      await act('notes/c.txt', 'Edit text')
      loading.resolve()
      await focusedContent(page).waitFor()
      assert.equal(await page.getByLabel('Content').inputValue(), 'more')
      await page.keyboard.press('Escape')
    }
    await page.getByLabel('Replace b.bin').setInputFiles([toUpload('x.bin', 'bb')])
    await result('1 file changed, 3 unchanged.')
    const { text, headers } = await getUrl(`${siteUrl}b.bin`)
    assert.deepEqual([text, headers['content-type']], ['bb', 'text/x-log'])
    await panel.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.equal(await visited(`${siteUrl}b.bin`), contents['b.bin'])
    assert.deepEqual(await paths(), ['b.bin', 'index.html', 'notes/c.txt', 'notes/empty.txt'])
    await edit('index.html')
    await content.fill(makeSecret())
    await page.getByRole('button', { name: 'Save as new version' }).click()
    await dialog.getByRole('button', { name: /^Allow for this site: .* index\.html, line 1$/ }).click()
    await page.getByText('index.html saved.').waitFor()
    await act('b.bin', 'Delete file')
    await page.getByText('b.bin deleted.').waitFor()
    await page.getByRole('button', { name: 'Actions for b.bin' }).waitFor({ state: 'detached' })
    assert.notEqual(await page.evaluate(() => document.activeElement?.localName), 'body')
    assert.deepEqual(await paths(), ['index.html', 'notes/c.txt', 'notes/empty.txt'])
    const { versions } = await owner.client.versions(slug)
    assert.equal(versions.find(({ current }) => current)?.message, 'Delete b.bin')
  })

  testVariant('a file edited while a version goes live is saved on top, after a look at it', async () => {
    const { page, owner } = await web.asOwner()
    const { slug, siteUrl } = await owner.client.publish({
      files: toFiles({ 'index.html': 'old', 'b.txt': 'b' }),
    })
    await page.goto(web.url(`/sites/${slug}/files`))
    await page.getByRole('button', { name: 'Actions for index.html' }).click()
    await page.getByRole('menuitem', { name: 'Edit text' }).click()
    await focusedContent(page).fill('mine')
    await owner.client.publish({ slug, files: toFiles({ 'index.html': 'theirs', 'b.txt': 'b' }) })
    // A change of this page over that version does not make it the base of the edit.
    await page.getByLabel('Replace b.txt').setInputFiles([toUpload('b.txt', 'bb')])
    await page.getByText('1 file changed, 1 unchanged.').waitFor()
    await page.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByText(/^You, from the browser · Replace b.txt · 1 file changed · just now$/).waitFor()
    await page.getByRole('button', { name: 'Show the live text' }).click()
    await page.getByText('theirs', { exact: true }).waitFor()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Save anyway' }).click()
    await page.getByText('index.html saved.').waitFor()
    assert.deepEqual([await visited(siteUrl), await visited(siteUrl, 'b.txt')], ['mine', 'bb'])
  })

  test('whose text is being edited keeps its editor when an update removes it, which then saves it again', async () => {
    const { page, owner } = await web.asOwner()
    const { slug, siteUrl } = await owner.client.publish({
      files: toFiles({ 'index.html': 'old', 'b.txt': 'b' }),
    })
    await page.goto(web.url(`/sites/${slug}/files`))
    const menu = page.getByRole('button', { name: 'Actions for index.html', includeHidden: true })
    await menu.click()
    await page.getByRole('menuitem', { name: 'Edit text' }).click()
    await focusedContent(page).fill('an hour of work')
    await owner.client.publish({ slug, files: toFiles({ 'b.txt': 'b' }) })
    await page.getByLabel('Replace b.txt').setInputFiles([toUpload('b.txt', 'bb')])
    await page.getByText('1 file changed.').waitFor()
    await menu.waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Content').inputValue(), 'an hour of work')
    await page.getByRole('button', { name: 'Save as new version' }).click()
    await page.getByRole('button', { name: 'Save anyway' }).click()
    await page.getByText('index.html saved.').waitFor()
    assert.equal(await visited(siteUrl), 'an hour of work')
  })

  for (const [what, view, press, confirm] of [
    ['deleted', '', 'Site actions', 'Delete site'],
    ['left', '/settings', 'Leave', 'Leave site'],
  ] as const)
    test(`that is ${what} is requested no more by its page, and the heading of the list gets the focus`, async () => {
      const { owner } = await web.asOwner()
      const { slug } = await owner.client.publish({ files: toFiles(FILES) })
      const { page, owner: user } =
        what === 'left' ? await web.asOwner() : await web.asOwner(undefined, { account: owner })
      if (what === 'left') await owner.client.addCollaborator(slug, user.email)
      await page.goto(web.url(`/sites/${slug}${view}`))
      await page.getByRole('button', { name: press }).click()
      if (what === 'deleted') await page.getByRole('menuitem', { name: confirm }).click()
      await page.waitForLoadState('networkidle')
      const calls = recordCalls(page)
      const script = await hold(page, '**/assets/sites-page-*.js')
      await page.getByRole('dialog').getByRole('button', { name: confirm }).click()
      await script.first
      await page.locator('.toast-message').waitFor()
      await page.evaluate(() => fetch('/api/v1/limits'))
      script.release()
      await page.getByRole('heading', { level: 1, name: 'Sites' }).and(page.locator(':focus')).waitFor()
      assert.deepEqual(
        calls.filter((call) => call.startsWith('GET') && call.includes(slug)),
        [],
      )
    })

  test('that is deleted stays deleted when more sites are shown, and the focus stays in the page', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'first' }) })
    const { slug: second } = await owner.client.publish({ files: toFiles({ 'index.html': 'second' }) })
    const { publishes } = await owner.client.list()
    let slugs = Array.from({ length: 120 }, (_, at) => [slug, second][at - 3] ?? `site-${at}`)
    let held: { from: number; until: Promise<void> } | undefined
    await page.route('**/api/v1/publishes*', async (route) => {
      const query = new URL(route.request().url()).searchParams
      const from = Number.parseInt(query.get('cursor') ?? '0', 10)
      const limit = Number(query.get('limit') ?? 50)
      const sites = slugs.slice(from, from + limit).map((slug) => ({ ...publishes[0]!, slug }))
      const nextCursor = from + limit < slugs.length ? `${from + limit} of ${slugs.length}` : null
      if (held?.from === from) await held.until
      await route.fulfill({ json: { publishes: sites, nextCursor } })
    })
    await page.goto(web.url('/sites'))
    const rows = page.locator('.site-list > li')
    await rows.nth(49).waitFor()
    const rowOf = (one: string) =>
      page.locator('.site-list > li', { has: page.locator(`a[href="/sites/${one}"]`) })
    const remove = async (one: string) => {
      await rowOf(one)
        .getByRole('button', { name: /^Actions for / })
        .click()
      await page.getByRole('menuitem', { name: 'Delete site' }).click()
      const dialog = page.getByRole('dialog')
      slugs = slugs.filter((other) => other !== one)
      await dialog.getByRole('button', { name: 'Delete site' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    const showMore = page.getByRole('button', { name: 'Show more' })
    const { resolve: answer, promise: until } = Promise.withResolvers<void>()
    held = { from: 0, until }
    await remove(slug)
    const more = page.waitForResponse(/cursor=50/)
    await showMore.click()
    await more
    answer()
    await rowOf(slug).waitFor({ state: 'detached' })
    assert.notEqual(await page.evaluate(() => document.activeElement?.localName), 'body')
    await showMore.click()
    await rows.nth(99).waitFor()
    assert.equal(await rowOf(slug).count(), 0)
    const { resolve: answerLate, promise: late } = Promise.withResolvers<void>()
    held = { from: 100, until: late }
    const ofEarlierList = page.waitForResponse(/cursor=100/)
    await showMore.click()
    await remove(second)
    await rowOf(second).waitFor({ state: 'detached' })
    answerLate()
    await ofEarlierList
    await showMore.click()
    await rows.nth(117).waitFor()
    assert.equal(await rows.count(), 118, 'a page of the list before has been left out')
  })

  test('is found by a search when the list ends after a thousand', async () => {
    const { page, owner } = await web.asOwner()
    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': 'first' }) })
    const { publishes } = await owner.client.list()
    await owner.client.delete(slug)
    let pages = 0
    await page.route('**/api/v1/publishes?*', async (route) => {
      const start = 100 * pages++
      const sites = Array.from({ length: 100 }, (_, at) => ({ ...publishes[0]!, slug: `site-${start + at}` }))
      await route.fulfill({ json: { publishes: sites, nextCursor: 'next' } })
    })
    await page.goto(web.url('/trash'))
    await page.getByText('These are 1,000 of the sites in the trash.').waitFor()
    await page.goto(web.url('/sites'))
    await page.getByLabel('Sort by').selectOption('Title')
    await page.getByText('These are your newest 1,000 sites. Search finds the others.').waitFor()
  })

  testVariant('is one of fifty in the list, of more on request, and found by a search of all', async () => {
    const { page, owner } = await web.asOwner()
    const { client } = owner
    const { slug } = await client.publish({ files: toFiles({ 'index.html': 'first' }) })
    for (let made = 1; made < 102; made++) {
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
    await rows(page).nth(99).waitFor()
    await page.waitForFunction(() => document.activeElement?.closest('li')?.previousElementSibling)
    await page.getByRole('button', { name: 'Show more' }).press('Enter')
    await rows(page).nth(101).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
    await page.getByRole('button', { name: 'Actions for The oldest' }).click()
    await page.getByRole('menuitem', { name: 'Delete site' }).click()
    const again = page.waitForResponse(/\/publishes\?/)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    assert.match((await again).url(), /limit=100$/, 'all pages are loaded again')
    await rows(page).nth(101).waitFor({ state: 'detached' })
    assert.equal(await rows(page).count(), 101)
  })
})

/** Publishes sites of every kind; the newest ones are this old. */
async function severalSites({ client }: Account) {
  const { clock } = web.service
  clock.now -= 240 * MINUTE_MS + 10_000
  const harbour = await client.publish({ title: 'The harbour', files: toFiles(FILES) })
  const headers = { 'User-Agent': 'Firefox' }
  await sendRequest(web.service.port, { site: harbour.slug, headers })
  // Writes the visit before the clock passes the end of its day, after which visitors are not counted.
  await client.visits(harbour.slug)
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

/** Opening a file moves the focus into its text, and the cursor to its start, after the text is shown. */
function focusedContent(page: Page) {
  return page.getByLabel('Content').and(page.locator(':focus'))
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
