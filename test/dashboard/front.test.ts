import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PHONE } from '../support/browser.ts'
import { liveAt, pickFiles, useDisk, visited } from './file-drop.ts'
import { newAddress, requiresBrowser, tabTo, useWeb } from './web-fixture.ts'

/** Maximum compressed size of the scripts of the first load. */
const SCRIPT_BYTES = 60 * 1024

const web = useWeb()
const disk = useDisk()

describe('the front page', requiresBrowser, () => {
  test('leads from a file to its published address', async () => {
    const { page, visitor } = await web.asVisitor('/', { viewport: PHONE })
    await page.getByRole('heading', { name: 'Drop a folder, get an address.', level: 1 }).waitFor()
    await page.getByText('Up to 1,000 files, 250 MiB a file and 1 GiB in all.').waitFor()
    await visitor.assertAccessibleInAllViewports()

    await pickFiles(page, disk.file('ahoy/index.html', '<h1>Ahoy</h1>'))
    const siteUrl = await liveAt(page)
    await page.frameLocator('iframe').getByRole('heading', { name: 'Ahoy' }).waitFor()
    await page.getByRole('img', { name: `QR code of ${siteUrl}` }).waitFor()
    await page.getByText(/^It is gone in (24 h 0 min|23 h 59 min), unless you claim it\.$/).waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent === 'It is live.')
    await visitor.assertAccessibleInAllViewports()

    for (const [link, heading] of [
      ['From a terminal', 'With the command'],
      ['From an agent', 'Tell your coding agent'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByRole('heading', { name: heading }).waitFor()
      await visitor.assertAccessibleInAllViewports()
    }
    visitor.assertNoComplaints()
  })

  test('copies the address', async () => {
    const { page } = await web.asVisitor('/', { permissions: ['clipboard-read', 'clipboard-write'] })
    await pickFiles(page, disk.file('copied.txt', 'copied'))
    const siteUrl = await liveAt(page)
    await page.getByRole('button', { name: 'Copy the address' }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), siteUrl)
  })

  test('offers only files on a phone, which has no folders', async () => {
    const { page } = await web.asVisitor('/', {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    })
    await page.getByText('Choose what to publish').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Choose a folder' }).count(), 0)
    await pickFiles(page, disk.file('phone.txt', 'from a phone'))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'phone.txt'), 'from a phone')
    const { host } = new URL(siteUrl)
    await page.getByRole('button', { name: `Update ${host}` }).click()
    await page.getByText(`Choose the new version of ${host}`).waitFor()
  })

  test('explains at its top how to publish without scripts', async () => {
    const { page } = await web.asVisitor('/', { javaScriptEnabled: false })
    const heading = await page.getByRole('heading', { name: 'Drop a folder, get an address.' }).boundingBox()
    assert.ok(heading!.y < 100, `${heading!.y} px from the top`)
  })

  test('can be used with the keyboard alone', async () => {
    const { page } = await web.asVisitor()
    const choosing = page.waitForEvent('filechooser')
    await page.goto(web.service.baseUrl)
    await tabTo(page, page.getByRole('button', { name: 'Choose files or a zip' }))
    await page.keyboard.press('Enter')
    await (await choosing).setFiles(disk.file('keys.txt', 'keys'))
    await liveAt(page)
    await tabTo(page, page.getByRole('button', { name: 'Copy the address' }))
  })

  test('loads few bytes and sends no API request before a drop', async () => {
    const { page } = await web.asVisitor()
    const session = await page.context().newCDPSession(page)
    const scripts = new Map<string, number>()
    const requests: string[] = []
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.startsWith('/api/')) requests.push(request.url())
    })
    await session.send('Network.enable')
    const isScript = new Set<string>()
    session.on(
      'Network.responseReceived',
      ({ requestId, type }) => type === 'Script' && isScript.add(requestId),
    )
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      scripts.set(requestId, encodedDataLength)
    })
    await page.goto(web.service.baseUrl, { waitUntil: 'networkidle' })
    const carried = [...scripts].filter(([id]) => isScript.has(id)).map(([, bytes]) => bytes)
    const total = carried.reduce((sum, bytes) => sum + bytes, 0)
    assert.ok(carried.length > 0 && total <= SCRIPT_BYTES, `${total} bytes of scripts`)
    assert.deepEqual(requests, [])
  })
})

describe('what was published from this browser', requiresBrowser, () => {
  test('can be updated by another drop, claimed, and removed from the list', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('first/index.html', 'First'))
    const siteUrl = await liveAt(page)
    const { host } = new URL(siteUrl)

    const again = await page.context().newPage()
    await again.goto(web.service.baseUrl)
    const list = again.getByRole('region', { name: 'Published from this browser' })
    await list.getByRole('button', { name: `Update ${host}` }).click()
    await again.getByText(`Drop the new version of ${host}`).waitFor()
    await pickFiles(again, disk.file('second/index.html', 'Second'))
    await again.getByRole('heading', { name: 'The new version is live.' }).waitFor()
    assert.equal(await liveAt(again), siteUrl)
    assert.equal(await visited(siteUrl), 'Second')

    await list.getByRole('button', { name: `Forget ${host}` }).click()
    await again.getByText(`${host} is forgotten here.`).waitFor()
    assert.equal(await list.count(), 0)
    await again.getByRole('button', { name: 'Undo' }).click()

    await using owner = await web.owner()
    const kept = await page.evaluate(() => localStorage.getItem('slipway.anonymous-sites')!)
    await owner.page.evaluate((sites) => localStorage.setItem('slipway.anonymous-sites', sites), kept)
    await owner.page.goto(web.url('/sites'))
    await owner.page.getByRole('link', { name: `Claim ${host}` }).waitFor()

    await list.getByRole('link', { name: `Claim ${host}` }).click()
    const email = newAddress()
    await web.askForCode(again, email)
    await again.keyboard.type(await web.service.mailedCode(email))
    await again.waitForURL('**/sites/*')
    await again.getByRole('link', { name: 'Slipway', exact: true }).click()
    await again.getByText('What you publish here belongs to your account.').waitFor()
    assert.equal(await list.count(), 0)
  })

  test('is removed from the list when an update finds it deleted', async () => {
    const { page } = await web.asVisitor('/')
    await pickFiles(page, disk.file('lost/index.html', 'Lost'))
    const siteUrl = await liveAt(page)
    const { host } = new URL(siteUrl)
    const kept = await page.evaluate(() => localStorage.getItem('slipway.anonymous-sites'))
    const [{ slug, claimToken }] = JSON.parse(kept!)
    const key = await web.service.signIn(newAddress())
    await web.service.client(key).claim(slug, claimToken)
    await web.service.client(key).delete(slug)
    await page.getByRole('button', { name: `Update ${host}` }).click()
    await pickFiles(page, disk.file('found/index.html', 'Found'))
    await page.getByRole('alert').waitFor()
    await page.getByRole('region', { name: 'Published from this browser' }).waitFor({ state: 'detached' })
  })
})

describe('the rate limit', requiresBrowser, () => {
  test('is reported with the time of its reset, and signing in continues immediately', async () => {
    await using strict = await web.another({ RATE_ANONYMOUS: '1' })
    await using visitor = await strict.visitor()
    const { page } = visitor
    await page.goto(strict.service.baseUrl)
    await pickFiles(page, disk.file('one.txt', 'one'))
    await liveAt(page)
    await page.getByRole('button', { name: 'Publish something else' }).click()
    await pickFiles(page, disk.file('two.txt', 'two'))
    await page.getByText('The 1 requests of this hour are used.').waitFor()
    await page.getByText(/^It goes on at .*\d\d:00.* What is live stays live\.$/).waitFor()
    const way = page.getByRole('main').getByRole('link', { name: 'sign in' })
    await way.waitFor()
    await visitor.assertAccessible()

    const email = newAddress()
    await way.click()
    await strict.askForCode(page, email)
    await page.keyboard.type(await strict.service.mailedCode(email))
    assert.equal(await visited(await liveAt(page), 'two.txt'), 'two')
  })
})
