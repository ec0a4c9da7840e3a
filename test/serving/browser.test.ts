import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Contents, toFiles } from '../api/content.ts'
import { type RunningService, startTestService } from '../service.ts'
import { type Browser, BrowserUser, openBrowser } from '../support/browser.ts'
import { requires } from '../tools/part.ts'
import { webm } from './webm.ts'

// Browser features that depend on the server: range requests for videos, service workers, streaming compilation of
// WebAssembly, and security headers.

const inBrowser = requires('chromium')

let service: RunningService
let browser: Browser

before(async () => {
  if (inBrowser.skip) return
  service = await startTestService()
  browser = await openBrowser()
})

after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await service?.[Symbol.asyncDispose]()
})

async function publish(contents: Contents, options: { spaMode?: boolean } = {}): Promise<string> {
  const { siteUrl } = await service.client().publish({ files: toFiles(contents), ...options })
  return siteUrl
}

function html(body: string, head = ''): string {
  return `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<link rel="icon" href="data:,">\n${head}\n${body}\n`
}

/** Opens a page in a new browser context. */
function visit(): Promise<BrowserUser> {
  return BrowserUser.open(browser.page.context().browser()!)
}

describe('a browser', inBrowser, () => {
  test('plays a video, and seeks in it with range requests', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const video = webm(await pictures(page, 60), { width: 640, height: 360, perSecond: 1 })
    const siteUrl = await publish({
      'index.html': html('<video src="film.webm" muted preload="metadata"></video>'),
      'film.webm': video,
    })
    const parts: { range: string | undefined; status: number }[] = []
    // The event has enough data; a promise such as response.body() would reject when the test ends.
    page.on('response', (response) => {
      if (!response.url().endsWith('film.webm')) return
      parts.push({ range: response.headers()['content-range'], status: response.status() })
    })
    await page.goto(siteUrl)
    const played = await page.evaluate(async () => {
      const element = document.querySelector('video')!
      const event = (name: string) =>
        new Promise((resolve) => element.addEventListener(name, resolve, { once: true }))
      if (element.readyState < 1) await event('loadedmetadata')
      await element.play()
      await event('timeupdate')
      element.pause()
      const seeks: { time: number; shade: number }[] = []
      for (const time of [55.2, 20.2, 40.2]) {
        element.currentTime = time
        await event('seeked')
        const canvas = new OffscreenCanvas(640, 360).getContext('2d')!
        canvas.drawImage(element, 0, 0)
        seeks.push({ time: element.currentTime, shade: canvas.getImageData(20, 20, 1, 1).data[0]! })
      }
      return { duration: element.duration, seeks }
    })
    assert.equal(played.duration, 60)
    for (const { time, shade } of played.seeks) {
      const picture = Math.floor(time)
      assert.ok(Math.abs(shade - picture * 4) <= 3, `at ${time} s: picture ${shade / 4}`)
    }
    assert.deepEqual(
      played.seeks.map(({ time }) => time),
      [55.2, 20.2, 40.2],
    )
    assert.ok(parts.length > 1 && parts.every(({ status }) => status === 206), JSON.stringify(parts))
    const beginnings = parts.map(({ range }) => Number(/^bytes (\d+)-/.exec(range ?? '')?.[1]))
    assert.ok(
      beginnings.some((first) => first > video.length / 2),
      `${beginnings} of ${video.length}`,
    )
  })

  test('installs an application that opens offline', async () => {
    await using visitor = await visit()
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
    try {
      await page.reload()
      await greeting.waitFor()
      assert.equal(await page.evaluate(() => navigator.onLine), false)
    } finally {
      await page.context().setOffline(false)
    }
    visitor.assertNoComplaints()
  })

  test('runs modules, and compiles WebAssembly while it downloads', async () => {
    await using visitor = await visit()
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

  test('opens a deep link into a single-page application, and reloads it', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const siteUrl = await publish(
      {
        'index.html': html('<a href="/tasks/7">Seven</a> <h1></h1>', '<script src="/app.js" defer></script>'),
        'app.js': `const show = () => { document.querySelector('h1').textContent = 'At ' + location.pathname }
          document.querySelector('a').addEventListener('click', (event) => {
            event.preventDefault()
            history.pushState(null, '', event.target.href)
            show()
          })
          addEventListener('popstate', show)
          show()`,
      },
      { spaMode: true },
    )
    const at = (path: string) => page.getByRole('heading', { name: `At ${path}`, exact: true }).waitFor()
    await page.goto(siteUrl)
    await at('/')
    await page.getByRole('link', { name: 'Seven' }).click()
    await at('/tasks/7')
    await page.reload()
    await at('/tasks/7')
    await page.goBack()
    await at('/')
    assert.equal((await page.goto(`${siteUrl}settings/profile?tab=2`))?.status(), 200)
    await at('/settings/profile')
    visitor.assertNoComplaints()
    assert.equal((await page.goto(`${siteUrl}missing.js`))?.status(), 404)
  })

  test('follows the redirects of a site and keeps query and fragment', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const siteUrl = await publish({
      'index.html': html('<h1>Home</h1>'),
      'articles/now.html': html('<h1>Article</h1>'),
      _redirects: '/blog/* /articles/:splat 301\n/latest /articles/now 302\n',
    })
    await page.goto(`${siteUrl}blog/now.html?from=feed#end`)
    assert.equal(page.url(), `${siteUrl}articles/now.html?from=feed#end`)
    await page.goto(`${siteUrl}latest`)
    assert.equal(page.url(), `${siteUrl}articles/now`)
    await page.getByRole('heading', { name: 'Article' }).waitFor()
    visitor.assertNoComplaints()
  })

  test('enforces the headers of a site', async () => {
    await using visitor = await visit()
    const { page } = visitor
    const siteUrl = await publish({
      'index.html': html('<script>document.title = "inline"</script><script src="own.js"></script>'),
      'own.js': 'document.documentElement.dataset.own = "ran"',
      _headers:
        "/*\n  Content-Security-Policy: default-src 'none'; script-src 'self'; img-src data:\n  X-Team: web\n",
    })
    const response = await page.goto(siteUrl)
    assert.equal(response?.headers()['x-team'], 'web')
    assert.equal(await page.title(), '')
    assert.equal(await page.evaluate(() => document.documentElement.dataset.own), 'ran')
    assert.equal(visitor.complaints.length, 1)
    assert.match(visitor.complaints[0]!, /Content Security Policy/)
  })

  test('opens the requested page of a password-protected site after the password is entered', async () => {
    await using visitor = await visit()
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

/** Generates pictures of noise, each with its number as a shade of grey in the corner. */
async function pictures(page: Page, count: number): Promise<Buffer[]> {
  await page.goto(service.baseUrl)
  const generated: Buffer[] = []
  for (let number = 0; number < count; number++) {
    const picture = await page.evaluate(async (shade) => {
      const canvas = new OffscreenCanvas(640, 360)
      const context = canvas.getContext('2d')!
      const noise = context.createImageData(640, 360)
      for (let at = 0; at < noise.data.length; at += 65_536) {
        crypto.getRandomValues(noise.data.subarray(at, at + 65_536))
      }
      context.putImageData(noise, 0, 0)
      context.fillStyle = `rgb(${shade}, ${shade}, ${shade})`
      context.fillRect(0, 0, 64, 64)
      const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })
      return (new Uint8Array(await blob.arrayBuffer()) as Uint8Array & { toBase64(): string }).toBase64()
    }, number * 4)
    generated.push(Buffer.from(picture, 'base64'))
  }
  return generated
}

/** A WebAssembly module that exports `add`. */
const ADDITION = Buffer.from(
  '0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b',
  'hex',
)
