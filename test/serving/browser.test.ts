import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { noise } from '../edge/fixture.ts'
import { ContextPool, PHONE } from '../support/browser.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

// Browser features that depend on the server: range requests for media, service workers, streaming compilation of
// WebAssembly, and the password form. Sites without index.html get a generated page (contract, "Serving", 5).

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

async function publish(contents: Contents, options: { spaMode?: boolean } = {}): Promise<string> {
  const { siteUrl } = await service.client().publish({ files: toFiles(contents), ...options })
  return siteUrl
}

function html(body: string, head = ''): string {
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<link rel="icon" href="data:,">\n${head}\n${body}\n`
}

describe('a browser', inBrowser, () => {
  test('plays a recording, and seeks in it with range requests', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const recording = wav(80)
    const siteUrl = await publish({
      'index.html': html('<audio src="speech.wav" muted preload="metadata"></audio>'),
      'speech.wav': recording,
    })
    const parts: { range: string | undefined; status: number }[] = []
    // The event has enough data; a promise such as response.body() would reject when the test ends.
    page.on('response', (response) => {
      if (!response.url().endsWith('speech.wav')) return
      parts.push({ range: response.headers()['content-range'], status: response.status() })
    })
    await page.goto(siteUrl)
    const played = await page.evaluate(async () => {
      const element = document.querySelector('audio')!
      const event = (name: string) =>
        new Promise((resolve) => element.addEventListener(name, resolve, { once: true }))
      if (element.readyState < 1) await event('loadedmetadata')
      await element.play()
      await event('timeupdate')
      element.pause()
      const times: number[] = []
      for (const time of [75.2, 20.2, 60.2]) {
        element.currentTime = time
        await event('seeked')
        times.push(element.currentTime)
      }
      return { duration: element.duration, times }
    })
    assert.deepEqual(played, { duration: 80, times: [75.2, 20.2, 60.2] })
    assert.ok(parts.length > 1 && parts.every(({ status }) => status === 206), JSON.stringify(parts))
    const beginnings = parts.map(({ range }) => Number(/^bytes (\d+)-/.exec(range ?? '')?.[1]))
    assert.ok(
      beginnings.some((first) => first > recording.length / 2),
      `${beginnings} of ${recording.length}`,
    )
  })

  test('installs an application that opens offline', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const siteUrl = await publish({
      'index.html': html('<h1>Loading</h1>', '<script src="app.js" defer></script>'),
      'app.js': `navigator.serviceWorker.register('worker.js').then(() => navigator.serviceWorker.ready).then(async () => {
        document.querySelector('h1').textContent = (await (await fetch('data/words.json')).json()).greeting
      })`,
      'data/words.json': '{ "greeting": "Hello from the application" }',
      'worker.js': `const all = ['./', 'app.js', 'data/words.json']
        addEventListener('install', (event) => event.waitUntil(caches.open('1').then((cache) => cache.addAll(all))))
        addEventListener('activate', (event) => event.waitUntil(clients.claim()))
        addEventListener('fetch', (event) => event.respondWith(
          caches.match(event.request).then((kept) => kept ?? fetch(event.request))))`,
    })
    const greeting = page.getByRole('heading', { name: 'Hello from the application' })
    await page.goto(siteUrl)
    await greeting.waitFor()
    await page.context().setOffline(true)
    const sources: boolean[] = []
    page.on('response', (response) => sources.push(response.fromServiceWorker()))
    try {
      await page.reload()
      await greeting.waitFor()
      assert.deepEqual([...new Set(sources)], [true])
    } finally {
      await page.context().setOffline(false)
    }
    visitor.assertNoComplaints()
  })

  test('runs modules, and compiles WebAssembly while it downloads', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const siteUrl = await publish({
      'index.html': html('<p>?</p>', '<script type="module" src="main.mjs"></script>'),
      'main.mjs': `import { six } from './lib/six.js'
        import words from './words.json' with { type: 'json' }
        const { instance } = await WebAssembly.instantiateStreaming(fetch('add.wasm'))
        document.querySelector('p').textContent = words.sum + ' ' + instance.exports.add(six, 36)`,
      'lib/six.js': 'export const six = 6',
      'words.json': '{ "sum": "The sum is" }',
      'add.wasm': ADDITION,
    })
    await page.goto(siteUrl)
    await page.getByText('The sum is 42').waitFor()
    visitor.assertNoComplaints()
  })

  test('opens the requested page of a password-protected site after the password is entered', async () => {
    await using visitor = await contexts.visitor()
    const { page } = visitor
    const key = await service.signIn('closed@example.com')
    const contents = { 'index.html': html('<h1>Home</h1>'), 'plans/index.html': html('<h1>Plans</h1>') }
    const { slug, siteUrl } = await service.client(key).publish({ files: toFiles(contents) })
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
  })
})

interface PagelessSite {
  contents: Contents
  title?: string
  description?: string
  /** Asserts that the page shows or offers the published files. */
  check(page: Page): Promise<void>
}

/** A recording of noise, with 64,000 one-byte samples per second. */
function wav(seconds: number): Buffer {
  const head = Buffer.from(
    'RIFF....WAVEfmt \x10\0\0\0\x01\0\x01\0....' + '....\x01\0\x08\0data....',
    'latin1',
  )
  const samples = noise(seconds * 64_000)
  head.writeUInt32LE(head.length - 8 + samples.length, 4)
  for (const at of [24, 28]) head.writeUInt32LE(64_000, at)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
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
  'a sound': {
    contents: { 'a noise.wav': wav(1) },
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

/** A WebAssembly module that exports `add`. */
const ADDITION = Buffer.from(
  '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
  'hex',
)
