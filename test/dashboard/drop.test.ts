import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page, Request, Route } from 'playwright-core'
import {
  type Contents,
  dropOn,
  liveAt,
  pickFiles,
  pickFolder,
  recordCalls,
  useDisk,
  visited,
} from './file-drop.ts'
import { requiresBrowser, useWeb } from './web-fixture.ts'

const web = useWeb()
const disk = useDisk()

const UPLOADS = '**/api/v1/_upload/**'
const CONNECTION_LOST = 'The connection is gone. It goes on when it is back.'
const FILM = Buffer.alloc(6_000_000, 'film')

const PAGE = '<!doctype html><title>Boats</title><h1>Boats</h1>'

/** Opens the front page and records its API calls. */
async function front() {
  const { page, visitor } = await web.asVisitor()
  const calls = recordCalls(page)
  await page.goto(web.url('/'))
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, visitor, calls }
}

describe('the front page publishes', requiresBrowser, () => {
  test('a dropped folder completely, without its own name', async () => {
    const { page, visitor } = await front()
    const many = Object.fromEntries(
      Array.from({ length: 230 }, (_, at) => [`img/${at}.txt`, `picture ${at}`]),
    )
    const folder = disk.folder('harbour', {
      'index.html': PAGE,
      'a/b/c.css': 'c',
      'caf\u00e9.txt': 'cafe',
      ...many,
    })
    await dropOn(page, 'main', folder)
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'a/b/c.css'), 'c')
    assert.equal(await visited(siteUrl, 'caf%C3%A9.txt'), 'cafe')
    for (const at of [0, 99, 100, 229]) assert.equal(await visited(siteUrl, `img/${at}.txt`), `picture ${at}`)
    visitor.assertNoComplaints()
  })

  test('a picked folder, with three API calls and two uploads', async () => {
    const { page, calls } = await front()
    const large = Buffer.alloc(5_000_000, 'large')
    await pickFolder(page, disk.folder('picked', { 'index.html': PAGE, 'b.js': 'b', 'film.mp4': large }))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'film.mp4'), large.toString())
    assert.deepEqual(calls.sort(), [
      'POST /api/v1/publish',
      `POST /api/v1/publish/${new URL(siteUrl).host.split('.')[0]}/finalize`,
      'PUT /api/v1/_upload',
      'PUT /api/v1/_upload',
    ])
  })

  test('files by their names, and a single file of any kind', async () => {
    const { page } = await front()
    await pickFiles(page, disk.file('notes.txt', 'Buy rope'))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'notes.txt'), 'Buy rope')
  })

  test('files and folders that are dropped together, by their names', async () => {
    const { page } = await front()
    const folder = disk.folder('both/pictures', { 'sea.txt': 'sea' })
    await dropOn(page, 'main', folder, disk.file('both/index.html', PAGE))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'pictures/sea.txt'), 'sea')
  })

  for (const [what, prefix] of [
    ['with everything at its top', ''],
    ['with everything in one folder', 'site-main/'],
  ] as const) {
    test(`the contents of a zip ${what}`, async () => {
      const { page, visitor } = await front()
      const zip = disk.zip(`a${prefix.length}.zip`, {
        [`${prefix}index.html`]: PAGE,
        [`${prefix}img/b\u00fc.txt`]: 'b'.repeat(300_000),
        [`__MACOSX/${prefix}._index.html`]: 'litter',
        [`${prefix}.DS_Store`]: 'litter',
      })
      if (prefix) await dropOn(page, 'main', zip)
      else await pickFiles(page, zip)
      const siteUrl = await liveAt(page)
      assert.equal(await visited(siteUrl), PAGE)
      assert.equal(await visited(siteUrl, 'img/b%C3%BC.txt'), 'b'.repeat(300_000))
      visitor.assertNoComplaints()
    })
  }

  test('everything but junk, secrets and empty files, and names those', async () => {
    const { page } = await front()
    const secret: Contents = {
      '.env': 'KEY=1',
      id_rsa: 'key',
      '.git/HEAD': 'ref',
      'node_modules/a/b.js': 'b',
    }
    const folder = disk.folder('secrets', {
      'index.html': PAGE,
      '.DS_Store': 'x',
      'empty.txt': '',
      ...secret,
    })
    await pickFolder(page, folder)
    const siteUrl = await liveAt(page)
    await page.getByText('Left out, as junk or secret: .DS_Store, .env, .git/ and 2 others').click()
    for (const name of ['id_rsa', 'node_modules/']) await page.getByRole('listitem').getByText(name).waitFor()
    await page.getByText('Left out, being empty: empty.txt').waitFor()
    for (const path of ['.env', 'id_rsa', '.git/HEAD', 'node_modules/a/b.js']) {
      assert.ok(!['KEY=1', 'key', 'ref', 'b'].includes(await visited(siteUrl, path)), path)
    }
  })

  test('by the .slipwayignore of the folder, both what it includes and what it excludes', async () => {
    const { page } = await front()
    const contents = {
      'index.html': PAGE,
      'a.key': 'public',
      'draft.md': 'x',
      '.slipwayignore': '!a.key\ndraft.md\n',
    }
    await dropOn(page, 'main', disk.folder('rules', contents))
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl, 'a.key'), 'public')
    assert.notEqual(await visited(siteUrl, 'draft.md'), 'x')
  })

  test('a second drop, and shows it in place of the first', async () => {
    const { page } = await front()
    await pickFiles(page, disk.file('one/index.html', '<h1>One</h1>'))
    const one = await liveAt(page)
    await dropOn(page, 'main', disk.file('two/index.html', '<h1>Two</h1>'))
    await page.frameLocator('iframe').getByRole('heading', { name: 'Two' }).waitFor()
    const two = await liveAt(page)
    assert.notEqual(one, two)
    assert.equal(await visited(two), '<h1>Two</h1>')
  })

  test('to the account that is signed in', async () => {
    const { page, owner } = await web.asOwner('/')
    await pickFiles(page, disk.file('own/index.html', PAGE))
    const siteUrl = await liveAt(page)
    await page.getByText('Published to your account.').waitFor()
    await page.getByText(`${owner.email} is its owner.`).waitFor()
    const { publishes } = await owner.client.list()
    assert.deepEqual(
      publishes.map((site) => [site.siteUrl, site.expiresAt]),
      [[siteUrl, null]],
    )
    await page.getByRole('link', { name: 'Title, password, versions and more' }).click()
    await page.waitForURL(`**/sites/${publishes[0]!.slug}`)
  })

  test('anonymously when the session has expired, and reports that', async () => {
    const { page } = await web.asOwner('/')
    await page.context().clearCookies()
    await pickFiles(page, disk.file('ended/index.html', PAGE))
    await liveAt(page)
    await page.getByRole('link', { name: 'Claim it' }).waitFor()
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
  })
})

describe('a network failure', requiresBrowser, () => {
  test('during a publication is retried, and files that were received are not sent again', async () => {
    const { page, calls } = await front()
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
    const { page } = await front()
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
    const { page, calls } = await front()
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
    const { page, calls } = await front()
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
    const { page } = await web.asOwner('/')
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
    const { page } = await front()
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
