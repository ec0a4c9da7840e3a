import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../service.ts'
import { ContextPool, PHONE } from '../support/browser.ts'
import { requires } from '../tools/part.ts'

// Sites without index.html get a generated page (contract, "Serving", 5).

const inBrowser = requires('chromium')

interface PagelessSite {
  contents: Contents
  title?: string
  description?: string
  /** Asserts that the page shows or offers the published files. */
  check(page: Page): Promise<void>
}

/** A second of silence, 8,000 one-byte samples. */
const SILENCE = Buffer.concat([
  Buffer.from(
    'RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x40\x1f\0\0',
    'latin1',
  ),
  Buffer.alloc(8000, 128),
])

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
  'a sound': {
    contents: { 'silence.wav': SILENCE },
    async check(page) {
      const audio = page.locator('audio')
      await page.waitForFunction(() => document.querySelector('audio')!.readyState > 0)
      assert.equal(await audio.evaluate((element: HTMLAudioElement) => element.duration), 1)
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
