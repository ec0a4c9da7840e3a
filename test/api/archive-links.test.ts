import assert from 'node:assert/strict'
import { test } from 'node:test'
import { text } from '../archive/bytes.ts'
import { paxPart, TAR_END, type TarPart, tarPart } from '../archive/tar-file.ts'
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
  const all = await Promise.all(contents)
  const [found, types] = [1, 2].map((at) => Object.fromEntries(all.map((one) => [one[0], one[at]])))
  return { files: found, types, excluded: excluded.sort(), notes: json.notes, json }
}

const LONG = `${'long/'.repeat(30)}target.txt`

test('a tar is the site that the folder unpacked from it would be', async () => {
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
      'a link to a later file',
      [link('x/b.txt', '../y/a.txt'), file('y/a.txt', 'a')],
      { 'x/b.txt': 'a', 'y/a.txt': 'a' },
    ],
    [
      'links in a loop, which are left out',
      [file('a.txt', 'a'), link('b', 'c'), link('c', 'b'), link('d', 'd/e'), link('e', './')],
      { 'a.txt': 'a' },
      ['b link', 'c link', 'd link', 'e link'],
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
  ]
  for (const [what, parts, files, excluded = []] of cases) {
    const published = await site('tar', Buffer.concat([...parts, TAR_END]))
    assert.deepEqual([published.files, published.excluded], [files, excluded], what)
  }
})

test('a link has the type of its own name, and without one that of its file', async () => {
  const parts = [file('a.txt', 'a'), hardLink('a.html', 'a.txt'), file('B', 'b'), link('C', 'B'), TAR_END]
  const { types } = await site('tar', Buffer.concat(parts))
  assert.deepEqual(types, { 'a.html': 'text/html', 'a.txt': 'text/plain', B: 'text/plain', C: 'text/plain' })
})

test('a hard link to a file that is left out is refused, with the option that keeps its bytes, unless that is a secret', async () => {
  const parts = (target: string) => [
    file(target, 'x'),
    hardLink('dist/a.js', target),
    file('b.txt', 'b'),
    TAR_END,
  ]
  const refused = await send(api, 'tar', Buffer.concat(parts('node_modules/a.js')), { key: owner.key })
  const message =
    'is a hard link to node_modules/a.js, which is left out; create the archive with tar --hard-dereference'
  assert.deepEqual([refused.status, refused.json.details], [400, [{ field: 'dist/a.js', message }]])
  const { files, excluded } = await site('tar', Buffer.concat(parts('.env')))
  assert.deepEqual([files, excluded], [{ 'b.txt': 'b' }, ['.env secret', 'dist/a.js secret']])
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
