import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import type { CreateResponse } from '../../protocol/api/publish.schema.ts'
import { type BrowserUser, DESKTOP, PHONE } from '../support/browser.ts'
import { pluck } from '../support/pluck.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'
import { requires } from '../tools/part.ts'
import { liveAt, pickFiles, toUpload, visited } from './file-drop.ts'
import { disk, web } from './shared.ts'
import { newAddress, requiresBrowser, tabTo } from './web-fixture.ts'

/** Maximum bytes transferred in the first load, by type, with the headers of responses. */
const MAX_BYTES: Record<string, number> = { Script: 60_000, Font: 50_000 }

describe('the front page', requiresBrowser, () => {
  let visitor: BrowserUser
  let page: Page
  const loaded: Record<string, number> = { Script: 0, Font: 0 }
  const apiRequests: string[] = []
  web.openForSuite(async () => {
    // Options make a context of its own, with an empty cache.
    visitor = await web.visitor({ locale: 'en-GB', viewport: PHONE })
    page = visitor.page
    const session = await page.context().newCDPSession(page)
    const types = new Map<string, string>()
    const onRequest = (url: string) => {
      if (new URL(url).pathname.startsWith('/api/')) apiRequests.push(url)
    }
    page.on('request', (request) => onRequest(request.url()))
    await session.send('Network.enable')
    session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type))
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const type = types.get(requestId) ?? ''
      if (type in loaded) loaded[type]! += encodedDataLength
    })
    await page.goto(web.service.baseUrl, { waitUntil: 'networkidle' })
    await session.detach()
    page.removeAllListeners('request')
    return visitor
  })
  /** Shows the start of the front page again after the test before. */
  const begin = async () => {
    const again = page.getByRole('button', { name: 'Publish another site' })
    if ((await again.count()) > 0) await again.click()
  }
  /** The texts with a copy button of a tab. */
  const copyTexts = async (tab: string): Promise<string[]> => {
    await begin()
    await page.getByRole('link', { name: tab, exact: true }).click()
    await page.locator('pre').first().waitFor()
    return page.locator('pre').allTextContents()
  }

  test('loads few bytes and sends no API request before a drop', () => {
    for (const [type, bytes] of Object.entries(loaded))
      assert.ok(bytes > 0 && bytes <= MAX_BYTES[type]!, `${type}: ${bytes} bytes`)
    assert.deepEqual(apiRequests, [])
  })

  test('is not animated where the browser asks for less motion', async () => {
    await begin()
    await page.setViewportSize(DESKTOP)
    await page.locator('.drop-animation').waitFor()
    const count = () =>
      document.getAnimations().filter((one) => one.effect?.getTiming().iterations === Infinity).length
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    assert.notEqual(await page.evaluate(count), 0)
    await page.emulateMedia({ reducedMotion: 'reduce' })
    assert.equal(await page.evaluate(count), 0)
    await page.setViewportSize(PHONE)
  })

  test('leads from a file to its published address, with the keyboard alone', async () => {
    await begin()
    await page.getByRole('heading', { name: 'Drop a folder. Get a live site.', level: 1 }).waitFor()
    await page.getByText('Up to 1,000 files, 262 MB each, 1 GB total.').waitFor()
    await page
      .getByText(/You can also paste .* expire after 24 hours, and you can publish \S+ times an hour\./)
      .waitFor()
    await visitor.assertAccessibleInAllViewports()

    const choosing = page.waitForEvent('filechooser')
    await tabTo(page, page.getByRole('button', { name: 'Choose files or a ZIP' }))
    await page.keyboard.press('Enter')
    await (await choosing).setFiles(disk.file('ahoy/index.html', '<h1>Ahoy</h1>'))
    await liveAt(page)
    await page.frameLocator('iframe').getByRole('heading', { name: 'Ahoy' }).waitFor()
    await page.getByText('Only this computer can open this address.').waitFor()
    await page.getByText(/^Expires in (24 h|23 h 5\d min)\. Add your email/).waitFor()
    const keep = await page.getByRole('button', { name: 'Keep this site' }).boundingBox()
    assert.ok(keep!.y + keep!.height < PHONE.height, 'the main action is below the fold')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Your site is live')
    await tabTo(page, page.getByRole('button', { name: 'Copy the URL' }))
    await visitor.assertReadableInAllViewports()
  })

  test('updates what was published from this browser by another drop, and removes it from the list', async () => {
    await begin()
    await pickFiles(page, disk.file('first/index.html', 'First'))
    const siteUrl = await liveAt(page)
    const { host } = new URL(siteUrl)
    await begin()
    const list = page.getByRole('region', { name: 'Unclaimed sites' })
    await list.getByRole('button', { name: `Update ${host}` }).click()
    await page.getByText(`Drop the new version of ${host}`).waitFor()
    await pickFiles(page, disk.file('second/index.html', 'Second'))
    await page.getByRole('heading', { name: 'Update published' }).waitFor()
    assert.deepEqual([await liveAt(page), await visited(siteUrl)], [siteUrl, 'Second'])

    await begin()
    await list.getByRole('button', { name: `Remove from list: ${host}` }).click()
    await page.getByText('Removed from this list.').waitFor()
    await page.getByText(host).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await list.getByRole('button', { name: `Update ${host}` }).waitFor()

    await list.getByRole('button', { name: `Delete ${host}` }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await visited(siteUrl), 'Second')

    const { page: own } = await web.asOwner()
    const kept = await page.evaluate(() => localStorage.getItem('slipway.anonymous-sites')!)
    await own.evaluate((sites) => localStorage.setItem('slipway.anonymous-sites', sites), kept)
    await own.goto(web.url('/sites'))
    await own.getByRole('link', { name: `Keep ${host}` }).waitFor()

    await list.getByRole('button', { name: `Delete ${host}` }).click()
    await page.getByText('goes offline immediately').waitFor()
    await visitor.assertReadable()
    await page.getByRole('button', { name: 'Delete site' }).click()
    await page.getByText(`${host} deleted.`).waitFor()
    await list.getByRole('link', { name: `Keep ${host}` }).waitFor({ state: 'detached' })
    assert.match(await visited(siteUrl), /404|not found/i)
  })

  test('has the command for this server', async () => {
    assert.deepEqual(await copyTexts('Command line'), [`npx ${web.service.baseUrl}/cli.tgz publish ./folder`])
    await visitor.assertReadable()
  })

  test(
    'has a curl call that publishes a folder, and three that publish a page',
    requires('curl'),
    async () => {
      const [archive = '', create = '', upload = '', finalize = ''] = await copyTexts('API')
      await visitor.assertReadable()
      const folder = await folderWith('<h1>Hello</h1>')
      const site = JSON.parse(await shell(archive, folder)) as CreateResponse
      assert.equal(await visited(site.siteUrl), '<h1>Hello</h1>')

      const { siteUrl, upload: plan } = JSON.parse(await shell(create, folder)) as CreateResponse
      await shell(upload.replace('URL', plan.uploads[0]?.url ?? ''), folder)
      await shell(
        finalize.replace('FINALIZE_URL', plan.finalizeUrl).replace('VERSION_ID', plan.versionId),
        folder,
      )
      assert.match(await visited(siteUrl), /Hello/)
    },
  )

  test(
    'has a text for agents, whose commands publish a folder and update it, without its secrets',
    requires('curl'),
    async () => {
      const [text = ''] = await copyTexts('AI agent')
      const [publish = '', update = '', ...more] = text.split('\n').filter((line) => line.startsWith('tar '))
      assert.deepEqual(more, [])
      const folder = await folderWith('<h1>Hello</h1>')
      await shell(
        'cd folder && echo SECRET=1 | tee .env > .env.local && mkdir .git && echo a > .git/HEAD',
        folder,
      )
      const answer = JSON.parse(await shell(publish.replaceAll('FOLDER', 'folder'), folder)) as CreateResponse
      const { slug, siteUrl, claimToken = '', claimUrl = '' } = answer
      assert.equal(await visited(siteUrl), '<h1>Hello</h1>')
      await shell("printf '<h1>Hello again</h1>' > folder/index.html", folder)
      const filled = update.replaceAll('FOLDER', 'folder').replace('SLUG', slug)
      await shell(filled.replace('CLAIM_TOKEN', claimToken), folder)
      assert.equal(await visited(siteUrl), '<h1>Hello again</h1>')
      const key = await web.service.signIn(`${slug}@example.test`)
      await web.service.client(key).claim(slug, new URL(claimUrl).searchParams.get('token')!)
      const { files } = await web.service.client(key).details(slug)
      assert.deepEqual(pluck(files, 'path'), ['index.html'])
      const document = await visited(web.url('/api/openapi.json'))
      assert.ok(text.includes(web.url('/api/openapi.json')))
      for (const word of ['siteUrl', 'claimUrl', 'slug', 'claimToken'])
        assert.ok(text.includes(word) && document.includes(word), word)
    },
  )

  test('links to the API reference, which is readable, as is the page for an unknown path', async () => {
    await copyTexts('API')
    await page.getByRole('main').getByRole('link', { name: 'API reference' }).click()
    const heading = page.getByRole('heading', { name: 'API reference', level: 1 })
    await heading.waitFor()
    assert.ok((await heading.boundingBox())!.x >= 16, 'the text touches the edge of the screen')
    // The page of all details is so long that each check takes seconds of CPU time.
    const opened = ALL_VARIANTS ? page.locator('details') : page.locator('details').nth(1)
    await opened.evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', '')
    })
    await visitor.assertReadableInAllViewports()
    const answer = await page.goto(web.url('/no/such/page'))
    assert.equal(answer?.status(), 404)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await visitor.assertReadable()
    await page.goto(web.url('/'))
  })

  test('leads from its footer to the status of the server', async () => {
    await page.getByRole('contentinfo').getByRole('link', { name: 'Status' }).click()
    await page.getByRole('heading', { name: 'Everything works' }).waitFor()
    await page.goto(web.url('/'))
  })

  testVariant('works whatever the storage of the browser contains', async () => {
    const site = { slug: 'a', claimToken: 'b', expiresAt: '2999-01-01T00:00:00.000Z' }
    for (const rubbish of [
      '[',
      'null',
      '[1, "two", [], {}, null]',
      JSON.stringify([{ ...site, siteUrl: 'https://', claimUrl: 'http://[' }]),
      JSON.stringify([
        { ...site, siteUrl: 'javascript:1', claimUrl: 'https://a.test/' },
        { ...site, siteUrl: 'https://a.test/', claimUrl: 'javascript:1' },
      ]),
    ]) {
      await page.evaluate((text) => {
        localStorage.setItem('slipway.anonymous-sites', text)
        for (const name of ['slipway.pending', 'slipway.code-sent']) sessionStorage.setItem(name, text)
      }, rubbish)
      await page.goto(web.url('/'))
      await page.getByText('Drop a folder, files or a ZIP here').waitFor()
      assert.equal(await page.getByText('Unclaimed sites').count(), 0)
      await page.getByLabel('Files or a zip').setInputFiles([toUpload('index.html', rubbish)])
      assert.equal(await visited(await liveAt(page)), rubbish)
    }
  })
})

test('the front page explains at its top how to publish without scripts', requiresBrowser, async () => {
  const { page } = await web.asVisitor('/', { javaScriptEnabled: false })
  const heading = await page.getByRole('heading', { name: 'Drop a folder. Get a live site.' }).boundingBox()
  assert.ok(heading!.y < 200, `${heading!.y} px from the top`)
  for (const command of ['cli.tgz publish ./folder', 'api/v1/publish', 'expires after 24 hours'])
    assert.ok(await page.getByText(command).first().isVisible(), command)
})

describe('a sign-in on the front page', requiresBrowser, () => {
  for (const [title, settings, question] of [
    ['once the hourly limit is reached', { RATE_ANONYMOUS: '1' }, 'Hourly limit reached (1 request).'],
    ['where sites need an account', { ANONYMOUS: 'off' }, "and we'll finish publishing"],
  ] as const)
    testVariant(`finishes publishing with the same files, ${title}`, async () => {
      await using other = await web.another(settings)
      await using visitor = await other.visitor()
      const { page } = visitor
      await page.goto(other.service.baseUrl)
      if ('RATE_ANONYMOUS' in settings) {
        await pickFiles(page, disk.file('one.txt', 'one'))
        await liveAt(page)
        await page.getByRole('button', { name: 'Publish another site' }).click()
      }
      await pickFiles(page, disk.file('two.txt', 'two'))
      await page.getByText(question).waitFor()
      await visitor.assertReadable()
      const email = newAddress()
      await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
      await other.askForCode(page, email)
      await other.writeCode(page, email)
      assert.equal(await visited(await liveAt(page), 'two.txt'), 'two')
    })
})

async function folderWith(page: string): Promise<string> {
  const folder = mkdtempSync(join(web.service.data, 'curl-'))
  await shell(`mkdir folder && printf '${page}' > folder/index.html`, folder)
  return folder
}

async function shell(command: string, folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: folder })
  return stdout
}
