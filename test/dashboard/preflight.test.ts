import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectFiles } from '../../dashboard/drop/collect-files.ts'
import { preflightFolder, runPreflight } from '../../dashboard/drop/preflight.ts'
import { type Reader, ReadingFault } from '../../dashboard/drop/reader/reader.ts'
import { ZipArchive } from '../../dashboard/drop/reader/zip.ts'
import { UnpublishableError } from '../../dashboard/drop/unpublishable-error.ts'
import { stripControlChars } from '../../protocol/format.ts'
import { folders } from '../archive/malformed-zip.ts'
import type { ZipPart } from '../archive/zip-file.ts'
import { buildZip } from './file-drop.ts'

const LIMITS = { files: 20, fileBytes: 3e6, siteBytes: 4e6 }

const X = Buffer.from('x')

const BAD_NAMES = ['../up', 'a/b\\c', '/root', 'tab\t', 'n'.repeat(501), `deep${'/a'.repeat(30_000)}`]

type Folder = Record<string, string | Buffer>
type Zip = ZipPart[] | string

/** Folders and zips that cannot be published, and the messages that are shown before anything is sent. */
const REFUSED: [what: string, dropped: Folder | Zip, messages: string[]][] = [
  [
    'too many files',
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
    ['café occurs 2 times, written in different Unicode forms: caf\\u{e9} and cafe\\u{301}'],
  ],
  ['a zip bomb', [{ name: 'a', data: X, size: 0xfffffff0 }], ['a: 4.3 GB. The limit is 3 MB per file.']],
  ['an encrypted zip', [{ name: 'a.txt', data: X, flags: 1 }], ['a.txt is encrypted']],
  [
    'names that no site can have',
    BAD_NAMES.map((name) => ({ name, data: X })),
    [
      "../up: must not contain a '..' segment",
      "a/b\\c: must not contain a backslash; separate folders with '/'",
      "/root: must be relative: it must not start with '/'",
      'tab?: must not contain control characters',
      'must have at most 500 characters, not 501',
      'must have at most 500 characters, not 60004',
    ],
  ],
  [
    'a file that is a folder as well',
    ['a', 'a/b'].map((name) => ({ name, data: X })),
    ["'a' is both a file and the folder of 'a/b'"],
  ],
  ['a damaged zip', 'PK but no zip', ['It may be damaged, or not a ZIP file.']],
  ['a zip of too many entries', folders(20_001), ['it has more than 20,000 entries.']],
]

for (const [what, dropped, messages] of REFUSED)
  test(`${what} cannot be published, and the page says why before it sends anything`, async () => {
    const errors = await preflight(dropped).then(
      (found) => found.errors,
      (error: unknown) => {
        assert.ok(error instanceof UnpublishableError)
        return [error.message]
      },
    )
    const shown = errors.map(stripControlChars).join('\n')
    for (const message of messages) assert.ok(shown.includes(message), `${message} in ${shown}`)
  })

test('what can be left out, or is probably a mistake, is offered and named', async () => {
  const large = await preflight({ 'index.html': 'Hello', 'film.mp4': Buffer.alloc(3_500_000) })
  assert.deepEqual(large.errors, ['film.mp4: 3.5 MB. The limit is 3 MB per file.'])
  const publishablePaths = large.publishable?.map(({ path }) => path)
  assert.deepEqual(publishablePaths, ['index.html'])
  assert.deepEqual((await preflight({ 'A.txt': 'A', 'a.txt': 'a' })).warnings, [
    'A.txt and a.txt differ only in case',
    'No index.html found. Visitors will see a list of files.',
  ])
  const litter = await preflight({ '.DS_Store': 'x' })
  assert.deepEqual([litter.files, litter.ignored], [[], [{ path: '.DS_Store', reason: 'system' }]])
  const project = await preflight({
    ...{ 'package.json': '{}', 'src/main.ts': 'x', 'node_modules/a/b.js': 'x' },
    ...{ 'dist/index.html': 'Built', 'dist/a.js': 'a' },
  })
  assert.deepEqual(
    [project.suggestedFolder, project.ignored],
    ['dist/', [{ path: 'node_modules/', reason: 'dependencies' }]],
  )
  const { files, warnings } = preflightFolder(project, 'dist/')
  assert.deepEqual([files.map(({ path }) => path), warnings], [['a.js', 'index.html'], []])
})

/** The findings about a picked folder or a zip. */
async function preflight(dropped: Folder | Zip) {
  const files =
    typeof dropped === 'string' || Array.isArray(dropped)
      ? [new File([typeof dropped === 'string' ? dropped : new Uint8Array(buildZip(dropped))], 'a.zip')]
      : Object.entries(dropped).map(([path, content]) =>
          Object.assign(new File([new Uint8Array(Buffer.from(content as string))], path.split('/').at(-1)!), {
            webkitRelativePath: `picked/${path}`,
          }),
        )
  let zip: ZipArchive
  // The worker of the browser reads a zip by the same class.
  const reader = {
    async list(file: Blob) {
      try {
        zip = await ZipArchive.open(file)
      } catch (error) {
        throw new ReadingFault({ kind: 'zip', message: (error as Error).message })
      }
      return zip.listing
    },
    inflate: (at: number) => zip.blob(at),
  }
  const found = await collectFiles(
    { entries: [], files },
    reader as unknown as Reader,
    new AbortController().signal,
  )
  return runPreflight(found, LIMITS)
}
