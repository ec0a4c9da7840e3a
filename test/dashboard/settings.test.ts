import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import type { MetadataRequest } from '../../protocol/api/sites.schema.ts'
import { type Contents, toFiles } from '../api/content.ts'
import { DESKTOP, PHONE } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import { testVariant } from '../support/variants.ts'
import { toUpload, visited } from './file-drop.ts'
import { web } from './shared.ts'
import { type Owner, requiresBrowser, typeWhileSending } from './web-fixture.ts'

/** A PNG of 40 by 20 pixels. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAACgAAAAUAQAAAADXPUIWAAAADklEQVR42mNYBQIMdCcBkblCacHc8cUAAAAASUVORK5CYII=',
  'base64',
)

const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><text y="15">Oven</text></svg>'

const DOCUMENT = `<!doctype html><html><head><!-- <title>Not this</title> -->
  <script>document.write("<title>Nor this</title>")</script><style>h1 { color: red }</style>
  <title>The &amp; bakery</title><meta style="color: red" name=description content='Bread, "daily">'>
  <meta property="og:image" content="/images/oven.png"></head>
  <body style="color: red"><h1>Bread</h1></body></html>`

const BAKERY: Contents = {
  'index.html': DOCUMENT,
  'images/oven.png': PICTURE,
  'images/loaf of bread.png': PICTURE,
  'images/oven.svg': DRAWING,
}

describe('the settings of a site', requiresBrowser, () => {
  let owner: Owner
  let page: Page
  let slug: string
  let siteUrl: string
  web.openForSuite(async () => {
    owner = await web.owner({ timezoneId: 'Asia/Kolkata' })
    page = owner.page
    await openSettings(BAKERY)
    return owner
  })
  /** Publishes a site and opens its settings. */
  async function openSettings(contents: Contents) {
    ;({ slug, siteUrl } = await owner.client.publish({ files: toFiles(contents) }))
    await page.goto(web.url(`/sites/${slug}/settings`))
    await page.getByRole('heading', { name: 'Access' }).waitFor()
  }
  const part = (name: string) => page.getByRole('region', { name })
  const details = () => owner.client.details(slug)
  const press = () => page.getByRole('button', { name: 'Save changes' }).click()
  const save = async () => {
    await press()
    await part('Unsaved changes').waitFor({ state: 'detached' })
  }

  test('are accessible in all viewports and color schemes', async () => {
    await page.getByRole('figure').getByText('The & bakery').waitFor()
    await page.getByRole('button', { name: 'Choose image' }).click()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'images/loaf of bread.png' }).click()
    await page.getByLabel('Description').fill('long '.repeat(110))
    await page.getByRole('switch', { name: 'Password protection' }).click()
    await part('General').getByLabel('Expires').selectOption('On a date')
    await page.setViewportSize(PHONE)
    await owner.assertAccessibleInAllViewports()
    await part('Danger zone').getByText('You can restore it from the trash for 30 days.').waitFor()
    await part('Danger zone').getByRole('button', { name: 'Delete site' }).click()
    await owner.assertReadable()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.setViewportSize(DESKTOP)
    await page.getByRole('button', { name: 'Discard' }).click()
  })

  test('show the metadata of the document, and a card that updates while typing', async () => {
    const card = part('Link preview').getByRole('figure')
    await card.getByText('The & bakery').waitFor()
    await card.getByText('Bread, "daily">').waitFor()
    await card.getByRole('img', { name: 'images/oven.png' }).waitFor()
    await page.getByLabel('Title').fill('Loaves')
    await page.getByText('194 of 200 characters left').waitFor()
    await page.getByLabel('Description').fill('Fresh')
    await page.getByRole('button', { name: 'Choose image' }).click()
    await page.getByRole('button', { name: 'images/loaf of bread.png' }).click()
    await card.getByText('Loaves').waitFor()
    await card.getByText('Fresh', { exact: true }).waitFor()
    await card.getByRole('img', { name: 'images/loaf of bread.png' }).waitFor()
    await save()
    await page.getByRole('heading', { name: 'Loaves' }).waitFor()
    const metadata = async () => {
      const { title, description, ogImagePath } = (await details()).viewer
      return [title, description, ogImagePath]
    }
    assert.deepEqual(await metadata(), ['Loaves', 'Fresh', 'images/loaf of bread.png'])
    await page.getByLabel('Title').fill('')
    await page.getByLabel('Description').fill('')
    await page.getByRole('button', { name: 'Use the image from your HTML' }).click()
    await card.getByText('The & bakery').waitFor()
    await card.getByRole('img', { name: 'images/oven.png' }).waitFor()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: 'The & bakery' }).waitFor()
    assert.deepEqual(await metadata(), [null, null, null])
  })

  /** Sets each field that the API changes. */
  const CONTROLS: Record<keyof MetadataRequest, () => Promise<unknown>> = {
    title: () => page.getByLabel('Title').fill('Rolls'),
    description: () => page.getByLabel('Description').fill('Warm'),
    ogImagePath: async () => {
      await page.getByRole('button', { name: 'Choose image' }).click()
      await page.getByRole('button', { name: 'images/loaf of bread.png' }).click()
    },
    spaMode: () => page.getByRole('switch', { name: 'Single-page app' }).click(),
    ttlSeconds: () => part('General').getByLabel('Expires').selectOption('In a week'),
    requireApproval: () => part('Access').getByLabel('Require approval').selectOption('From any reviewer'),
    password: async () => {
      await page.getByRole('switch', { name: 'Password protection' }).click()
      await part('Access').getByLabel('Password', { exact: true }).fill('sesame')
    },
  }

  test('have a control for each field that the API changes', async () => {
    try {
      for (const set of Object.values(CONTROLS)) await set()
      const isChange = (request: Request) => request.method() === 'PATCH'
      const [sent] = await Promise.all([page.waitForRequest(isChange), save()])
      assert.deepEqual(Object.keys(sent.postDataJSON()).sort(), Object.keys(CONTROLS).sort())
    } finally {
      await openSettings(BAKERY)
    }
  })

  test('set, change and remove a password', async () => {
    const guarded = async () => (await getUrl(siteUrl)).status
    const access = part('Access')
    const protection = access.getByRole('switch', { name: 'Password protection' })
    const saveButton = page.getByRole('button', { name: 'Save changes' })
    const saved = () => part('Unsaved changes').waitFor({ state: 'detached' })
    await protection.click()
    // Before anything is typed it is a step, and no error.
    await page.locator('.save-bar .title', { hasText: 'Enter a password.' }).waitFor()
    await access.getByLabel('Password', { exact: true }).fill('sesame')
    await access.getByRole('button', { name: 'Show password' }).click()
    await access.getByRole('button', { name: 'Hide password' }).waitFor()
    assert.equal(await access.getByLabel('Password', { exact: true }).getAttribute('type'), 'text')
    await save()
    assert.equal(await guarded(), 401)
    await page.getByText("Link previews aren't shown").waitFor()
    await page.getByRole('figure').getByRole('img', { name: 'images/oven.png' }).waitFor()
    await access.getByLabel('New password').fill('open')
    await access.getByLabel('New password').press('Enter')
    await saved()
    await access.getByLabel('New password').and(page.locator(':focus')).waitFor()
    await protection.click()
    await saveButton.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await saveButton.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove password' }).click()
    await saved()
    assert.equal(await guarded(), 200)
    assert.equal((await details()).hasPassword, false)
  })

  test('are kept while other pages are open, saved together, and discarded with an undo', async () => {
    await page.getByLabel('Title').fill('Loaves')
    await page.getByRole('switch', { name: 'Single-page app' }).click()
    await page.getByRole('link', { name: 'Versions' }).click()
    await page.getByRole('heading', { name: 'Versions' }).waitFor()
    const asked = page.waitForEvent('dialog')
    const leaving = page.goto(web.url('/account')).catch(() => {})
    await (await asked).dismiss()
    await leaving
    await page.getByRole('link', { name: 'Settings (unsaved changes)' }).click()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Loaves')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    // What is being saved can no longer be discarded.
    const discard = page.getByRole('button', { name: 'Discard', disabled: true })
    await typeWhileSending(page, '**/metadata', { send: press, type: () => discard.waitFor() })
    await part('Unsaved changes').waitFor({ state: 'detached' })
    const { viewer, spaMode } = await details()
    assert.deepEqual([viewer.title, spaMode], ['Loaves', true])
  })

  test('are limited in characters, as the server counts them', async () => {
    const field = page.getByLabel('Title')
    await field.fill('😀'.repeat(201))
    await part('Link preview').getByRole('alert').getByText('1 character over the limit of 200.').waitFor()
    await field.fill('😀'.repeat(200))
    await save()
    assert.equal([...(await details()).viewer.title!].length, 200)
  })

  test('set an expiry after a duration or at a date, and remove it', async () => {
    const general = part('General')
    const when = general.getByLabel('Expires')
    await when.selectOption('In a week')
    await general.getByText("The address can't be reused").waitFor()
    await part('Unsaved changes')
      .getByText(/^After saving, this site is deleted on /)
      .waitFor()
    await save()
    await general.getByText(/Expires on .* \(in 7 days\)/).waitFor()
    const { expiresAt } = await details()
    assert.equal(Date.parse(expiresAt!) - web.service.clock.now, 7 * 86_400_000)
    await when.selectOption('On a date')
    const date = general.getByLabel('Date and time')
    await date.fill('2001-01-01T12:00')
    await general.getByRole('alert').getByText('Choose a time in the future.').waitFor()
    await part('Unsaved changes').locator('[aria-hidden=true]', { hasText: 'in the future' }).waitFor()
    await date.fill('2999-01-01T12:00')
    await general.getByText('Choose a time within a year.').waitFor()
    const nextYear = new Date(Date.now() + 300 * 86_400_000).toISOString().slice(0, 10)
    await date.fill(`${nextYear}T12:00`)
    const before = Date.now()
    web.service.clock.now = before + 1000
    await save()
    const late = Date.parse((await details()).expiresAt!) - Date.parse(`${nextYear}T06:30Z`)
    // The clock of the browser runs until it sends the duration, and that of the service does not.
    assert.ok(Math.abs(late) < 5000 + Date.now() - before, `${late} ms late`)
    await when.selectOption('Never')
    await save()
    await general.getByText("This site doesn't expire.").waitFor()
    assert.equal((await details()).expiresAt, null)
  })

  test('have no empty place for a name where none can be offered', async () => {
    const { page, owner: other } = await web.asOwner()
    const { slug } = await other.client.publish({ files: toFiles({ 'index.html': 'untitled' }) })
    await page.goto(web.url(`/sites/${slug}/settings`))
    const general = page.getByRole('region', { name: 'General' })
    await general.getByText(`${slug}.localhost`).waitFor()
    // At one time: what is above may still be loading.
    const [end, hint, button, height] = await general
      .getByRole('group')
      .first()
      .evaluate((group) => {
        const [hint, button] = ['[role=status]', 'button'].map((part) => group.querySelector(part)!)
        const ends = [group, hint!, button!].map((element) => element.getBoundingClientRect().bottom)
        return [...ends, button!.getBoundingClientRect().height]
      })
    assert.ok(end! - Math.max(hint!, button!) < height! / 2, 'a place for nothing')
  })

  test('rename the site to a name that is available, and keep unsaved changes', async () => {
    const edit = async () => {
      await page.getByRole('link', { name: 'Files', exact: true }).click()
      await page.getByRole('button', { name: 'Actions for index.html' }).click()
      await page.getByRole('menuitem', { name: 'Edit text' }).click()
    }
    const content = page.getByLabel('Content')
    await edit()
    await content.fill('Typed')
    await page.goBack()
    const field = part('General').getByLabel('Site name')
    await page.getByLabel('Title').fill('Unsaved')
    const refused = part('General').getByRole('alert').filter({ hasText: /\w/ })
    await field.fill('www')
    await refused.waitFor()
    const findPlace = async () => (await page.getByLabel('Title').boundingBox())!.y
    let place = 0
    await page.route('**/api/v1/names/corner-bakery', async (route) => {
      await refused.waitFor()
      place = await findPlace()
      await route.continue()
    })
    await field.fill('Corner Bäkery')
    const offer = part('General').getByRole('button', { name: 'Use corner-bakery' })
    await offer.waitFor()
    assert.equal(await findPlace(), place, 'the offer does not move the page')
    await page.unroute('**/api/v1/names/corner-bakery')
    await offer.click()
    await part('General')
      .getByText(/^corner-bakery\.localhost:\d+ is available$/)
      .waitFor()
    await field.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Rename to corner-bakery?' })
    await dialog.getByText('The old URL redirects for 30 days.').waitFor()
    await owner.assertReadable()
    await dialog.getByRole('button', { name: 'Rename site' }).click()
    await page.waitForURL('**/sites/corner-bakery/settings')
    await part('Unsaved changes').waitFor()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Unsaved')
    siteUrl = siteUrl.replace(slug, 'corner-bakery')
    slug = 'corner-bakery'
    assert.match(await visited(siteUrl), /Bread/)
    await part('Danger zone').getByRole('button', { name: 'Delete site' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete site' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'Settings (unsaved changes)' }).click()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Unsaved')
    await page.getByRole('button', { name: 'Discard' }).click()
    await edit()
    assert.equal(await content.inputValue(), 'Typed')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.goBack()
  })

  test('keep the input when it cannot be saved, and show the reason', async () => {
    const title = page.getByRole('heading', { level: 1 })
    const before = await title.textContent()
    await page.getByLabel('Title').fill('Rolls')
    await page.route('**/metadata', (route) => route.abort())
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText("Can't reach the server.").waitFor()
    assert.equal(await title.textContent(), before)
    assert.equal(await page.getByLabel('Title').inputValue(), 'Rolls')
    await page.unroute('**/metadata')
    // As a collaborator who was removed.
    const error = {
      error: 'Site not found, or it belongs to another account',
      code: 'NOT_FOUND',
      status: 404,
    }
    await page.route('**/metadata', (route) => route.fulfill({ status: 404, json: error }), { times: 1 })
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('It may have been deleted, or you may have lost access to it.').waitFor()

    const chooseImage = async (path: string) => {
      await page.getByRole('button', { name: 'Choose image' }).click()
      await page.getByRole('button', { name: path }).click()
    }
    const gone = 'images/loaf of bread.png'
    await owner.client.publish({ slug, files: [], merge: true, delete: [gone] })
    await chooseImage(gone)
    await page.getByRole('button', { name: 'Save changes' }).click()
    await part('Unsaved changes').getByRole('alert').waitFor()
    await owner.assertReadable()
    await chooseImage('images/oven.png')
    await save()
    assert.equal((await details()).viewer.ogImagePath, 'images/oven.png')
  })

  test('download all files, and duplicate the site and open the copy', async () => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      part('General').getByRole('link', { name: 'Download files' }).click(),
    ])
    assert.equal(download.suggestedFilename(), `${slug}.zip`)
    await part('General').getByRole('button', { name: 'Duplicate site' }).click()
    await page.getByText(`This is the copy of ${slug}.`).waitFor()
    const copy = new URL(page.url()).pathname.split('/').at(-1)!
    assert.notEqual(copy, slug)
    assert.deepEqual((await owner.client.details(copy)).files, (await details()).files)
  })

  testVariant('publish an uploaded image for the link preview, and warn of unsuitable ones', async () => {
    await openSettings(BAKERY)
    const card = page.getByRole('figure')
    await card.getByText('40 × 20 pixels. Use at least 1200 × 630').waitFor()
    const upload = (name: string, content: string | Buffer) =>
      page.getByLabel('Link preview image').setInputFiles([toUpload(name, content)])
    await upload('card.svg', DRAWING)
    await page.getByText('Choose a PNG, JPEG or WebP image.').waitFor()
    await upload('card.png', 'no image')
    await page.getByText("Couldn't open card.png. It may be damaged.").waitFor()
    await upload('card.png', PICTURE)
    await card.getByRole('img', { name: /^link-preview-[0-9a-f]{8}\.png$/ }).waitFor()
    const first = (await details()).viewer.ogImagePath!
    assert.match(await visited(siteUrl), new RegExp(`og:image" content="[^"]*/${first}"`))
    await upload('card.png', PICTURE)
    await page.getByText(first).waitFor({ state: 'detached' })
    const { files, viewer } = await details()
    const paths = files.map(({ path }) => path).sort()
    assert.deepEqual(paths, [...Object.keys(BAKERY), viewer.ogImagePath].sort())
  })
})
