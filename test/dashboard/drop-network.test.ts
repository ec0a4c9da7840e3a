import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page, Request, Route } from 'playwright-core'
import { Disk, liveAt, pickFiles, pickFolder, recordCalls, visited } from './file-drop.ts'
import { requiresBrowser, WebFixture } from './web-fixture.ts'

let web: WebFixture
let disk: Disk

before(async () => {
  web = await WebFixture.open()
  disk = new Disk()
})

after(async () => {
  disk?.[Symbol.dispose]()
  await web?.[Symbol.asyncDispose]()
})

const UPLOADS = '**/api/v1/_upload/**'
const CONNECTION_LOST = 'The connection is gone. It goes on when it is back.'
const FILM = Buffer.alloc(6_000_000, 'film')

async function front() {
  const visitor = await web.visitor()
  const calls = recordCalls(visitor.page)
  await visitor.page.goto(web.service.baseUrl)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  return { visitor, page: visitor.page, calls, [Symbol.asyncDispose]: () => visitor[Symbol.asyncDispose]() }
}

describe('a network failure', requiresBrowser, () => {
  test('during a publication is retried, and files that were received are not sent again', async () => {
    await using here = await front()
    const { page, calls } = here
    const context = page.context()
    const met = Promise.withResolvers<void>()
    const small = page.waitForResponse((answer) => isBundle(answer.request()))
    await page.route(UPLOADS, async (route) => {
      if (isBundle(route.request())) return route.continue()
      await small
      await context.setOffline(true)
      met.resolve()
      await route.abort()
    })
    await pickFolder(page, disk.folder('broken', { 'index.html': 'Hello', 'a.js': 'a', 'film.mp4': FILM }))
    await met.promise
    await page.getByText(CONNECTION_LOST).waitFor()
    await page.unroute(UPLOADS)
    const before = calls.length
    await context.setOffline(false)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), FILM.toString())
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    const again = calls.slice(before).filter((call) => call.startsWith('PUT'))
    assert.deepEqual(again, ['PUT /api/v1/_upload'])
  })

  test('before the first request is retried, too', async () => {
    await using here = await front()
    const { page } = here
    const path = disk.file('early/index.html', 'Early')
    await page.waitForLoadState('networkidle')
    await page.context().setOffline(true)
    await pickFiles(page, path)
    await page
      .getByText(CONNECTION_LOST)
      .or(page.getByRole('button', { name: 'Try again' }))
      .waitFor()
    await page.context().setOffline(false)
    const again = page.getByRole('button', { name: 'Try again' })
    if (await again.isVisible()) await again.click()
    assert.equal(await visited(await liveAt(page)), 'Early')
  })
})

describe('a publication in progress', requiresBrowser, () => {
  test('asks before its tab is closed, and resumes when the same folder is dropped again', async () => {
    await using here = await front()
    const { page, calls } = here
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
    const [slug] = new URL(siteUrl).host.split('.')
    assert.equal(calls.filter((call) => call === 'POST /api/v1/publish').length, 1)
    assert.equal(calls.filter((call) => call === `POST /api/v1/publish/${slug}/uploads/refresh`).length, 1)
    await page
      .getByRole('region', { name: 'Published from this browser' })
      .getByRole('link', { name: slug! })
      .first()
      .waitFor()
  })

  test('can be stopped, and nothing of it is published', async () => {
    await using here = await front()
    const { page, calls } = here
    const held = await holdUploads(page)
    await pickFiles(page, disk.file('stopped.mp4', FILM))
    await held.first
    await page.getByText('0 of 1 file, 0 bytes of 6.0 MB').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Drop a folder, files or a zip here').waitFor()
    assert.equal(await page.getByText('Published from this browser').count(), 0)
    assert.equal(calls.filter((call) => call.endsWith('/finalize')).length, 0)
  })

  test('continues while another page is open, which shows its end', async () => {
    await using owner = await web.owner()
    const { page } = owner.visitor
    await page.goto(web.service.baseUrl)
    const held = await holdUploads(page)
    await pickFiles(page, disk.file('behind/index.html', 'Behind'))
    await held.first
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor()
    held.release()
    await page.getByText(/^[a-z0-9-]+\.localhost:\d+ is live\.$/).waitFor()
    await page.getByRole('link', { name: 'Slipway', exact: true }).click()
    assert.equal(await visited(await liveAt(page)), 'Behind')
  })

  test('names a file that changed during the upload', async () => {
    await using here = await front()
    const { page } = here
    const path = disk.file('changing.txt', 'first')
    let release = (): void => {}
    const held = Promise.withResolvers<void>()
    await page.route('**/api/v1/publish', (route) => {
      release = () => void route.continue()
      held.resolve()
    })
    await pickFiles(page, path)
    await held.promise
    disk.file('changing.txt', 'second, and longer')
    release()
    await page
      .getByRole('alert')
      .getByText(/changing\.txt/)
      .waitFor()
    await page
      .getByText('The file changed meanwhile. Drop it again when nothing writes to it any more.')
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0)
  })
})

/** Holds every upload back: `first` resolves with the first one, and `release` continues the last one. */
async function holdUploads(page: Page): Promise<{ first: Promise<void>; release: () => void }> {
  const first = Promise.withResolvers<void>()
  const held: Route[] = []
  await page.route(UPLOADS, (route) => {
    held.push(route)
    first.resolve()
  })
  return { first: first.promise, release: () => void held.pop()?.continue() }
}

function isBundle(request: Request): boolean {
  return request.headers()['content-type'] === 'application/x-tar'
}
