import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Contents } from '../api/content.ts'
import { folders } from '../archive/malformed-zip.ts'
import type { ZipPart } from '../archive/zip-file.ts'
import { PHONE } from '../support/browser.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'
import { buildZip, dropOn, liveAt, pickFiles, pickFolder, recordCalls, visited } from './file-drop.ts'
import { disk, web as shared } from './shared.ts'
import { requiresBrowser, type WebFixture } from './web-fixture.ts'

const LIMITS = {
  ANONYMOUS_FILES: '20',
  ANONYMOUS_FILE_BYTES: '3000000',
  ANONYMOUS_SITE_BYTES: '4000000',
}

const X = Buffer.from('x')

/** Files of a folder, and the messages that are shown before anything is sent. */
const FOLDERS: [what: string, contents: Contents, messages: string[]][] = [
  [
    '21 files',
    Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`img/${at}.txt`, 'x'])),
    ['21 files. The limit is 20 per site (img/ has 21).'],
  ],
  [
    'files that are too large together',
    { 'index.html': 'x', 'a.bin': Buffer.alloc(2_200_000), 'b.bin': Buffer.alloc(2_200_000) },
    ['4.4 MB in total. The limit is 4 MB per site.'],
  ],
  [
    'two names that are one to Unicode',
    { 'index.html': 'x', 'caf\u00e9': 'x', 'cafe\u0301': 'x' },
    ['café occurs 2 times, written in different Unicode forms:', 'caf\\u{e9}', 'cafe\\u{301}'],
  ],
  ['an empty folder of nothing but litter', { '.DS_Store': 'x' }, ['.DS_Store']],
]

const BAD_NAMES = ['../up', 'a\\b', '/root', 'tab\t', 'n'.repeat(501)]

const ZIPS: [what: string, zip: ZipPart[] | string, messages: string[]][] = [
  ['a bomb', [{ name: 'a', data: X, size: 0xfffffff0 }], ['a: 4.3 GB. The limit is 3 MB per file.']],
  ['an encrypted one', [{ name: 'a.txt', data: X, flags: 1 }], ['a.txt is encrypted']],
  ['a link', [{ name: 'a.txt', data: X, mode: 0o120777 }], ['a.txt is a symbolic link']],
  [
    'names that no site can have',
    BAD_NAMES.map((name) => ({ name, data: X })),
    [
      "../up: must not contain a '..' segment",
      "a\\b: must not contain a backslash; separate folders with '/'",
      "/root: must be relative: it must not start with '/'",
      'tab?: must not contain control characters',
      'must have at most 500 characters, not 501',
    ],
  ],
  [
    'a file that is a folder as well',
    ['a', 'a/b'].map((name) => ({ name, data: X })),
    ["'a' is both a file and the folder of 'a/b'"],
  ],
  ['a broken one', 'PK but no zip', ['It may be damaged, or not a ZIP file.']],
  ['too many entries', folders(20_001), ['it has more than 20,000 entries.']],
  ['a damaged file', [{ name: 'a.txt', data: X, crc32: 1 }], ['a.txt is damaged in the ZIP.']],
]

/** Those of `npm test`: a limit, a zip, and names. */
const REFUSED = ['21 files', 'a bomb', 'names that no site can have']

describe('before anything is sent, the page', requiresBrowser, () => {
  let web: WebFixture
  before(async () => {
    web = await shared.another(LIMITS)
  })
  afterEach(() => web.endTest())
  after(() => web[Symbol.asyncDispose]())

  test('names the files that cannot be published', async () => {
    const { page } = await web.asVisitor()
    const calls = recordCalls(page)
    await page.goto(web.service.baseUrl)
    const cases = [...FOLDERS, ...ZIPS].filter(([what]) => ALL_VARIANTS || REFUSED.includes(what))
    for (const [what, contents, messages] of cases) {
      await dropOn(page, 'main', writeCase(what, contents))
      for (const sentence of messages) await page.getByText(sentence).waitFor()
      assert.ok((await page.getByRole('button', { name: /^Publish/ }).count()) === 0, what)
      await page.getByRole('button', { name: 'Choose different files' }).click()
    }
    assert.deepEqual(calls, [])
  })

  testVariant('reports an empty folder, dropped or picked', async () => {
    const { page } = await web.asVisitor()
    const folder = disk.folder('nothing', {})
    await page.goto(web.service.baseUrl)
    for (const bring of [() => pickFolder(page, folder), () => dropOn(page, 'main', folder)]) {
      await bring()
      await page.getByText('Nothing to publish').waitFor()
      await page.getByRole('button', { name: 'Choose different files' }).click()
    }
  })

  test('offers to leave out a file that is too large', async () => {
    const { page } = await web.asVisitor('/')
    await pickFolder(
      page,
      disk.folder('large', { 'index.html': 'Hello', 'film.mp4': Buffer.alloc(4_000_000) }),
    )
    await page.getByText('film.mp4: 4.0 MB. The limit is 3 MB per file.').waitFor()
    await page.getByRole('button', { name: 'Skip these and publish 1 file (5 bytes)' }).click()
    assert.equal(await visited(await liveAt(page)), 'Hello')
  })

  test('explains what visitors see without an index.html, and publishes on confirmation', async () => {
    const { page } = await web.asVisitor()
    const calls = recordCalls(page)
    await page.goto(web.service.baseUrl)
    await pickFolder(page, disk.folder('list', { 'A.txt': 'A', 'a.txt': 'a', 'b.txt': 'b' }))
    await page.getByRole('heading', { name: 'Ready to publish?' }).waitFor()
    await page.getByText('No index.html found. Visitors will see a list of files.').waitFor()
    await page.getByText('A.txt and a.txt differ only in case').waitFor()
    assert.deepEqual(calls, [])
    await page.getByRole('button', { name: 'Publish 3 files (3 bytes)' }).click()
    assert.match(await visited(await liveAt(page)), /b\.txt/)
  })

  test('suggests the build folder of a project', async () => {
    const { page } = await web.asVisitor('/')
    const project = {
      'package.json': '{}',
      'src/main.ts': 'x',
      'node_modules/a/b.js': 'x',
      'dist/index.html': 'Built',
      'dist/a.js': 'a',
    }
    await dropOn(page, 'main', disk.folder('project', project))
    await page.getByText('No index.html in the top folder. Visitors will be redirected to /').waitFor()
    await page.getByRole('button', { name: 'Publish only dist/' }).click()
    const siteUrl = await liveAt(page)
    assert.equal(await visited(siteUrl), 'Built')
    assert.equal(await visited(siteUrl, 'a.js'), 'a')
  })

  test('asks accessibly in all viewports and color schemes', async () => {
    const { page, visitor } = await web.asVisitor('/', { viewport: PHONE })
    await pickFolder(
      page,
      disk.folder('odd', { 'a/A.txt': 'A', 'a/a.txt': 'a', '.env': 'x', 'empty.txt': '' }),
    )
    await isAt(page, 'Ready to publish?')
    await visitor.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'Choose different files' }).click()
    await pickFiles(page, disk.file('locked.zip', buildZip([{ name: 'a.txt', data: X, flags: 1 }])))
    await isAt(page, "This can't be published yet")
    await visitor.assertReadableInAllViewports()
  })
})

/** Writes a folder or a zip; returns its path. */
function writeCase(what: string, contents: Contents | ZipPart[] | string): string {
  if (typeof contents === 'string') return disk.file(`${what}.zip`, contents)
  return Array.isArray(contents) ? disk.file(`${what}.zip`, buildZip(contents)) : disk.folder(what, contents)
}

/** Asserts that the heading is shown and has the focus. */
async function isAt(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).waitFor()
  await page.waitForFunction((text) => document.activeElement?.textContent === text, name)
}
