import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { toFiles } from '../api/content.ts'
import { PHONE } from '../support/browser.ts'
import { requiresBrowser, useWeb } from './web-fixture.ts'

let client: Slipway
const web = useWeb({}, (account) => {
  client = account.client
})

const picture = (word: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><text y="15">${word}</text></svg>`

const DOCUMENT = `<!doctype html><html><head><!-- <title>Not this</title> -->
  <script>document.write("<title>Nor this</title>")</script><style>h1 { color: red }</style>
  <title>The &amp; bakery</title><meta style="color: red" name=description content='Bread, "daily">'>
  <meta property="og:image" content="/images/oven.svg"></head>
  <body style="color: red"><h1>Bread</h1></body></html>`

const BAKERY: Record<string, string> = {
  'index.html': DOCUMENT,
  'images/oven.svg': picture('Oven'),
  'images/loaf of bread.svg': picture('Loaf'),
}

/** Publishes a site and opens its settings. */
async function openSettings(texts: Record<string, string> = BAKERY, options?: BrowserContextOptions) {
  const { page, user } = await web.asAccount(undefined, options)
  const { slug, siteUrl } = await client.publish({ files: toFiles(texts) })
  const open = async () => {
    await page.goto(web.url(`/sites/${slug}/settings`))
    await page.getByRole('heading', { name: 'Password' }).waitFor()
  }
  await open()
  const part = (name: string) => page.getByRole('region', { name })
  return { slug, siteUrl, page, user, open, part, details: () => client.details(slug) }
}

describe('the settings of a site', requiresBrowser, () => {
  test('are accessible in all viewports and color schemes', async () => {
    const { page, user, part } = await openSettings(undefined, { viewport: PHONE })
    await page.getByText('The & bakery').waitFor()
    await page.getByRole('button', { name: 'Choose a picture' }).click()
    await user.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'images/loaf of bread.svg' }).click()
    await page.getByLabel('Description').fill('long '.repeat(110))
    await part('Time to live').getByLabel('The site goes').selectOption('On a date')
    await user.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'Delete the site' }).click()
    await user.assertAccessibleInAllViewports()
    user.assertNoComplaints()
  })

  test('show the metadata of the document, and a card that updates while typing', async () => {
    const { page, user, part, details } = await openSettings()
    const card = part('When it is shared').getByRole('figure')
    await card.getByText('The & bakery').waitFor()
    await card.getByText('Bread, "daily">').waitFor()
    await card.getByRole('img', { name: 'images/oven.svg' }).waitFor()
    await page.getByLabel('Title').fill('Loaves')
    await page.getByLabel('Description').fill('Fresh')
    await page.getByRole('button', { name: 'Choose a picture' }).click()
    await page.getByRole('button', { name: 'images/loaf of bread.svg' }).click()
    await card.getByText('Loaves').waitFor()
    await card.getByText('Fresh').waitFor()
    await card.getByRole('img', { name: 'images/loaf of bread.svg' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved. Visitors see it from now on.').waitFor()
    await page.getByRole('heading', { name: 'Loaves' }).waitFor()
    const pickMetadata = ({ title, description, ogImagePath }: SiteDetails) => [
      title,
      description,
      ogImagePath,
    ]
    assert.deepEqual(pickMetadata(await details()), ['Loaves', 'Fresh', 'images/loaf of bread.svg'])
    await page.getByLabel('Title').fill('')
    await page.getByLabel('Description').fill('')
    await page.getByRole('button', { name: 'Leave it to the document' }).click()
    await card.getByText('The & bakery').waitFor()
    await card.getByRole('img', { name: 'images/oven.svg' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: (await details()).slug }).waitFor()
    assert.deepEqual(pickMetadata(await details()), [null, null, null])
    user.assertNoComplaints()
  })

  const root = (html: string) => ({ 'index.html': html })
  const image = (address: string) => `<meta property="og:image" content="${address}">`
  const cards: [of: string, texts: Record<string, string>, hint: RegExp][] = [
    ['a site without a root document', { 'about.html': '<title>About</title>' }, /\.localhost/],
    ['a document without metadata', root('<h1>Bread</h1>'), /\.localhost/],
    ['a head that never ends', root('<title>Bread</title><script>'), /^Bread$/],
    [
      'a picture from elsewhere',
      root(image('https://pictures.example/oven.png')),
      /A picture from pictures\.example/,
    ],
    ['a picture that is not there', root(`<title>Bread</title>${image('/%E0.png')}`), /^Bread$/],
  ]
  for (const [of, texts, hint] of cards) {
    test(`have a card for ${of}`, async () => {
      const { user, part } = await openSettings(texts)
      const card = part('When it is shared').getByRole('figure')
      await card.getByText(hint).first().waitFor()
      assert.equal(await card.getByRole('img').count(), 0)
      user.assertNoComplaints()
    })
  }

  test('count the remaining characters, and do not save a text that is too long', async () => {
    const { page, user, part, details } = await openSettings()
    await page.getByLabel('Title').fill('🥖'.repeat(200))
    await part('When it is shared').getByText('0 of 200 characters left').waitFor()
    await page.getByLabel('Title').fill('🥖'.repeat(201))
    await page.getByText('This is longer than 200 characters by 1.').waitFor()
    await page.getByLabel('Title').press('Enter')
    await page.getByLabel('Title').fill('🥖'.repeat(200))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    assert.equal((await details()).title, '🥖'.repeat(200))
    user.assertNoComplaints()
  })

  test('find an image by its name among many', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `pictures/${at}.svg`)
    const { page, user } = await openSettings(Object.fromEntries(names.map((name) => [name, picture(name)])))
    await page.getByRole('button', { name: 'Choose a picture' }).click()
    const dialog = page.getByRole('dialog')
    const pictures = dialog.getByRole('listitem')
    await pictures.nth(11).waitFor()
    assert.equal(await pictures.count(), 12)
    await dialog.getByRole('button', { name: 'Show more' }).click()
    await pictures.nth(23).waitFor()
    assert.equal(await pictures.count(), 24)
    await dialog.getByLabel('Find by name').fill('29')
    await dialog.getByText('1 picture', { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'pictures/29.svg' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('figure').getByRole('img', { name: 'pictures/29.svg' }).waitFor()
    user.assertNoComplaints()
  })

  test('set, change and remove a password', async () => {
    const { page, user, part, siteUrl, details } = await openSettings()
    await using visitor = await web.visitor()
    const guarded = async () => (await visitor.page.goto(siteUrl))!.status()
    const password = part('Password')
    await password.getByLabel('Password for visitors').fill('sesame')
    await password.getByRole('button', { name: 'Show what is written' }).click()
    await password.getByRole('button', { name: 'Hide what is written' }).waitFor()
    assert.equal(await password.getByLabel('Password for visitors').getAttribute('type'), 'text')
    await password.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Visitors are asked for the password from now on.').waitFor()
    assert.equal(await guarded(), 401)
    await page.getByText('shows no card').waitFor()
    await page.getByRole('figure').getByRole('img', { name: 'images/oven.svg' }).waitFor()
    await password.getByLabel('New password').fill('open')
    await Promise.all([
      page.waitForResponse('**/metadata'),
      password.getByLabel('New password').press('Enter'),
    ])
    await page.waitForFunction(() => !document.querySelector<HTMLInputElement>('input[type=password]')?.value)
    await password.getByRole('button', { name: 'Remove password' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click()
    await password.getByRole('button', { name: 'Remove password' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove password' }).click()
    await page.getByText('Everybody can see the site now.').waitFor()
    assert.equal(await guarded(), 200)
    assert.equal((await details()).hasPassword, false)
    user.assertNoComplaints()
  })

  test('turn on single-page application mode', async () => {
    const { page, user, siteUrl } = await openSettings()
    await using visitor = await web.visitor()
    await page.getByRole('switch', { name: 'Single-page application' }).click()
    await page.getByText('Pages without a file get index.html now.').waitFor()
    assert.equal((await visitor.page.goto(`${siteUrl}users/7`))!.status(), 200)
    await page.getByRole('switch', { name: 'Single-page application', checked: true }).click()
    await page.getByText('Pages without a file are not found now.').waitFor()
    assert.equal((await visitor.page.goto(`${siteUrl}users/7`))!.status(), 404)
    user.assertNoComplaints()
  })

  test('set an expiry after a duration or at a date, and remove it', async () => {
    const { page, user, part, details } = await openSettings(undefined, { timezoneId: 'Asia/Kolkata' })
    const life = part('Time to live')
    const goes = life.getByLabel('The site goes')
    const set = life.getByRole('button', { name: 'Set time to live' })
    await goes.selectOption('In a week')
    await life.getByText('its address is never given out again').waitFor()
    await set.click()
    await life.getByText(/It goes on .*, in 6 days\./).waitFor()
    const { expiresAt } = await details()
    assert.equal(Date.parse(expiresAt!) - web.service.clock.now, 7 * 86_400_000)
    await goes.selectOption('On a date')
    const date = life.getByLabel('Date and time')
    await date.fill('2001-01-01T12:00')
    await life.getByText('This is past.').waitFor()
    await date.fill('2999-01-01T12:00')
    await life.getByText('within a year').waitFor()
    const nextYear = new Date(Date.now() + 300 * 86_400_000).toISOString().slice(0, 10)
    await date.fill(`${nextYear}T12:00`)
    web.service.clock.now = Date.now() + 1000
    await set.click()
    await page.getByText(/^It goes on .*, 12:00\.$/).waitFor()
    const late = Date.parse((await details()).expiresAt!) - Date.parse(`${nextYear}T06:30Z`)
    assert.ok(Math.abs(late) < 5000, `${late} ms late`)
    await goes.selectOption('Never')
    await set.click()
    await life.getByText('It stays until you delete it.').waitFor()
    assert.equal((await details()).expiresAt, null)
    user.assertNoComplaints()
  })

  test('duplicate the site and open the copy, and download all files', async () => {
    const { page, user, slug, part } = await openSettings()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      part('Copies').getByRole('link', { name: 'Download all files' }).click(),
    ])
    assert.equal(download.suggestedFilename(), `${slug}.tar.gz`)
    await part('Copies').getByRole('button', { name: 'Duplicate' }).click()
    await page.getByText(`This is the copy of ${slug}.`).waitFor()
    const copy = new URL(page.url()).pathname.split('/').at(-1)!
    assert.notEqual(copy, slug)
    assert.deepEqual((await client.details(copy)).files, (await client.details(slug)).files)
    user.assertNoComplaints()
  })

  test('delete the site once its name is typed', async () => {
    const { page, user, slug } = await openSettings()
    await page.getByRole('button', { name: 'Delete the site' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(`Type ${slug} to delete it`).fill('another')
    await dialog.getByLabel(`Type ${slug} to delete it`).press('Enter')
    await dialog.getByLabel(`Type ${slug} to delete it`).fill(slug)
    assert.equal((await client.details(slug)).slug, slug)
    await dialog.getByRole('button', { name: 'Delete for good' }).click()
    await page.waitForURL('**/sites')
    await page.getByText(`${slug} is deleted.`).waitFor()
    await assert.rejects(client.details(slug), { code: 'NOT_FOUND' })
    user.assertNoComplaints()
  })

  test('keep the input when it cannot be saved, and show the reason', async () => {
    const { page, part, slug } = await openSettings()
    await page.getByLabel('Title').fill('Loaves')
    await page.route('**/metadata', (route) => route.abort())
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The server does not answer.').waitFor()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Loaves')
    await page.unroute('**/metadata')
    await client.delete(slug)
    await page.getByRole('button', { name: 'Save' }).click()
    await part('When it is shared').getByText('It may have been deleted in another tab.').waitFor()
    assert.equal(await page.getByLabel('Title').inputValue(), 'Loaves')
  })

  test('cost two requests to open', async () => {
    const { page, open } = await openSettings()
    await page.getByText('The & bakery').waitFor()
    const requests: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/api/')) requests.push(request.method())
    })
    await open()
    await page.getByText('The & bakery').waitFor()
    assert.deepEqual(requests, ['GET', 'GET'])
  })
})
