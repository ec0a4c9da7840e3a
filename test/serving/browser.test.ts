import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Frame, Page } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { ContextPool, PHONE } from '../support/browser.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

// The pages that the service generates: the password form, and the page of a site without index.html (contract,
// "Serving", 5).

/** The rules of docs/publish.md. */
const UNITY_HEADERS = readUnityHeaders()

const inBrowser = requires('chromium')

let service: RunningService
let contexts: ContextPool

before(async () => {
  if (inBrowser.skip) return
  service = await startTestService()
  contexts = await ContextPool.open()
})

after(async () => {
  await contexts?.[Symbol.asyncDispose]()
  await service?.[Symbol.asyncDispose]()
})

function readUnityHeaders(): string {
  const serving = readFileSync(new URL('../../docs/serving.md', import.meta.url), 'utf8')
  return /^```\n(\/Build\/[\s\S]*?)^```$/m.exec(serving)![1]!
}

function html(body: string): string {
  return `<!doctype html>\n<html lang="en">\n<link rel="icon" href="data:,">\n${body}\n`
}

describe('a browser', inBrowser, () => {
  test('opens the requested page of a password-protected site, also by a redirect to another host, after the password is entered', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const key = await service.signIn('closed@example.com')
    const contents = { 'index.html': html('<h1>Home</h1>'), 'plans/index.html': html('<h1>Plans</h1>') }
    const { siteUrl: elsewhere } = await service.client(key).publish({ files: toFiles(contents) })
    const _redirects = `/go ${elsewhere}plans/ 302`
    const { slug, siteUrl } = await service
      .client(key)
      .publish({ files: toFiles({ ...contents, _redirects }) })
    await service.client(key).setMetadata(slug, { password: 'open it' })
    const response = await page.goto(`${siteUrl}plans/?year=2031`)
    assert.equal(response?.status(), 401)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button').click()
    await page.getByLabel('Password').fill('open it')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Plans' }).waitFor()
    assert.equal(page.url(), `${siteUrl}plans/?year=2031`)
    await page.goto(siteUrl)
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await service.client(key).setMetadata(slug, { password: 'another' })
    assert.equal((await page.reload())?.status(), 401)
    await page.goto(`${siteUrl}go`)
    await page.getByLabel('Password').fill('another')
    await page.getByRole('button').click()
    await page.waitForURL(`${elsewhere}plans/`)
  })
})

describe('a browser', inBrowser, () => {
  test('runs the precompressed scripts of a Unity build', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const scripts = ['Build/game.loader.js', 'Build/game.framework.js.gz', 'Build/game.framework.js.br']
    const tags = scripts.map((path) => `<script src="${path}"></script>`).join('')
    const add = (what: string) => `document.title += ' ${what}'`
    const contents = {
      'index.html': html(`<title>Runs</title>${tags}`),
      'Build/game.loader.js': add('loader'),
      'Build/game.framework.js.gz': gzipSync(add('gzip')),
      'Build/game.framework.js.br': brotliCompressSync(add('br')),
      _headers: UNITY_HEADERS,
    }
    const { siteUrl, warnings } = await service.client().publish({ files: toFiles(contents) })
    assert.deepEqual(warnings ?? [], [])
    await page.goto(siteUrl)
    assert.equal(await page.title(), 'Runs loader gzip br')
  })
})

interface PagelessSite {
  contents: Contents
  title?: string
  description?: string
  /** Asserts that the page shows or offers the published files. */
  check(page: Page): Promise<void>
}

const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200"/></svg>'

const SITES: Record<string, PagelessSite> = {
  'a picture': {
    contents: { 'at the sea.svg': PICTURE },
    title: 'At the sea',
    description: 'On the last evening',
    async check(page) {
      const width = await page.locator('img').evaluate(async (image: HTMLImageElement) => {
        await image.decode()
        return image.naturalWidth
      })
      assert.equal(width, 320)
      await page.getByText('On the last evening').waitFor()
    },
  },
  'a text': {
    contents: { 'notes.txt': 'What we spoke of\n<b>in so many words</b>\n' },
    async check(page) {
      const frame = (await (await page
        .locator('iframe, object, embed')
        .elementHandle())!.contentFrame()) as Frame
      await frame.getByText('<b>in so many words</b>').waitFor()
    },
  },
  'anything else': {
    contents: { 'last week.zip': Buffer.alloc(5000, 7) },
    async check(page) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).last().click(),
      ])
      assert.equal(download.suggestedFilename(), 'last week.zip')
    },
  },
  'several files': {
    contents: { 'a.txt': 'one', 'more/größe & <b>.txt': 'two', 'more/z.bin': Buffer.alloc(1_500_000) },
    title: 'Shared <i>files</i>',
    async check(page) {
      await page.getByText('1.5 MB', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'größe & <b>.txt' }).click()
      await page.getByText('two').waitFor()
    },
  },
}

for (const [kind, { contents, check, ...metadata }] of Object.entries(SITES)) {
  test(`a site of ${kind} can be read and used`, inBrowser, async () => {
    const { siteUrl } = await service.client().publish({ files: toFiles(contents), ...metadata })
    await using visitor = await contexts.visitor({ viewport: PHONE })
    const { page } = visitor
    const title = metadata.title ?? Object.keys(contents)[0]!
    await page.goto(siteUrl)
    await page.getByRole('heading', { name: title, exact: true, level: 1 }).waitFor()
    assert.ok((await page.title()).includes(title))
    await visitor.assertReadableInAllViewports()
    await check(page)
    // Browsers request an icon that was not published.
    const complaints = visitor.complaints.filter((text) => !text.includes('404'))
    assert.deepEqual(complaints, [])
  })
}
