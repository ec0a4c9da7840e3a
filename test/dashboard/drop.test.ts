import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type Contents,
  Disk,
  dropOn,
  liveAt,
  pickFiles,
  pickFolder,
  recordCalls,
  visited,
} from './file-drop.ts'
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

const PAGE = '<!doctype html><title>Boats</title><h1>Boats</h1>'

async function front() {
  const visitor = await web.visitor()
  const calls = recordCalls(visitor.page)
  await visitor.page.goto(web.service.baseUrl)
  await visitor.page.getByRole('heading', { level: 1 }).waitFor()
  return { visitor, page: visitor.page, calls, [Symbol.asyncDispose]: () => visitor[Symbol.asyncDispose]() }
}

describe('the front page publishes', requiresBrowser, () => {
  test('a dropped folder completely, without its own name', async () => {
    await using here = await front()
    const { page } = here
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
    here.visitor.assertNoComplaints()
    web.assertPolicyKept()
  })

  test('a picked folder, with three API calls and two uploads', async () => {
    await using here = await front()
    const large = Buffer.alloc(5_000_000, 'large')
    await pickFolder(here.page, disk.folder('picked', { 'index.html': PAGE, 'b.js': 'b', 'film.mp4': large }))
    const siteUrl = await liveAt(here.page)
    assert.equal(await visited(siteUrl, 'film.mp4'), large.toString())
    assert.deepEqual(here.calls.sort(), [
      'POST /api/v1/publish',
      `POST /api/v1/publish/${new URL(siteUrl).host.split('.')[0]}/finalize`,
      'PUT /api/v1/_upload',
      'PUT /api/v1/_upload',
    ])
  })

  test('files by their names, and a single file of any kind', async () => {
    await using here = await front()
    await pickFiles(here.page, disk.file('notes.txt', 'Buy rope'))
    const siteUrl = await liveAt(here.page)
    assert.equal(await visited(siteUrl, 'notes.txt'), 'Buy rope')
  })

  test('files and folders that are dropped together, by their names', async () => {
    await using here = await front()
    const folder = disk.folder('both/pictures', { 'sea.txt': 'sea' })
    await dropOn(here.page, 'main', folder, disk.file('both/index.html', PAGE))
    const siteUrl = await liveAt(here.page)
    assert.equal(await visited(siteUrl), PAGE)
    assert.equal(await visited(siteUrl, 'pictures/sea.txt'), 'sea')
  })

  for (const [what, prefix] of [
    ['with everything at its top', ''],
    ['with everything in one folder', 'site-main/'],
  ] as const) {
    test(`the contents of a zip ${what}`, async () => {
      await using here = await front()
      const zip = disk.zip(`a${prefix.length}.zip`, {
        [`${prefix}index.html`]: PAGE,
        [`${prefix}img/b\u00fc.txt`]: 'b'.repeat(300_000),
        [`__MACOSX/${prefix}._index.html`]: 'litter',
        [`${prefix}.DS_Store`]: 'litter',
      })
      if (prefix) await dropOn(here.page, 'main', zip)
      else await pickFiles(here.page, zip)
      const siteUrl = await liveAt(here.page)
      assert.equal(await visited(siteUrl), PAGE)
      assert.equal(await visited(siteUrl, 'img/b%C3%BC.txt'), 'b'.repeat(300_000))
      here.visitor.assertNoComplaints()
      web.assertPolicyKept()
    })
  }

  test('everything but junk, secrets and empty files, and names those', async () => {
    await using here = await front()
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
    await pickFolder(here.page, folder)
    const siteUrl = await liveAt(here.page)
    const { page } = here
    await page.getByText('Left out, as junk or secret: .DS_Store, .env, .git/ and 2 others').click()
    for (const name of ['id_rsa', 'node_modules/']) await page.getByRole('listitem').getByText(name).waitFor()
    await page.getByText('Left out, being empty: empty.txt').waitFor()
    for (const path of ['.env', 'id_rsa', '.git/HEAD', 'node_modules/a/b.js']) {
      assert.ok(!['KEY=1', 'key', 'ref', 'b'].includes(await visited(siteUrl, path)), path)
    }
  })

  test('by the .slipwayignore of the folder, both what it includes and what it excludes', async () => {
    await using here = await front()
    const contents = {
      'index.html': PAGE,
      'a.key': 'public',
      'draft.md': 'x',
      '.slipwayignore': '!a.key\ndraft.md\n',
    }
    await dropOn(here.page, 'main', disk.folder('rules', contents))
    const siteUrl = await liveAt(here.page)
    assert.equal(await visited(siteUrl, 'a.key'), 'public')
    assert.notEqual(await visited(siteUrl, 'draft.md'), 'x')
  })

  test('a second drop, and shows it in place of the first', async () => {
    await using here = await front()
    await pickFiles(here.page, disk.file('one/index.html', '<h1>One</h1>'))
    const one = await liveAt(here.page)
    await dropOn(here.page, 'main', disk.file('two/index.html', '<h1>Two</h1>'))
    await here.page.frameLocator('iframe').getByRole('heading', { name: 'Two' }).waitFor()
    const two = await liveAt(here.page)
    assert.notEqual(one, two)
    assert.equal(await visited(two), '<h1>Two</h1>')
  })

  test('to the account that is signed in', async () => {
    await using owner = await web.owner()
    const { page } = owner.visitor
    await page.goto(web.service.baseUrl)
    await pickFiles(page, disk.file('own/index.html', PAGE))
    const siteUrl = await liveAt(page)
    await page.getByText('Published to your account.').waitFor()
    await page.getByText(`${owner.email} is its owner.`).waitFor()
    const { publishes } = await web.service.client(owner.key).list()
    assert.deepEqual(
      publishes.map((site) => [site.siteUrl, site.expiresAt]),
      [[siteUrl, null]],
    )
    await page.getByRole('link', { name: 'Title, password, versions and more' }).click()
    await page.waitForURL(`**/sites/${publishes[0]!.slug}`)
  })

  test('anonymously when the session has expired, and reports that', async () => {
    await using owner = await web.owner()
    const { page, context } = owner.visitor
    await page.goto(web.service.baseUrl)
    await context.clearCookies()
    await pickFiles(page, disk.file('ended/index.html', PAGE))
    await liveAt(page)
    await page.getByRole('link', { name: 'Claim it' }).waitFor()
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
  })
})
