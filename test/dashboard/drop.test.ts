import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Request, Response, Route } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { testVariant } from '../support/variants.ts'
import {
  dragOver,
  dropOn,
  liveAt,
  pickFiles,
  pickFolder,
  recordCalls,
  toUpload,
  visited,
} from './file-drop.ts'
import { disk, web } from './shared.ts'
import { requiresBrowser, undone } from './web-fixture.ts'

const UPLOADS = '**/api/v1/_upload/**'
const CONNECTION_LOST = /^(You're offline|Can't reach the server)\. The upload resumes when/
const FILM = Buffer.alloc(6_000_000, 'film')

const PAGE = '<!doctype html><title>Boats</title><h1>Boats</h1>'

/** Opens the front page and records its API calls. */
async function front() {
  const { page, visitor } = await web.asVisitor()
  const calls = recordCalls(page)
  await page.goto(web.url('/'))
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, visitor, calls }
}

describe('the front page publishes', requiresBrowser, () => {
  test('a dropped folder completely, without its own name', async () => {
    const { page } = await front()
    const many = Object.fromEntries(
      Array.from({ length: 230 }, (_, at) => [`img/${at}.txt`, `picture ${at}`]),
    )
    const folder = disk.folder('harbour', {
      'index.html': PAGE,
      'a/b/c.css': 'c',
      'caf\u00e9.txt': 'cafe',
      ...many,
    })
    await dropOn(page, 'main', folder)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'a/b/c.css'), 'c')
    assert.equal(await visited(siteUrl, 'caf%C3%A9.txt'), 'cafe')
    for (const at of [0, 99, 100, 229]) assert.equal(await visited(siteUrl, `img/${at}.txt`), `picture ${at}`)
  })

  test('a picked folder, with three API calls and two uploads', async () => {
    const { page, calls } = await front()
    const large = Buffer.alloc(5_000_000, 'large')
    await pickFolder(page, disk.folder('picked', { 'index.html': PAGE, 'b.js': 'b', 'film.mp4': large }))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), large.toString())
    assert.deepEqual(calls.sort(), [
      'POST /api/v1/publish',
      `POST /api/v1/publish/${new URL(siteUrl).host.split('.')[0]}/finalize`,
      'PUT /api/v1/_upload',
      'PUT /api/v1/_upload',
    ])
  })

  testVariant('files that are picked just before the script that publishes arrives', async () => {
    const { page } = await web.asVisitor()
    const picked = Promise.withResolvers<void>()
    await page.route('**/assets/publishing-*.js', async (route) => {
      await picked.promise
      await route.continue()
    })
    const script = page.waitForResponse(/\/publishing-[^/]*\.js$/)
    await page.goto(web.url('/'))
    // The effects of components are called in a frame or by a timer.
    await page.evaluate(() => {
      const { setTimeout, requestAnimationFrame } = globalThis
      const held: (() => void)[] = []
      const hold = ((callback: () => void) => held.push(callback)) as never
      Object.assign(globalThis, { setTimeout: hold, requestAnimationFrame: hold })
      addEventListener('run-effects', () => {
        Object.assign(globalThis, { setTimeout, requestAnimationFrame })
        for (const callback of held) callback()
      })
    })
    await page.getByLabel('Files or a zip').setInputFiles([toUpload('index.html', PAGE)])
    await page.getByRole('button', { name: 'Choose a folder' }).waitFor({ state: 'detached' })
    picked.resolve()
    await page.evaluate((url) => import(url), (await script).url())
    await page.evaluate(() => dispatchEvent(new Event('run-effects')))
    assert.equal(await visited(await liveAt(page)), PAGE)
  })

  testVariant('files and folders that are dropped together, by their names', async () => {
    const { page } = await front()
    const folder = disk.folder('both/pictures', { 'sea.txt': 'sea' })
    await dropOn(page, 'main', folder, disk.file('both/index.html', PAGE))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'pictures/sea.txt'), 'sea')
  })

  test('the contents of a zip, also of one with everything in one folder, each in place of the last', async () => {
    const { page } = await front()
    const sites = new Set<string>()
    for (const prefix of ['', 'site-main/']) {
      const html = `<h1>Boats ${prefix.length}</h1>`
      const zip = disk.zip(`a${prefix.length}.zip`, {
        [`${prefix}index.html`]: html,
        [`${prefix}img/b\u00fc.txt`]: 'b'.repeat(300_000),
        [`__MACOSX/${prefix}._index.html`]: 'litter',
        [`${prefix}.DS_Store`]: 'litter',
      })
      if (prefix) await dropOn(page, 'main', zip)
      else await pickFiles(page, zip)
      await page
        .frameLocator('iframe')
        .getByRole('heading', { name: `Boats ${prefix.length}` })
        .waitFor()
      const siteUrl = await liveAt(page)
      sites.add(siteUrl)
      assert.equal(await visited(siteUrl), html)
      assert.equal(await visited(siteUrl, 'img/b%C3%BC.txt'), 'b'.repeat(300_000))
    }
    assert.equal(sites.size, 2)
  })

  test('everything but junk, secrets, empty files and what .slipwayignore excludes, and names those', async () => {
    const { page } = await front()
    const excluded: Contents = {
      '.env': 'KEY=1',
      id_rsa: 'key',
      '.git/HEAD': 'ref',
      'node_modules/a/b.js': 'b',
      'empty.txt': '',
      'draft.md': 'draft',
    }
    const ignore = { '.slipwayignore': '!a.key\ndraft.md\n', '.DS_Store': 'x' }
    await dropOn(
      page,
      'main',
      disk.folder('secrets', { 'index.html': PAGE, 'a.key': 'public', ...ignore, ...excluded }),
    )
    const siteUrl = await liveAt(page)
    await page
      .getByText(/^Skipped \d private or system files: .DS_Store, .env, .git\/ and \d others$/)
      .click()
    for (const name of ['id_rsa', 'node_modules/']) await page.getByRole('listitem').getByText(name).waitFor()
    await page.getByText('Skipped 1 empty file: empty.txt').waitFor()
    assert.equal(await visited(siteUrl, 'a.key'), 'public')
    for (const [path, content] of Object.entries(excluded))
      assert.notEqual(await visited(siteUrl, path), content, path)
  })

  test('to the account that is signed in', async () => {
    const { page, owner } = await web.asOwner('/')
    await pickFiles(page, disk.file('own/index.html', PAGE))
    const siteUrl = await liveAt(page)
    await page.getByText(`Saved to your account, ${owner.email}.`).waitFor()
    const { publishes } = await owner.client.list()
    assert.deepEqual(
      publishes.map((site) => [site.siteUrl, site.expiresAt]),
      [[siteUrl, null]],
    )
    await page.getByRole('link', { name: 'Manage site' }).click()
    await page.waitForURL(`**/sites/${publishes[0]!.slug}`)
  })

  testVariant('anonymously when the session has expired, and reports that', async () => {
    const { page } = await web.asOwner('/')
    await page.context().clearCookies()
    await pickFiles(page, disk.file('ended/index.html', PAGE))
    await liveAt(page)
    await page.getByRole('link', { name: 'Keep this site' }).waitFor()
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
  })
})

describe('the page that publishes', requiresBrowser, () => {
  const STYLED = `<!doctype html><html lang="en"><title>Colors</title><link rel="stylesheet" href="css/style.css">
    <style>p { position: absolute; left: 640px; top: 0; width: 640px; height: 400px; background: #c80000 }</style>
    <p style="margin: 0"></p><img src="img/sea.svg" loading="lazy" alt=""></html>`
  const STYLE = `body { margin: 0; background: #00b4b4 } img { position: absolute; left: 0; top: 400px }
    @keyframes appear { from { opacity: 0 } } p { animation: appear 9s }`
  const SEA =
    '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400"><rect width="640" height="400" fill="#0000c8"/></svg>'
  const files = { 'index.html': STYLED, 'css/style.css': STYLE, 'img/sea.svg': SEA }

  test('stores a picture of the site, here of a zip', async () => {
    const { page, owner } = await web.asOwner('/')
    const stored = page.waitForResponse(isThumbnail)
    await pickFiles(page, disk.zip('colors.zip', files))
    assert.equal((await stored).status(), 200)
    const [site] = (await owner.client.list()).publishes
    const { bytes, corners } = await page.evaluate(decodePicture, new URL(site!.thumbnailUrl!).pathname)
    assert.ok(bytes <= 20_000, `${bytes} bytes`)
    const expected = [
      [0, 180, 180],
      [200, 0, 0],
      [0, 0, 200],
      [0, 180, 180],
    ]
    for (const [at, color] of corners.entries())
      for (const [channel, value] of color.entries())
        assert.ok(Math.abs(value - expected[at]![channel]!) < 12, `corner ${at}: ${color}`)
    await page.goto(web.url('/sites'))
    await page.locator('.thumbnail.start-page img').waitFor()
  })

  test('draws a hostile site without running or requesting anything of it', async () => {
    const { page } = await front()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.route('**/*', (route) =>
      route.request().url().includes('attacker.example') ? route.abort() : route.fallback(),
    )
    // The preview of the published site would request and run what the picture must not.
    await page.route(/^https?:\/\/[a-z0-9-]+\.localhost/, (route) => route.fulfill({ body: '' }))
    const remote = 'https://attacker.example/'
    const hostile = `<!doctype html><html onload="top.ran = 1"><base href="${remote}"><title>]]>&lt;/svg></title>
      <link rel="stylesheet" href="${remote}a.css"><style>@import "${remote}b.css"; body { background: url(${remote}c.png);
      --x: url('${remote}d.png') } @font-face { font-family: f; src: url(${remote}f.woff2) } p { font-family: f }
      p::after { content: "</style></svg><script>top.ran = 1</script>" }</style>
      <body style="background-image: url(${remote}e.png)" @click="x" a"b="c" xmlns:q="r"><o:p>\u0001 text <!-- -- --></o:p>
      <script>top.ran = 1</script><img src="x" onerror="top.ran = 1"><img src="${remote}g.png" srcset="${remote}h.png 2x">
      <iframe src="${remote}i"></iframe><object data="${remote}j"></object><video poster="${remote}k" src="${remote}l"></video>
      <svg><image xlink:href="${remote}m.png"/><use href="${remote}n.svg#o"/><script>top.ran = 1</script>
      <foreignObject><iframe srcdoc="<script>top.top.ran = 1</script>"></iframe></foreignObject></svg>
      <a href="javascript:top.ran = 1">a</a>${'<div>'.repeat(2_000)}${'<b>x</b>'.repeat(60_000)}`
    const stored = page.waitForResponse(isThumbnail)
    await pickFiles(page, disk.file('hostile/index.html', hostile))
    assert.equal((await stored).status(), 200)
    assert.equal(await page.evaluate(() => 'ran' in window), false)
    assert.deepEqual(
      requests.filter((url) => url.startsWith(remote)),
      [],
    )
  })
})

describe('an update from the dashboard', requiresBrowser, () => {
  test('is dropped on any page of the site, asks before it removes most files, and can be undone', async () => {
    const { page, owner } = await web.asOwner()
    const contents = { 'index.html': PAGE, 'style.css': 'old', 'a.txt': 'a', 'b.txt': 'b' }
    const site = await owner.client.publish({ title: 'Harbour café', files: toFiles(contents) })
    const style = disk.file('update/style.css', 'new')
    const served = () => Promise.all([visited(site.siteUrl, 'a.txt'), visited(site.siteUrl, 'style.css')])

    await page.goto(web.url(`/sites/${site.slug}/settings`))
    await page.getByRole('heading', { name: 'Harbour café', level: 1 }).waitFor()
    const drop = await dragOver(page, 'header', style)
    await page.getByText('Publish as new version of Harbour café').waitFor()
    await drop()
    await page.waitForURL(web.url(`/sites/${site.slug}`))
    const question = page.getByRole('heading', { name: 'Replace all 4 files with 1?' })
    await question.waitFor()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.deepEqual(await served(), ['a', 'old'])
    assert.equal((await owner.client.details(site.slug)).pendingVersionId, null)

    await dropOn(page, 'header', style)
    await page.getByText('Adding changes only style.css, in the top folder.').waitFor()
    const drawn = page.waitForResponse(isThumbnail)
    await page.getByRole('button', { name: 'Add to the site' }).click()
    await page.getByRole('heading', { name: 'Update published' }).waitFor()
    await page.getByText('1 file changed, 3 unchanged.').waitFor()
    assert.equal((await drawn).status(), 200)
    assert.deepEqual(await served(), ['a', 'new'])
    assert.equal((await owner.client.details(site.slug)).pendingVersionId, null)
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.deepEqual(await served(), ['a', 'old'])

    await dropOn(page, 'main', style)
    await page.getByRole('button', { name: 'Replace everything' }).click()
    await page.getByRole('heading', { name: 'Update published' }).waitFor()
    await page.getByText('1 file changed, 3 files removed.').waitFor()
    const { files } = await owner.client.details(site.slug)
    assert.deepEqual(
      files.map(({ path }) => path),
      ['style.css'],
    )
  })

  testVariant('of one file can replace the file of the same name in another folder', async () => {
    const { page, owner } = await web.asOwner()
    const site = await owner.client.publish({
      files: toFiles({ 'index.html': PAGE, 'css/style.css': 'old' }),
    })
    await page.goto(web.url(`/sites/${site.slug}`))
    await dropOn(page, 'header', disk.file('folder/style.css', 'new'))
    await page.getByText('Your site has css/style.css.').waitFor()
    await page.getByRole('button', { name: 'Replace css/style.css' }).click()
    await page.getByText('1 file changed, 1 unchanged.').waitFor()
    assert.equal(await visited(site.siteUrl, 'css/style.css'), 'new')
  })
})

describe('a paste', requiresBrowser, () => {
  test('of a picture or of HTML is published from any page on confirmation, except in a field', async () => {
    const { page, owner } = await web.asOwner('/account', {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const copy = (text: string) => page.evaluate((copied) => navigator.clipboard.writeText(copied), text)
    await copy('no HTML')
    await page.getByRole('heading', { name: 'Account', level: 1 }).click()
    await page.keyboard.press('Control+V')
    await page.getByText('Only files, images and HTML can be pasted here.').waitFor()
    await copy(PAGE)
    await page.keyboard.press('Control+V')
    await page.getByRole('button', { name: 'Publish 1 file' }).click()
    assert.equal(await visited(await liveAt(page)), PAGE)

    await page.evaluate(copyPicture)
    await page.keyboard.press('Control+V')
    await page.getByRole('button', { name: 'Publish 1 file' }).click()
    await page.getByRole('button', { name: 'Publish 1 file' }).waitFor({ state: 'detached' })
    assert.match(await visited(await liveAt(page), 'image.png'), /PNG/)

    const { slug } = await owner.client.publish({ files: toFiles({ 'index.html': PAGE }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const field = page.getByRole('textbox').first()
    await field.focus()
    await page.keyboard.press('Control+V')
    assert.equal(await page.getByRole('button', { name: 'Publish 1 file' }).count(), 0)
  })
})

describe('a network failure', requiresBrowser, () => {
  test('during a publication is retried, and files that were received are not sent again', async () => {
    const { page, calls } = await front()
    const context = page.context()
    const met = Promise.withResolvers<void>()
    const small = page.waitForResponse((answer) => isBundle(answer.request()))
    await page.route(UPLOADS, async (route) => {
      if (isBundle(route.request())) return route.continue()
      await small
      await context.setOffline(true)
      met.resolve()
      await route.abort()
    })
    await pickFolder(page, disk.folder('broken', { 'index.html': 'Hello', 'a.js': 'a', 'film.mp4': FILM }))
    await met.promise
    await page.getByText(CONNECTION_LOST).waitFor()
    await page.unroute(UPLOADS)
    const before = calls.length
    await context.setOffline(false)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), FILM.toString())
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    const again = calls.slice(before).filter((call) => call.startsWith('PUT'))
    assert.deepEqual(again, ['PUT /api/v1/_upload'])
  })

  testVariant('before the first request is retried, too', async () => {
    const { page } = await front()
    const path = disk.file('early/index.html', 'Early')
    await page.waitForLoadState('networkidle')
    await page.context().setOffline(true)
    await pickFiles(page, path)
    await page
      .getByText(CONNECTION_LOST)
      .or(page.getByRole('button', { name: 'Try again' }))
      .waitFor()
    await page.context().setOffline(false)
    const again = page.getByRole('button', { name: 'Try again' })
    if (await again.isVisible()) await again.click()
    assert.equal(await visited(await liveAt(page)), 'Early')
  })
})

describe('a publication in progress', requiresBrowser, () => {
  test('asks before its tab is closed, and resumes when the same folder is dropped again', async () => {
    const { page, calls } = await front()
    const folder = disk.folder('reloaded', { 'index.html': 'Hello', 'film.mp4': FILM })
    const held = await holdUploads(page)
    await pickFolder(page, folder)
    await held.first
    const dialogType = Promise.withResolvers<string>()
    page.once('dialog', async (dialog) => {
      dialogType.resolve(dialog.type())
      await dialog.accept()
    })
    await page.reload()
    assert.equal(await dialogType.promise, 'beforeunload')
    await page.unroute(UPLOADS)
    await pickFolder(page, folder)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), FILM.toString())
    const [slug] = new URL(siteUrl).host.split('.')
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    assert.equal(calls.filter((call) => call === `POST /api/v1/publish/${slug}/uploads/refresh`).length, 1)
  })

  testVariant('can be stopped, and nothing of it is published', async () => {
    const { page, calls } = await front()
    const held = await holdUploads(page)
    await pickFiles(page, disk.file('stopped.mp4', FILM))
    await held.first
    await page.getByText('0 of 1 file, 0 bytes of 6.0 MB').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Drop a folder, files or a ZIP here').waitFor()
    assert.equal(await page.getByText('Unclaimed sites').count(), 0)
    assert.equal(calls.filter((call) => call.endsWith('/finalize')).length, 0)
  })

  testVariant('continues while another page is open, which shows its end', async () => {
    const { page } = await web.asOwner('/')
    const held = await holdUploads(page)
    await pickFiles(page, disk.file('behind/index.html', 'Behind'))
    await held.first
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
    held.release()
    await page.getByText(/^[a-z0-9-]+\.localhost:\d+ is live\.$/).waitFor()
    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    assert.equal(await visited(await liveAt(page)), 'Behind')
  })

  testVariant('names a file that changed during the upload', async () => {
    const { page } = await front()
    const path = disk.file('changing.txt', 'first')
    let release = (): void => {}
    const held = Promise.withResolvers<void>()
    await page.route('**/api/v1/publish', (route) => {
      release = () => void route.continue()
      held.resolve()
    })
    await pickFiles(page, path)
    await held.promise
    disk.file('changing.txt', 'second, and longer')
    release()
    await page
      .getByRole('alert')
      .getByText(/changing\.txt/)
      .waitFor()
    await page
      .getByText('The file changed during the upload. Drop it again once it has been saved.')
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
  })
})

function isThumbnail(response: Response): boolean {
  return response.request().method() === 'PUT' && response.url().endsWith('/thumbnail')
}

/** Runs in the page: the size of a WebP picture, and the colors in the centers of its four quarters. */
async function decodePicture(url: string): Promise<{ bytes: number; corners: number[][] }> {
  const blob = await (await fetch(url)).blob()
  const start = await blob.slice(0, 4).text()
  if (blob.type !== 'image/webp' || start !== 'RIFF') throw new Error(`not WebP: ${blob.type}`)
  const bitmap = await createImageBitmap(blob)
  const context = new OffscreenCanvas(640, 400).getContext('2d', { willReadFrequently: true })!
  context.drawImage(bitmap, 0, 0)
  const at = (x: number, y: number) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3)
  return { bytes: blob.size, corners: [at(160, 100), at(480, 100), at(160, 300), at(480, 300)] }
}

/** Runs in the page: puts a picture of one pixel into the clipboard. */
async function copyPicture(): Promise<void> {
  const canvas = new OffscreenCanvas(1, 1)
  canvas.getContext('2d')
  const blob = await canvas.convertToBlob()
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': blob })])
}

/** Holds every upload back: `first` resolves with the first one, and `release` continues the last one. */
async function holdUploads(page: Page): Promise<{ first: Promise<void>; release: () => void }> {
  const first = Promise.withResolvers<void>()
  const held: Route[] = []
  await page.route(UPLOADS, (route) => {
    held.push(route)
    first.resolve()
  })
  return { first: first.promise, release: () => void held.pop()?.continue() }
}

function isBundle(request: Request): boolean {
  return request.headers()['content-type'] === 'application/x-tar'
}
