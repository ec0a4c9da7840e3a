import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createObjectName } from '../../server/blobs/blobs.ts'
import { PendingManifestCache } from '../../server/publish/pending-uploads.ts'
import { UploadRecorder } from '../../server/publish/upload-recorder.ts'
import type { Store } from '../../server/store/store.ts'
import { pluck } from '../support/pluck.ts'
import { silentLog } from '../support/silent-log.ts'
import { startApi, toTarget } from './api.ts'
import { toEntry, toManifest } from './content.ts'

// A signed URL is valid only for the file and version that it was signed for, in every notation.

const api = await startApi()
const victim = await api.account()

const UPLOADS = '/api/v1/_upload/'
const put = (target: string, body: string | Buffer, headers: Record<string, string>) =>
  api.request('PUT', target, { body, headers })

/** A pending version of another account with its first file uploaded and its second one missing. */
async function victimVersion() {
  const contents = { x: 'their file', 'index.html': 'their page' }
  const { slug, siteUrl, upload } = await victim.client.create({ files: toManifest(contents) })
  await api.anonymous.upload(upload.uploads[0]!, Buffer.from(contents.x))
  return { slug, siteUrl, versionId: upload.versionId, contents, upload }
}

type Spelling = [
  how: string,
  spell: (key: string, victim: { slug: string; versionId: string }) => string,
  isOwn?: 'valid for its own version',
]
const isOwn = 'valid for its own version'
const spellings: Spelling[] = [
  ['with its first slash encoded', (key) => key.replace('/', '%2F'), isOwn],
  ['with its first slash encoded in lower case', (key) => key.replace('/', '%2f'), isOwn],
  ['with its first slash encoded twice', (key) => key.replace('/', '%252F')],
  ['with its second slash encoded', (key) => key.replace(/^([^/]*\/[^/]*)\//, '$1%2F'), isOwn],
  ['with every slash encoded', (key) => key.replaceAll('/', '%2F'), isOwn],
  ['with a slug in front', (key, { slug }) => `${slug}/${key}`],
  ['without its own names', (key, { slug }) => key.replace(/^[^/]*\/[^/]*/, slug)],
  ['with dots for its own version', (key) => key.replace(/\/[^/]*\//, '/../')],
  ['with encoded dots behind its own version', (key) => key.replace(/^([^/]*\/[^/]*)\//, '$1%2F%2e%2e/')],
  ['with an empty segment', (key) => key.replace('/', '//')],
  ['with an encoded null byte', (key) => key.replace('/', '%00/')],
  ['in capital letters', (key) => key.toUpperCase()],
]
test('an upload URL is not valid for a version of another account in any notation', async () => {
  for (const [how, spell, own] of spellings) {
    const { slug, versionId, siteUrl, contents, upload } = await victimVersion()
    const entry = { path: `${versionId}/x`, size: 3, contentType: 'text/plain' }
    const created = await api.anonymous.create({ files: [entry] })
    const [key = '', query] = toTarget(created.upload.uploads[0]!.url).slice(UPLOADS.length).split('?')
    const target = `${UPLOADS}${spell(key, { slug, versionId })}?${query}`
    const answer = await put(target, 'bad', { 'content-type': 'text/plain' })
    if (own) assert.equal(answer.json.path, entry.path, `${how}: ${answer.text}`)
    else assert.ok([403, 404].includes(answer.status), `${how}: ${target}: ${answer.text}`)
    await api.anonymous.upload(upload.uploads[1]!, Buffer.from(contents['index.html']))
    await victim.client.finalize(slug, { versionId })
    assert.equal((await api.visit(siteUrl, '/x')).text, contents.x, how)
  }
})

describe('the manifest of a version that has just been stored', () => {
  const changes: [what: string, names: readonly string[] | undefined, isKept: boolean][] = [
    ['another site', ['another'], true],
    ['its site', ['another', 'a-site'], false],
    ['any site, as after missed changes,', undefined, false],
  ]
  for (const [what, names, isKept] of changes)
    test(`is ${isKept ? '' : 'not '}kept in memory when ${what} has changed since`, async () => {
      const { store } = await api.operator()
      const manifests = new PendingManifestCache({ store })
      const { generation } = manifests
      manifests.invalidate(names)
      const expected = { skipped: new Set<number>(), isNew: true, expiresAt: null, anonymous: undefined }
      const staged = { slug: 'a-site', versionId: 'finalized since', files: toManifest({ 'a.txt': 'a' }) }
      manifests.add({ ...staged, ...expected, removal: undefined, changes: undefined }, generation)
      assert.equal((await manifests.load(staged.versionId, store.read)) !== undefined, isKept)
    })
})

describe('an uploaded file', () => {
  const recorderOf = (store: Store, remove: (objects: readonly string[]) => Promise<void>) =>
    new UploadRecorder({
      ...{ store, blobs: { remove }, log: silentLog },
      manifests: new PendingManifestCache({ store }),
    })

  test('that replaces another one is durable before the bytes of the other one are deleted', async () => {
    const files = toManifest({ 'a.txt': 'right' }).map(({ hash: _, ...file }) => file)
    const { slug, upload } = await victim.client.create({ files })
    const { store } = await api.operator()
    const steps: string[] = []
    const write: Store['write'] = async (durability, scope, work) => {
      const result = await store.write(durability, scope, work)
      steps.push(durability)
      return result
    }
    const recorder = recorderOf({ ...store, write }, async (objects) => void steps.push(`remove ${objects}`))
    const [first, second] = ['1', '2'].map((digit) => {
      const own = { object: createObjectName(0), piecesHash: null }
      return { versionId: upload.versionId, fileNumber: 0, hash: digit.repeat(64), size: 5, ...own }
    })
    await recorder.add(slug, [first!])
    await recorder.add(slug, [second!])
    assert.deepEqual(steps, ['unread', 'unread', 'durable', `remove ${first!.object}`, 'relaxed'])
  })

  test('is recorded while those of another site wait, and while the bytes of a replaced one are deleted', async () => {
    const files = toManifest({ 'a.txt': 'right', 'b.txt': 'right' }).map(({ hash: _, ...file }) => file)
    const [waiting, other] = [await victim.client.create({ files }), await victim.client.create({ files })]
    const { store } = await api.operator()
    const [removal, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const write: Store['write'] = async (durability, scope, work) => {
      if ('site' in scope && [scope.site].flat().includes(waiting.slug)) await release.promise
      return store.write(durability, scope, work)
    }
    const recorder = recorderOf({ ...store, write }, () => {
      removal.resolve()
      return release.promise
    })
    const add = ({ slug, upload: { versionId } }: typeof waiting, fileNumber: number, digit: string) => {
      const own = { object: createObjectName(0), piecesHash: null }
      return recorder.add(slug, [{ versionId, fileNumber, hash: digit.repeat(64), size: 5, ...own }])
    }
    await add(other, 0, '1')
    const held = [add(waiting, 0, '1'), add(other, 0, '2')]
    await removal.promise
    await add(other, 1, '1')
    release.resolve()
    await Promise.all(held)
  })

  const differences: [how: string, more: object][] = [
    ['a number that the manifest does not have', { fileNumber: 7 }],
    ['a negative number', { fileNumber: -1 }],
    ['another size', { size: 6 }],
    ['another hash than the manifest declares', { hash: '0'.repeat(64) }],
  ]
  for (const [how, more] of differences) {
    test(`with ${how} is not recorded, even without the check before its body`, async () => {
      const contents = { 'a.txt': 'right', 'b.txt': 'b' }
      const { slug, upload } = await victim.client.create({ files: toManifest(contents) })
      const { versionId } = upload
      const { store } = await api.operator()
      const recorder = recorderOf(store, async () => undefined)
      const toRow = (number: number, path: 'a.txt' | 'b.txt') => {
        const { hash, size } = toEntry(path, contents[path])
        return { versionId, fileNumber: number, hash, size, object: createObjectName(0), piecesHash: null }
      }
      const [, refusal] = await Promise.allSettled([
        recorder.add(slug, [toRow(1, 'b.txt')]),
        // Of a bundle, also beside a right one.
        recorder.add(slug, [toRow(1, 'b.txt'), { ...toRow(0, 'a.txt'), ...more }]),
      ])
      assert.equal(refusal.status === 'rejected' && refusal.reason.code, 'INVALID_UPLOAD_TOKEN')
      const recorded = await store.read.versions.listArrivals(versionId)
      assert.deepEqual(pluck(recorded, 'fileNumber'), [1])
    })
  }
})
