import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { folders } from '../archive/malformed-zip.ts'
import { PHONE } from '../support/browser.ts'
import {
  buildZip,
  dropOn,
  liveAt,
  pickFiles,
  pickFolder,
  recordCalls,
  useDisk,
  visited,
} from './file-drop.ts'
import { requiresBrowser, useWeb } from './web-fixture.ts'

const FILE_BYTES = 3_000_000
const SITE_BYTES = 4_000_000

const limits = { ANONYMOUS_FILE_BYTES: String(FILE_BYTES), ANONYMOUS_SITE_BYTES: String(SITE_BYTES) }
const web = useWeb(limits)
const disk = useDisk()

const data = (text: string) => Buffer.from(text)

/** What is dropped, and the message that is shown before anything is sent. */
const REFUSED: [what: string, drop: () => string, messages: string[]][] = [
  [
    '1,001 files',
    () =>
      disk.folder(
        'many',
        Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`img/${at}.txt`, 'x'])),
      ),
    ['1,001 files; a site can have at most 1,000 (img/ has 1,001)'],
  ],
  [
    'files that are too large together',
    () =>
      disk.folder('much', {
        'index.html': 'x',
        'a.bin': Buffer.alloc(2_200_000),
        'b.bin': Buffer.alloc(2_200_000),
      }),
    ['4.4 MB together; a site can have at most 4.0 MB'],
  ],
  [
    'two names that are one to Unicode',
    () => disk.folder('twins', { 'index.html': 'x', 'caf\u00e9': 'x', 'cafe\u0301': 'x' }),
    ['café is there 2 times, written in different Unicode forms:', 'caf\\u{e9}', 'cafe\\u{301}'],
  ],
  ['an empty folder of nothing but litter', () => disk.folder('litter', { '.DS_Store': 'x' }), ['.DS_Store']],
  [
    'a zip bomb',
    () => disk.file('bomb.zip', buildZip([{ name: 'a', data: data('x'), size: 0xfffffff0 }])),
    ['a: 4.3 GB; a file can have at most 3.0 MB'],
  ],
  [
    'an encrypted zip',
    () => disk.file('locked.zip', buildZip([{ name: 'a.txt', data: data('x'), flags: 1 }])),
    ['a.txt is encrypted'],
  ],
  [
    'a zip with a link in it',
    () => disk.file('link.zip', buildZip([{ name: 'a.txt', data: data('/etc/passwd'), mode: 0o120777 }])),
    ['a.txt is a symbolic link'],
  ],
  [
    'a zip with names that no site can have',
    () =>
      disk.file(
        'names.zip',
        buildZip(
          ['../up', 'a\\b', '/root', 'tab\t', 'n'.repeat(501)].map((name) => ({ name, data: data('x') })),
        ),
      ),
    [
      'Left out, as junk or secret: ../',
      "a\\b: must not contain a backslash; folders are parted by '/'",
      "/root: must be relative: it must not start with '/'",
      'tab?: must not contain control characters',
      'must have at most 500 characters, not 501',
    ],
  ],
  [
    'a zip with a file that is a folder as well',
    () => disk.file('both.zip', buildZip(['a', 'a/b'].map((name) => ({ name, data: data('x') })))),
    ["'a' is a file here and a folder of 'a/b'"],
  ],
  [
    'a broken zip',
    () => disk.file('broken.zip', 'PK but no zip'),
    ['broken.zip cannot be read: it is broken, or no zip.'],
  ],
  [
    'a zip with too many entries',
    () => disk.file('entries.zip', buildZip(folders(20_001))),
    ['entries.zip is no site: it has more than 20,000 entries.'],
  ],
  [
    'a zip with a file that is damaged',
    () => disk.file('damaged.zip', buildZip([{ name: 'a.txt', data: data('x'), crc32: 1 }])),
    ['a.txt is damaged in the zip.'],
  ],
  [
    'a zip with a file that exceeds its declared size',
    () => disk.file('lie.zip', buildZip([{ name: 'a.txt', data: Buffer.alloc(2_000_000), size: 100 }])),
    ['a.txt is damaged in the zip.'],
  ],
]

describe('before anything is sent, the page', requiresBrowser, () => {
  test('names the files that cannot be published', async () => {
    const { page, visitor } = await web.asVisitor()
    const calls = recordCalls(page)
    await page.goto(web.service.baseUrl)
    for (const [what, drop, messages] of REFUSED) {
      await dropOn(page, 'main', drop())
      for (const sentence of messages) await page.getByText(sentence).waitFor()
      assert.ok((await page.getByRole('button', { name: /^Publish/ }).count()) === 0, what)
      await page.getByRole('button', { name: 'Choose something else' }).click()
    }
    assert.deepEqual(calls, [])
    visitor.assertNoComplaints()
  })

  test('reports an empty folder, dropped or picked', async () => {
    const { page } = await web.asVisitor()
    const folder = disk.emptyFolder('nothing')
    await page.goto(web.service.baseUrl)
    for (const bring of [() => pickFolder(page, folder), () => dropOn(page, 'main', folder)]) {
      await bring()
      await page.getByText('There is nothing to publish in it.').waitFor()
      await page.getByRole('button', { name: 'Choose something else' }).click()
    }
  })

  test('offers to leave out a file that is too large', async () => {
    const { page } = await web.asVisitor('/')
    await pickFolder(
      page,
      disk.folder('large', { 'index.html': 'Hello', 'film.mp4': Buffer.alloc(FILE_BYTES + 1_000_000) }),
    )
    await page.getByText('film.mp4: 4.0 MB; a file can have at most 3.0 MB').waitFor()
    await page.getByRole('button', { name: 'Leave these out and publish 1 file (5 bytes)' }).click()
    assert.equal(await visited(await liveAt(page)), 'Hello')
  })

  test('explains what visitors see without an index.html, and publishes on confirmation', async () => {
    const { page } = await web.asVisitor()
    const calls = recordCalls(page)
    await page.goto(web.service.baseUrl)
    await pickFolder(page, disk.folder('list', { 'A.txt': 'A', 'a.txt': 'a', 'b.txt': 'b' }))
    await page.getByRole('heading', { name: 'Is this as you want it?' }).waitFor()
    await page.getByText('There is no index.html at the top: visitors get a list of the files.').waitFor()
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
    await page
      .getByText('There is no index.html at the top: visitors are led to the first one below.')
      .waitFor()
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
    await isAt(page, 'Is this as you want it?')
    await visitor.assertAccessibleInAllViewports()
    await page.getByRole('button', { name: 'Choose something else' }).click()
    await pickFiles(page, disk.file('locked.zip', buildZip([{ name: 'a.txt', data: data('x'), flags: 1 }])))
    await isAt(page, 'This cannot be published as it is.')
    await visitor.assertAccessibleInAllViewports()
  })
})

/** Asserts that the heading is shown and has the focus. */
async function isAt(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name }).waitFor()
  await page.waitForFunction((text) => document.activeElement?.textContent === text, name)
}
