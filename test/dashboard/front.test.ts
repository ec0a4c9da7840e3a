import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toFiles } from '../api/content.ts'
import { DESKTOP, PHONE } from '../support/browser.ts'
import { testVariant } from '../support/variants.ts'
import { dropOn, liveAt, pickFiles, visited } from './file-drop.ts'
import { disk, web } from './shared.ts'
import { newAddress, requiresBrowser, tabTo } from './web-fixture.ts'

/** Maximum bytes transferred in the first load, by type, with the headers of responses. */
const MAX_BYTES: Record<string, number> = { Script: 60_000, Font: 50_000 }

describe('the front page', requiresBrowser, () => {
  test('leads from a file to its published address', async () => {
    const { page, visitor } = await web.asVisitor('/', { viewport: PHONE })
    await page.getByRole('heading', { name: 'Drop a folder. Get a live site.', level: 1 }).waitFor()
    await page.getByText('Up to 1,000 files, 250 MB each, 1 GB total.').waitFor()
    await page
      .getByText(/You can also paste .* expire after 24 hours, and you can publish \S+ times an hour\./)
      .waitFor()
    await visitor.assertAccessibleInAllViewports()

    await pickFiles(page, disk.file('ahoy/index.html', '<h1>Ahoy</h1>'))
    await liveAt(page)
    await page.frameLocator('iframe').getByRole('heading', { name: 'Ahoy' }).waitFor()
    await page.getByText('Only this computer can open this address.').waitFor()
    await page.getByText(/^Expires in (24 h 0 min|23 h 59 min)\. Add your email/).waitFor()
    const keep = await page.getByRole('link', { name: 'Keep this site' }).boundingBox()
    assert.ok(keep!.y + keep!.height < PHONE.height, 'the main action is below the fold')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Your site is live')
    await visitor.assertAccessibleInAllViewports()

    await page.getByRole('button', { name: 'Publish another site' }).click()
    for (const [link, heading] of [
      ['Command line', 'With the command'],
      ['AI agent', 'Tell your coding agent'],
      ['API', 'In one request'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByRole('heading', { name: heading }).waitFor()
      await visitor.assertReadable()
    }
    visitor.assertNoComplaints()
  })

  testVariant('publishes an example site, and copies its URL', async () => {
    const { page } = await web.asVisitor('/', { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.getByRole('button', { name: 'Try an example site' }).click()
    const siteUrl = await liveAt(page)
    await page.frameLocator('iframe').getByRole('heading', { name: 'Marlow Street Bakery' }).waitFor()
    await page.getByRole('button', { name: 'Copy the URL' }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), siteUrl)
  })

  testVariant('offers only files on a phone, which has no folders', async () => {
    const { page } = await web.asVisitor('/', {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    })
    await page.getByText('Choose files to publish').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Choose a folder' }).count(), 0)
    await pickFiles(page, disk.file('phone.txt', 'from a phone'))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'phone.txt'), 'from a phone')
    const { host } = new URL(siteUrl)
    await page.getByRole('button', { name: 'Publish another site' }).click()
    await page.getByRole('button', { name: `Update ${host}` }).click()
    await page.getByText(`Choose the new version of ${host}`).waitFor()
  })

  test('is not animated where the browser asks for less motion', async () => {
    const { page } = await web.asVisitor('/', { viewport: DESKTOP })
    await page.locator('.drop-animation').waitFor()
    const count = () =>
      document.getAnimations().filter((one) => one.effect?.getTiming().iterations === Infinity).length
    assert.equal(await page.evaluate(count), 0)
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    assert.notEqual(await page.evaluate(count), 0)
  })

  test('explains at its top how to publish without scripts', async () => {
    const { page } = await web.asVisitor('/', { javaScriptEnabled: false })
    const heading = await page.getByRole('heading', { name: 'Drop a folder. Get a live site.' }).boundingBox()
    assert.ok(heading!.y < 200, `${heading!.y} px from the top`)
    for (const command of ['cli.tgz publish ./folder', 'api/v1/publish', 'expires after 24 hours'])
      assert.ok(await page.getByText(command).first().isVisible(), command)
  })

  test('can be used with the keyboard alone', async () => {
    const { page } = await web.asVisitor()
    const choosing = page.waitForEvent('filechooser')
    await page.goto(web.service.baseUrl)
    await tabTo(page, page.getByRole('button', { name: 'Choose files or a ZIP' }))
    await page.keyboard.press('Enter')
    await (await choosing).setFiles(disk.file('keys.txt', 'keys'))
    await liveAt(page)
    await tabTo(page, page.getByRole('button', { name: 'Copy the URL' }))
  })

  testVariant('asks for a sign-in where sites need an account, and then finishes publishing', async () => {
    await using other = await web.another({ ANONYMOUS: 'off' })
    await using visitor = await other.visitor()
    const { page } = visitor
    const account = await other.createAccount()
    assert.match(await visited(other.service.baseUrl), /Sign in with your email address\./)
    await page.goto(other.service.baseUrl)
    await page.getByText('Publish a static site in seconds. Sign in with your email address.').waitFor()
    await page.getByText('this server publishes sites of accounts only').waitFor()
    await visitor.assertReadableInAllViewports()
    await pickFiles(page, disk.file('team/index.html', 'Ours'))
    await page.getByText("and we'll finish publishing").waitFor()
    await visitor.assertReadable()
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await other.askForCode(page, account.email)
    await other.writeCode(page, account.email)
    assert.equal(await visited(await liveAt(page)), 'Ours')
    assert.equal((await account.client.list()).publishes.length, 1)
  })

  test('loads few bytes and sends no API request before a drop', async () => {
    // Options make a context of its own, with an empty cache.
    const { page } = await web.asVisitor(undefined, { locale: 'en-GB' })
    const session = await page.context().newCDPSession(page)
    const types = new Map<string, string>()
    const totals: Record<string, number> = { Script: 0, Font: 0 }
    const requests: string[] = []
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.startsWith('/api/')) requests.push(request.url())
    })
    await session.send('Network.enable')
    session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type))
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const type = types.get(requestId) ?? ''
      if (type in totals) totals[type]! += encodedDataLength
    })
    await page.goto(web.service.baseUrl, { waitUntil: 'networkidle' })
    for (const [type, bytes] of Object.entries(totals))
      assert.ok(bytes > 0 && bytes <= MAX_BYTES[type]!, `${type}: ${bytes} bytes`)
    assert.deepEqual(requests, [])
  })
})

describe('what was published from this browser', requiresBrowser, () => {
  testVariant(
    'is listed with its title and picture, and updated from the list of sites by a button or a drop',
    async () => {
      const { page, owner } = await web.asOwner()
      const { siteUrl, slug, claimToken, claimUrl, expiresAt } = await web.service.client().publish({
        files: toFiles({ 'index.html': '<title>Before</title>' }),
      })
      const site = { slug, siteUrl, claimToken, claimUrl, expiresAt }
      await page.evaluate(
        (kept) => localStorage.setItem('slipway.anonymous-sites', kept),
        JSON.stringify([site]),
      )
      const { host } = new URL(siteUrl)
      await page.goto(web.url('/sites'))
      await page.getByRole('button', { name: `Update ${host}` }).click()
      await page.getByText(`Drop the new version of ${host}`).waitFor()
      const stored = page.waitForResponse((one) => /\/thumbnail$/.test(one.url()))
      await pickFiles(
        page,
        disk.file('named/index.html', '<title>Marlow Street Bakery</title><h1>Bread</h1>'),
      )
      await liveAt(page)
      await stored

      await page.goto(web.url('/sites'))
      const row = page.getByRole('region', { name: 'Unclaimed sites' }).getByRole('listitem')
      await row.getByText('Marlow Street Bakery', { exact: true }).waitFor()
      await row.locator('.start-page img').waitFor()
      await owner.assertAccessible()
      await dropOn(page, '.published-here li', disk.file('dropped/index.html', '<title>Dropped</title>'))
      await page.getByRole('heading', { name: 'Update published' }).waitFor()
      assert.match(await visited(siteUrl), /Dropped/)
    },
  )

  test('can be updated by another drop, removed from the list, and kept after signing in', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('first/index.html', 'First'))
    const siteUrl = await liveAt(page)
    const { host } = new URL(siteUrl)

    const again = await page.context().newPage()
    await again.goto(web.service.baseUrl)
    const list = again.getByRole('region', { name: 'Unclaimed sites' })
    await list.getByRole('button', { name: `Update ${host}` }).click()
    await again.getByText(`Drop the new version of ${host}`).waitFor()
    await pickFiles(again, disk.file('second/index.html', 'Second'))
    await again.getByRole('heading', { name: 'Update published' }).waitFor()
    assert.equal(await liveAt(again), siteUrl)
    assert.equal(await visited(siteUrl), 'Second')

    await again.getByRole('button', { name: 'Publish another site' }).click()
    await list.getByRole('button', { name: `Remove from list: ${host}` }).click()
    await again.getByText('Removed from this list.').waitFor()
    assert.equal(await list.count(), 0)
    await again.getByRole('button', { name: 'Undo' }).click()

    await using owner = await web.owner()
    const kept = await page.evaluate(() => localStorage.getItem('slipway.anonymous-sites')!)
    await owner.page.evaluate((sites) => localStorage.setItem('slipway.anonymous-sites', sites), kept)
    await owner.page.goto(web.url('/sites'))
    await owner.page.getByRole('link', { name: `Keep ${host}` }).waitFor()
  })

  testVariant('is removed from the list when an update finds it deleted', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('lost/index.html', 'Lost'))
    const siteUrl = await liveAt(page)
    const { host } = new URL(siteUrl)
    const kept = await page.evaluate(() => localStorage.getItem('slipway.anonymous-sites'))
    const [{ slug, claimToken }] = JSON.parse(kept!)
    const key = await web.service.signIn(newAddress())
    await web.service.client(key).claim(slug, claimToken)
    await web.service.client(key).delete(slug)
    await page.getByRole('button', { name: 'Publish another site' }).click()
    await page.getByRole('button', { name: `Update ${host}` }).click()
    await pickFiles(page, disk.file('found/index.html', 'Found'))
    await page.getByRole('alert').waitFor()
    await page.getByRole('region', { name: 'Unclaimed sites' }).waitFor({ state: 'detached' })
  })
})

describe('the rate limit', requiresBrowser, () => {
  testVariant('is reported with the time of its reset, and signing in continues immediately', async () => {
    await using strict = await web.another({ RATE_ANONYMOUS: '1' })
    await using visitor = await strict.visitor()
    const { page } = visitor
    await page.goto(strict.service.baseUrl)
    await pickFiles(page, disk.file('one.txt', 'one'))
    await liveAt(page)
    await page.getByRole('button', { name: 'Publish another site' }).click()
    await pickFiles(page, disk.file('two.txt', 'two'))
    await page.getByText('Hourly limit reached (1 request).').waitFor()
    await page.getByText(/^Try again at .*\d\d:00.* Your sites stay online\.$/).waitFor()
    const way = page.getByRole('main').getByRole('link', { name: 'Sign in' })
    await way.waitFor()
    await visitor.assertReadable()

    const email = newAddress()
    await way.click()
    await strict.askForCode(page, email)
    await page.keyboard.type(await strict.service.mailedCode(email))
    assert.equal(await visited(await liveAt(page), 'two.txt'), 'two')
  })
})
