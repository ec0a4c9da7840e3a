import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Request, Response } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { type BrowserUser, PHONE } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import {
  buildZip,
  dragOver,
  dropOn,
  hold,
  holdUploads,
  liveAt,
  pickFiles,
  pickFolder,
  recordCalls,
  UPLOADS,
  visited,
} from './file-drop.ts'
import { disk, web } from './shared.ts'
import { newAddress, type Owner, requiresBrowser, signInElsewhere, undone } from './web-fixture.ts'

const CONNECTION_LOST = /^(You're offline|Can't reach the server)\. The upload resumes when/
const FILM = Buffer.alloc(6_000_000, 'film')

const PAGE = '<!doctype html><title>Boats</title><h1>Boats</h1>'

describe('the front page', requiresBrowser, () => {
  let visitor: BrowserUser
  let page: Page
  let calls: string[]
  web.openForSuite(async () => {
    visitor = await web.visitor({ viewport: PHONE })
    page = visitor.page
    calls = recordCalls(page)
    await page.goto(web.url('/'))
    await page.getByRole('heading', { level: 1 }).waitFor()
    return visitor
  })
  /** Shows the drop zone again after the test before. */
  const begin = async () => {
    const again = page.getByRole('button', { name: 'Publish another site' })
    if ((await again.count()) > 0) await again.click()
    calls.length = 0
  }

  test('publishes all files of a large folder that is dropped, and lists what it skips', async () => {
    await begin()
    const published: Contents = Object.fromEntries(
      Array.from({ length: 230 }, (_, at) => [`img/${at}.txt`, `picture ${at}`]),
    )
    const skipped = { '.DS_Store': 'x', '.env': 'KEY=1', '.git/HEAD': 'ref', id_rsa: 'key', 'a.md~': 'x' }
    await dropOn(page, 'main', disk.folder('harbour', { 'index.html': PAGE, ...published, ...skipped }))
    const siteUrl = await liveAt(page)
    await page
      .getByText(/^Skipped \d files: .DS_Store \(system file\), .*.env \(secret\), .*and \d others$/)
      .click()
    await page.getByRole('listitem').getByText('id_rsa').waitFor()
    for (const path of ['img/99.txt', 'img/229.txt'])
      assert.equal(await visited(siteUrl, path), published[path], path)
  })

  test('names the file and the line of a secret, and publishes it when the user allows it', async () => {
    await begin()
    const files = { 'index.html': PAGE, 'app.js': `\nopen("${makeSecret()}")`, 'b.js': makeSecret() }
    await dropOn(page, 'main', disk.folder('secret', files))
    const alert = page.getByRole('alert')
    await alert.getByText(/^app\.js, line 2: GitHub token ghp_…/).waitFor()
    await visitor.assertReadable()
    await alert.getByRole('button', { name: /^Allow for this site: .* app\.js, line 2$/ }).click()
    await alert.getByText(/^The files seem to contain a secret: b\.js:1 /).waitFor()
    await alert.getByRole('button', { name: /^Allow for this site/ }).click()
    assert.equal(await visited(await liveAt(page), 'app.js'), files['app.js'])
  })

  test('publishes files and folders that are dropped together, by their names and without those of a .slipwayignore', async () => {
    await begin()
    const folder = disk.folder('both/pictures', { 'sea.txt': 'sea', 'plan.md': 'secret' })
    const ignore = disk.file('both/.slipwayignore', '*.md')
    await dropOn(page, 'main', folder, disk.file('both/index.html', PAGE), ignore)
    const siteUrl = await liveAt(page)
    await page
      .getByText('Skipped 2 files: .slipwayignore (hidden), pictures/plan.md (.slipwayignore)')
      .waitFor()
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'pictures/sea.txt'), 'sea')
  })

  test('publishes a picked folder, with three API calls and two uploads', async () => {
    await begin()
    const large = Buffer.alloc(5_000_000, 'large')
    await pickFolder(page, disk.folder('picked', { 'index.html': PAGE, 'b.js': 'b', 'film.mp4': large }))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), large.toString())
    assert.deepEqual(calls.sort(), [
      'POST /api/v1/publish',
      `POST /api/v1/publish/${toSlug(siteUrl)}/finalize`,
      'PUT /api/v1/_upload',
      'PUT /api/v1/_upload',
    ])
  })

  test('publishes the contents of a zip, also of one with everything in one folder, dropped on the result as its new version', async () => {
    await begin()
    const sites = new Set<string>()
    for (const prefix of ['', 'site-main/']) {
      const html = `<h1>Boats ${prefix.length}</h1>`
      const zip = disk.zip(`a${prefix.length}.zip`, {
        [`${prefix}index.html`]: html,
        [`${prefix}img/b\u00fc.txt`]: 'b'.repeat(300_000),
        [`__MACOSX/${prefix}._index.html`]: 'litter',
        [`${prefix}.DS_Store`]: 'litter',
      })
      if (prefix) {
        const drop = await dragOver(page, 'h1', zip)
        await page.getByText(`Publish as new version of ${new URL([...sites][0]!).host}`).waitFor()
        await drop()
      } else await pickFiles(page, zip)
      await page
        .frameLocator('iframe')
        .getByRole('heading', { name: `Boats ${prefix.length}` })
        .waitFor()
      const siteUrl = await liveAt(page)
      sites.add(siteUrl)
      assert.equal(await visited(siteUrl), html)
      assert.equal(await visited(siteUrl, 'img/b%C3%BC.txt'), 'b'.repeat(300_000))
    }
    assert.equal(sites.size, 1)
  })

  test('asks, before it sends anything, about files that cannot be published and about a missing index.html', async () => {
    await begin()
    const [X, ok] = [Buffer.from('x'), { name: 'index.html', data: Buffer.from('Hello') }]
    await pickFiles(page, disk.file('locked.zip', buildZip([ok, { name: 'a.txt', data: X, flags: 1 }])))
    await isAt(page, "This can't be published yet")
    await page.getByText('a.txt is encrypted').waitFor()
    await visitor.assertReadable()
    assert.deepEqual(calls, [])
    await page.getByRole('button', { name: 'Skip these and publish 1 file (5 bytes)' }).click()
    assert.equal(await visited(await liveAt(page)), 'Hello')

    await begin()
    await pickFolder(page, disk.folder('list', { 'A.txt': 'A', 'a.txt': 'a', 'b.txt': 'b', '.env': 'x' }))
    await isAt(page, 'Ready to publish?')
    await page.getByText('No index.html found. Visitors will see a list of files.').waitFor()
    await page.getByText('A.txt and a.txt differ only in case').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'b.txt' }).getByText('1 byte').waitFor()
    await visitor.assertReadableInAllViewports()
    assert.deepEqual(calls, [])
    await page.getByRole('button', { name: 'Publish 3 files (3 bytes)' }).click()
    assert.match(await visited(await liveAt(page)), /b\.txt/)

    await begin()
    const project = { 'package.json': '{}', 'src/main.ts': 'x', 'dist/index.html': 'Built', 'dist/a.js': 'a' }
    await pickFolder(page, disk.folder('project', project))
    await page.getByText('No index.html in the top folder. Visitors will be redirected to /').waitFor()
    await page.getByRole('button', { name: 'Publish only dist/' }).click()
    const siteUrl = await liveAt(page)
    assert.deepEqual([await visited(siteUrl), await visited(siteUrl, 'a.js')], ['Built', 'a'])
  })

  test('offers a name like the title of a new site, and names and keeps it with one emailed code', async () => {
    const { page, visitor } = await web.asVisitor('/')
    const taken = await web.createAccount()
    await taken.client.publish({ files: toFiles({ 'index.html': 'x' }), name: 'old-boats' })
    const html = '<title>Tall Boats</title><h1>Boats</h1>'
    await pickFiles(page, disk.file('named/index.html', html))
    const siteUrl = await liveAt(page)
    await page.locator('.result').getByText('Tall Boats', { exact: true }).waitFor()
    const available = (name: string) =>
      page.getByText(`${new URL(siteUrl).host.replace(/^[^.]+/, name)} is available`).waitFor()
    await available('tall-boats')
    await page.getByLabel('Site name').fill('old-boats')
    await page.getByText('The name is taken.').waitFor()
    await page.getByRole('button', { name: 'Use tall-boats' }).waitFor()
    await page.getByLabel('Site name').fill('Old Boats')
    await page.getByText('The name must consist of lowercase letters').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Use old-boats' }).count(), 0)
    await page.getByLabel('Site name').fill('more-boats')
    await available('more-boats')
    await visitor.assertReadableInAllViewports()
    await page.getByRole('button', { name: 'Keep this site' }).click()
    const email = newAddress()
    await web.askForCode(page, email)
    await web.writeCode(page, email)
    await page.waitForURL('**/sites/more-boats')
    assert.equal(await visited(siteUrl.replace(/\/\/[^.]+/, '//more-boats')), html)
    assert.equal((await getUrl(siteUrl)).status, 308)
    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    await pickFiles(page, disk.file('named/index.html', html))
    await liveAt(page)
    await page.getByRole('button', { name: 'Rename site' }).click()
    await page.getByRole('link', { name: 'tall-boats.' }).waitFor()
  })

  test('shows the new site until the page of the kept one is loaded, whose heading then has the focus', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('kept/index.html', '<title>Kept Boats</title>'))
    await liveAt(page)
    await page.getByRole('button', { name: 'Keep this site' }).click()
    const email = newAddress()
    await web.askForCode(page, email)
    const script = await hold(page, '**/assets/site-page-*.js')
    await web.writeCode(page, email)
    await script.first
    await page.getByRole('heading', { name: 'Your site is live' }).waitFor()
    assert.equal(await page.getByText('Drop a folder. Get a live site.').count(), 0)
    script.release()
    await page.getByRole('heading', { level: 1, name: 'Kept Boats' }).and(page.locator(':focus')).waitFor()
    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    await page.getByRole('heading', { name: 'Drop a folder. Get a live site.' }).waitFor()
  })

  test('publishes another site while the one before it is being kept', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('before/index.html', '<title>Before</title>'))
    await liveAt(page)
    await page.getByRole('button', { name: 'Keep this site' }).click()
    const email = newAddress()
    await web.askForCode(page, email)
    const claim = await hold(page, '**/claim')
    await web.writeCode(page, email)
    await claim.first
    await page.getByRole('button', { name: 'Publish another site' }).click()
    const uploads = await holdUploads(page)
    await pickFiles(page, disk.file('after/index.html', '<title>After</title>'))
    await uploads.first
    claim.release()
    await page.getByText("This site is now yours and won't expire.").waitFor()
    uploads.release()
    assert.equal(await visited(await liveAt(page)), '<title>After</title>')
  })

  test('names the damaged file of a zip, and publishes nothing', async () => {
    const file = { name: 'a.txt', data: Buffer.from('text '.repeat(100)) }
    await begin()
    await pickFiles(page, disk.file('damaged.zip', buildZip([{ ...file, crc32: 5 }])))
    await page.getByText('a.txt is damaged in the ZIP.').waitFor()
    assert.deepEqual(calls, [])
    await page.getByRole('button', { name: 'Choose different files' }).click()
  })

  test('draws a hostile site without running or requesting anything of it', async () => {
    await begin()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const [attacker, sites] = [/attacker\.example/, /^https?:\/\/[a-z0-9-]+\.localhost/]
    await page.route(attacker, (route) => route.abort())
    // The preview of the published site would request and run what the picture must not.
    await page.route(sites, (route) => route.fulfill({ body: '' }))
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
    await page.unrouteAll()
    assert.equal(await page.evaluate(() => 'ran' in window), false)
    const remoteRequests = requests.filter((url) => url.startsWith(remote))
    assert.deepEqual(remoteRequests, [])
  })

  test('shows that it is offline while it is, retries then, and sends no file again that was received', async () => {
    await begin()
    const context = page.context()
    const [received, offline] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(UPLOADS, async (route) => {
      if (isBundle(route.request())) {
        // Its response arrives late: after the other upload has failed.
        const response = await route.fetch()
        received.resolve()
        await offline.promise
        return route.fulfill({ response })
      }
      await received.promise
      await context.setOffline(true)
      await route.abort()
    })
    const small = page.waitForEvent('requestfinished', isBundle)
    let bundles = 0
    page.on('request', (request) => {
      if (isBundle(request)) bundles++
    })
    await pickFolder(page, disk.folder('broken', { 'index.html': 'Hello', 'a.js': 'a', 'film.mp4': FILM }))
    await page.getByText(CONNECTION_LOST).waitFor()
    offline.resolve()
    await small
    await page.evaluate(() => new Promise(requestAnimationFrame))
    assert.ok(await page.getByText(CONNECTION_LOST).isVisible())
    await page.unroute(UPLOADS)
    await context.setOffline(false)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), FILM.toString())
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    assert.equal(bundles, 1)
  })

  test('shows no file as uploaded while the server cannot be reached', async () => {
    await begin()
    const publish = (url: URL) => url.pathname === '/api/v1/publish'
    await page.route(publish, (route) => route.abort())
    await pickFolder(page, disk.folder('unsent', { 'index.html': 'Hello', 'a.js': 'a' }))
    await page.getByText(CONNECTION_LOST).waitFor()
    await page.getByText('0 of 2 files').waitFor()
    await page.unroute(publish)
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  test('asks before its tab is closed during a publication, and resumes when the same folder is dropped again', async () => {
    await begin()
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
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    const refreshes = calls.filter(
      (call) => call === `POST /api/v1/publish/${toSlug(siteUrl)}/uploads/refresh`,
    )
    assert.equal(refreshes.length, 1)
  })
})

test(
  'a drop of a signed-in user belongs to the account, gets a picture, here of a zip, and is not shown to the next account',
  requiresBrowser,
  async () => {
    const STYLED = `<!doctype html><html lang="en"><title>Colors</title><link rel="stylesheet" href="css/style.css">
    <style>p { position: absolute; left: 640px; top: 0; width: 640px; height: 400px; background: #c80000 }</style>
    <p style="margin: 0"></p><img src="img/sea.svg" loading="lazy" alt=""></html>`
    const STYLE = `body { margin: 0; background: #00b4b4 } img { position: absolute; left: 0; top: 400px }
    @keyframes appear { from { opacity: 0 } } p { animation: appear 9s }`
    const SEA =
      '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400"><rect width="640" height="400" fill="#0000c8"/></svg>'
    const { page, owner } = await web.asOwner('/')
    const stored = page.waitForResponse(isThumbnail)
    await pickFiles(
      page,
      disk.zip('colors.zip', { 'index.html': STYLED, 'css/style.css': STYLE, 'img/sea.svg': SEA }),
    )
    const siteUrl = await liveAt(page)
    await page.getByText(`Saved to your account, ${owner.email}.`).waitFor()
    assert.equal((await stored).status(), 200)
    const [site, ...others] = (await owner.client.list()).publishes
    assert.deepEqual([site!.siteUrl, site!.expiresAt, others], [siteUrl, null, []])
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
    await page.getByRole('link', { name: 'Manage site' }).click()
    await page.waitForURL(`**/sites/${site!.slug}`)
    await page.getByRole('link', { name: 'Sites' }).first().click()
    await page.locator('.thumbnail.start-page img').waitFor()

    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    await page.getByRole('heading', { name: 'Your site is live' }).waitFor()
    await signInElsewhere(web, page.context())
    await page.getByRole('heading', { name: 'Your site is live' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Choose files or a ZIP' }).waitFor()
  },
)

describe('the dashboard', requiresBrowser, () => {
  let owner: Owner
  let page: Page
  web.openForSuite(async () => {
    owner = await web.owner({ permissions: ['clipboard-read', 'clipboard-write'] })
    page = owner.page
    return owner
  })

  test('takes an update on any page of a site and in the list, asks before it removes most files, and undoes it', async () => {
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
    // The first version gets its picture beside this.
    const drawn = page.waitForResponse((one) => isThumbnail(one) && !one.url().includes(site.versionId))
    await page.getByRole('button', { name: 'Add to the site' }).click()
    await page.getByRole('heading', { name: 'Update published' }).waitFor()
    await page.getByText('1 file changed, 3 unchanged.').waitFor()
    assert.equal((await drawn).status(), 200)
    await page.getByRole('region', { name: 'Visitors' }).locator('.total').waitFor()
    assert.deepEqual(await served(), ['a', 'new'])
    assert.equal((await owner.client.details(site.slug)).pendingVersionId, null)
    await page.getByRole('button', { name: 'Undo' }).click()
    await undone(page).waitFor()
    assert.deepEqual(await served(), ['a', 'old'])

    await dropOn(page, 'main', style)
    await page.getByRole('button', { name: 'Replace everything' }).click()
    await page.getByRole('heading', { name: 'Update published' }).waitFor()
    await page.getByText('1 file changed, 3 files removed.').waitFor()
    const paths = async () => (await owner.client.details(site.slug)).files.map(({ path }) => path)
    assert.deepEqual(await paths(), ['style.css'])

    await page.goto(web.url('/sites'))
    await dropOn(page, '.site-list h2:has-text("Harbour")', disk.file('row/index.html', PAGE))
    await page.getByRole('button', { name: 'Replace everything' }).click()
    await page.getByText('1 file added, 1 file removed.').waitFor()
    assert.deepEqual(await paths(), ['index.html'])

    await owner.client.renameSite(site.slug, 'harbour-renamed')
    await follow(page, '/sites/harbour-renamed')
    await page.getByRole('heading', { name: 'Harbour café', level: 1 }).waitFor()
    const first = await holdUploads(page)
    await dropOn(page, 'header', disk.file('first/style.css', 'first'))
    await page.getByRole('button', { name: 'Add to the site' }).click()
    await first.first
    await follow(page, `/sites/${site.slug}/files?from=bookmark#files`)
    await page.waitForURL(web.url('/sites/harbour-renamed/files?from=bookmark#files'))
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    first.release()
    await page.getByText('1 file added, 1 unchanged.').waitFor()

    const uploads = await holdUploads(page)
    await dropOn(page, 'header', disk.file('later/style.css', 'later'))
    await page.getByRole('button', { name: 'Add to the site' }).click()
    await uploads.first
    const opened = page.waitForResponse('**/collaborators')
    await page.getByRole('link', { name: 'Settings' }).click()
    await (await opened).finished()
    const invited = page.getByRole('region', { name: 'People' }).getByLabel('Email address')
    await invited.fill('bea@')
    const loaded = page.waitForResponse('**/collaborators')
    uploads.release()
    await page.getByText('is live.').waitFor()
    await (await loaded).finished()
    assert.equal(await invited.inputValue(), 'bea@')
  })

  test('publishes a paste of a picture or of HTML from any page on confirmation, except in a field', async () => {
    await page.goto(web.url('/account'))
    const copy = (text: string) => page.evaluate((copied) => navigator.clipboard.writeText(copied), text)
    await copy('no HTML')
    await page.getByRole('heading', { name: 'Account', level: 1 }).click()
    await page.keyboard.press('Control+V')
    await page.getByText('Only files, images and HTML can be pasted here.').waitFor()
    await copy(PAGE)
    await page.getByRole('button', { name: 'Delete account' }).click()
    const field = page.getByRole('dialog').getByRole('textbox')
    await field.focus()
    await page.keyboard.press('Control+V')
    assert.equal(await field.inputValue(), PAGE)
    assert.equal(await page.getByRole('button', { name: 'Publish 1 file' }).count(), 0)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+V')
    await page.getByRole('button', { name: 'Publish 1 file' }).click()
    assert.equal(await visited(await liveAt(page)), PAGE)

    await page.getByRole('button', { name: 'Publish another site' }).click()
    await page.evaluate(copyPicture)
    await page.keyboard.press('Control+V')
    await page.getByRole('button', { name: 'Publish 1 file' }).click()
    await page.getByRole('button', { name: 'Publish 1 file' }).waitFor({ state: 'detached' })
    assert.match(await visited(await liveAt(page), 'image.png'), /PNG/)
  })
})

function toSlug(siteUrl: string): string {
  return new URL(siteUrl).host.split('.')[0]!
}

/** Asserts that the heading is shown and has the focus. */
async function isAt(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).waitFor()
  await page.waitForFunction((text) => document.activeElement?.textContent === text, name)
}

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

function isBundle(request: Request): boolean {
  return request.headers()['content-type'] === 'application/x-tar'
}

/** Opens a path of the dashboard as a link does, without loading the page again. */
async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((href) => {
    const link = Object.assign(document.createElement('a'), { href })
    document.body.append(link)
    link.click()
    link.remove()
  }, path)
}
