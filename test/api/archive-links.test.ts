import assert from 'node:assert/strict'
import { test } from 'node:test'
import { text } from '../archive/bytes.ts'
import { paxPart, TAR_END, type TarPart, tarPart } from '../archive/tar-file.ts'
import { type ZipPart, zip } from '../archive/zip-file.ts'
import { startApi } from './api.ts'
import { assertKeepsNothing, send } from './archive-requests.ts'

const api = await startApi()
const owner = await api.account()

const file = (name: string, content: string): Buffer => tarPart({ name, data: text(content) })
const link = (name: string, linkName: string, change: TarPart = {}): Buffer =>
  tarPart({ name, linkName, type: '2', data: text(''), ...change })
const hardLink = (name: string, linkName: string): Buffer => link(name, linkName, { type: '1' })

/** Publishes an archive; the files of its site, and what was left out. */
async function site(kind: 'tar' | 'zip', archive: Buffer) {
  const { status, json, text } = await send(api, kind, archive, {
    key: owner.key,
    query: '?keepTopFolder=true',
  })
  assert.equal(status, 201, text)
  const { files } = await owner.client.version(json.slug, json.versionId)
  const contents = files.map(async ({ path, contentType }) => {
    const visit = await api.visit(json.siteUrl, `/${path}`)
    assert.equal(visit.status, 200, path)
    return [path, visit.text, contentType.replace(/;.*/, '')]
  })
  const excluded = json.excluded.map(
    ({ path, reason }: { path: string; reason: string }) => `${path} ${reason}`,
  )
  const all = (await Promise.all(contents)).map(([path, content]) => [path, content])
  return { files: Object.fromEntries(all), excluded: excluded.sort(), notes: json.notes, json }
}

const LONG = `${'long/'.repeat(30)}target.txt`

test('an archive of a folder with links is the site that the unpacked folder would be', async () => {
  const cases: [what: string, parts: Buffer[], files: Record<string, string>, excluded?: string[]][] = [
    [
      'a repeated name, as tar -r writes it',
      [file('a.txt', 'old'), file('b.txt', 'b'), file('a.txt', 'new')],
      { 'a.txt': 'new', 'b.txt': 'b' },
    ],
    [
      'a repeated name that is empty at last',
      [file('a.txt', 'old'), file('b.txt', 'b'), file('a.txt', '')],
      { 'a.txt': '', 'b.txt': 'b' },
    ],
    [
      'a link in place of a file',
      [file('a.txt', 'a'), file('b.txt', 'b'), link('b.txt', 'a.txt')],
      { 'a.txt': 'a', 'b.txt': 'a' },
    ],
    [
      'a file in place of a link',
      [file('a.txt', 'a'), link('b.txt', 'a.txt'), file('b.txt', 'b')],
      { 'a.txt': 'a', 'b.txt': 'b' },
    ],
    [
      'a hard link',
      [file('./x/a.txt', 'a'), hardLink('./b.txt', './x/a.txt')],
      { 'x/a.txt': 'a', 'b.txt': 'a' },
    ],
    [
      'a link to a later file',
      [link('x/b.txt', '../y/a.txt'), file('y/a.txt', 'a')],
      { 'x/b.txt': 'a', 'y/a.txt': 'a' },
    ],
    [
      'links to links',
      [link('c.txt', 'b.txt'), link('b.txt', 'a.txt'), file('a.txt', 'a')],
      { 'a.txt': 'a', 'b.txt': 'a', 'c.txt': 'a' },
    ],
    [
      'a link to an empty file',
      [file('a.css', ''), link('b.css', 'a.css'), file('c.txt', 'c')],
      { 'a.css': '', 'b.css': '', 'c.txt': 'c' },
    ],
    [
      'a link to a folder with a link in it',
      [file('v1/a.txt', 'a'), link('v1/b.txt', 'a.txt'), link('latest', 'v1')],
      { 'v1/a.txt': 'a', 'v1/b.txt': 'a', 'latest/a.txt': 'a', 'latest/b.txt': 'a' },
    ],
    [
      'a link through a linked folder',
      [file('v1/a.txt', 'a'), link('l', 'v1'), link('b.txt', 'l/a.txt')],
      { 'v1/a.txt': 'a', 'l/a.txt': 'a', 'b.txt': 'a' },
    ],
    [
      'long targets',
      [
        file('a.txt', 'a'),
        paxPart({ path: LONG }),
        file('cut', 'x'),
        paxPart({ linkpath: LONG }),
        link('p.txt', 'cut'),
        tarPart({ name: '././@LongLink', type: 'K', data: text(`${LONG}\0`) }),
        link('g.txt', 'cut'),
      ],
      { 'a.txt': 'a', [LONG]: 'x', 'p.txt': 'x', 'g.txt': 'x' },
    ],
    [
      'links that lead outside, nowhere, in a loop, or to what is left out',
      [
        ...[file('a.txt', 'a'), file('.env', 'KEY=1'), file('d/b.txt', 'b')],
        ...[
          link('out', '../../etc/passwd'),
          link('abs', '/etc/passwd'),
          link('above', '../a.txt'),
          link('none', 'missing'),
        ],
        ...[
          link('x', 'y'),
          link('y', 'x'),
          link('d/up', '..'),
          link('secret.txt', '.env'),
          link('.hidden', 'a.txt'),
        ],
      ],
      { 'a.txt': 'a', 'd/b.txt': 'b' },
      [
        '.env secret',
        '.hidden dotfile',
        'above link',
        'abs link',
        'd/up link',
        'none link',
        'out link',
        'secret.txt link',
        'x link',
        'y link',
      ],
    ],
    [
      'special files',
      [file('a.txt', 'a'), link('pipe', '', { type: '6' }), link('null', '', { type: '3' })],
      { 'a.txt': 'a' },
      ['null special', 'pipe special'],
    ],
  ]
  for (const [what, parts, files, excluded = []] of cases) {
    const published = await site('tar', Buffer.concat([...parts, TAR_END]))
    assert.deepEqual([published.files, published.excluded], [files, excluded], what)
  }
  const part = (name: string, content: string, change: Partial<ZipPart> = {}) => ({
    name,
    data: text(content),
    ...change,
  })
  const mode = 0o120777
  const zipped = await site(
    'zip',
    zip([
      part('v/a.txt', 'a'),
      part('b.txt', 'v/a.txt', { mode }),
      part('l', 'v', { mode }),
      part('out', '../x', { mode }),
    ]),
  )
  assert.deepEqual(
    [zipped.files, zipped.excluded],
    [{ 'v/a.txt': 'a', 'b.txt': 'a', 'l/a.txt': 'a' }, ['out link']],
  )
})

test('backslashes in a zip separate folders, as older programs for Windows write them, and the response says so', async () => {
  const part = (name: string, content: string) => ({ name, data: text(content) })
  const windows = zip([part('index.html', 'home'), part('css\\app.css', 'a{}'), part('img\\', '')])
  const { files, notes } = await site('zip', windows)
  assert.deepEqual(files, { 'index.html': 'home', 'css/app.css': 'a{}' })
  assert.deepEqual(notes, ['Backslashes in the names of the archive were read as folders.'])
  const above = await send(api, 'zip', zip([part('..\\..\\a.txt', 'x')]), { key: owner.key })
  assert.equal(above.status, 400)
  const both = await send(api, 'zip', zip([part('a/b\\c.txt', 'x')]), { key: owner.key })
  assert.deepEqual([both.status, both.json.details[0].field], [400, 'files[0].path'])
})

test('links to each other that make any number of paths are refused, and nothing is kept', async () => {
  const links = Array.from({ length: 40 }, (_, at) =>
    ['a', 'b'].map((name) => link(`${at}/${name}`, `../${at + 1}`)),
  )
  const archive = Buffer.concat([...links.flat(), file('40/x.txt', 'x'), TAR_END])
  const { status, json } = await assertKeepsNothing(api, owner, () =>
    send(api, 'tar', archive, { key: owner.key }),
  )
  assert.deepEqual([status, json.code], [413, 'PAYLOAD_TOO_LARGE'])
  const many = Buffer.concat([
    ...Array.from({ length: 900 }, (_, at) => file(`d/${at}.txt`, 'x')),
    ...[link('e', 'd'), link('f', 'd'), TAR_END],
  ])
  assert.match((await send(api, 'tar', many, { key: owner.key })).json.error, /too many files/)
})
