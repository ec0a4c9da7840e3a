import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { recordFormerFiles } from '../../server/sites/version.ts'
import { listObjects } from '../blobs/bytes.ts'
import { versionRow } from '../store/rows.ts'
import { Api, DAY_MS, expectFailure, HOUR_MS, startApi } from './api.ts'
import { sha256, toPlainManifest } from './content.ts'

const api = await startApi()
const owner = await api.account()

/** Publishes this many versions or drafts; returns their ids, the oldest first. */
async function publishMany(count: number, { slug, live = true }: { slug?: string; live?: boolean } = {}) {
  const ids: string[] = []
  let published: { slug: string | undefined } = { slug }
  for (let number = 0; number < count; number++) {
    const contents = { 'index.html': `${live ? 'version' : 'draft'} ${number}` }
    const answer = await api.publish(owner.client, contents, { slug: published.slug, live })
    published = answer
    ids.push(answer.versionId)
  }
  return { slug: published.slug!, ids }
}

const keptIds = async (slug: string) => {
  await api.sweep('old-versions')
  return (await owner.client.versions(slug)).versions.map(({ versionId }) => versionId)
}

describe('of the versions of a site', () => {
  test('ten that were live and ten drafts are kept, and neither evicts the other', async () => {
    const { slug, ids } = await publishMany(3)
    const drafts = await publishMany(12, { slug, live: false })
    assert.deepEqual(await keptIds(slug), [...drafts.ids.slice(2).reverse(), ...ids.reverse()])
    const later = await publishMany(9, { slug })
    assert.deepEqual(await keptIds(slug), [...later.ids.reverse(), ...drafts.ids.slice(2).reverse(), ids[0]])
    await expectFailure(owner.client.restore(slug, ids[1]!), 'NOT_FOUND')
  })

  test('ten different ones are kept: publishing the same files again evicts none of them', async () => {
    const { slug, ids } = await publishMany(9)
    const repeated: string[] = []
    for (let count = 0; count < 12; count++) {
      const { versionId } = await api.publish(owner.client, { 'index.html': 'same' }, { slug })
      repeated.unshift(versionId)
    }
    assert.deepEqual(await keptIds(slug), [repeated[0], ...ids.toReversed()])
    await owner.client.restore(slug, ids[0]!)
    const { versionId } = await api.publish(owner.client, { 'index.html': 'version 0' }, { slug })
    assert.deepEqual(await keptIds(slug), [versionId, repeated[0], ...ids.slice(1).toReversed()])
  })

  test('the last ten that were live are kept: a restored old one, too, after the next publish has replaced it', async () => {
    const { slug, ids } = await publishMany(10)
    api.pass()
    await owner.client.restore(slug, ids[0]!)
    const { versionId } = await api.publish(owner.client, { 'index.html': 'next' }, { slug })
    assert.deepEqual(await keptIds(slug), [versionId, ...ids.slice(2).toReversed(), ids[0]])
    assert.equal((await owner.client.restore(slug, ids[0]!)).previousVersionId, versionId)
  })
})

test('a site that never went live outlives its last draft and its last preview, with its settings', async () => {
  const { slug } = await publishMany(1, { live: false })
  const { slug: staging } = await api.publish(owner.client, { 'index.html': 'x' }, { preview: 'pr-1' })
  for (const each of [slug, staging]) await owner.client.addCollaborator(each, 'colleague@example.com')
  api.pass(31 * DAY_MS)
  assert.deepEqual(await keptIds(slug), [])
  await api.sweep('abandoned')
  for (const each of [slug, staging])
    assert.equal((await owner.client.collaborators(each)).collaborators.length, 1)
  await publishMany(1, { slug })
})

test('operators set the number of versions and drafts, and the lifetime of drafts', async () => {
  await using few = await Api.start({ VERSIONS_KEPT: '2', DRAFTS_KEPT: '2', DRAFT_LIFETIME: '3600' })
  const { client } = await few.account()
  const { slug } = await few.publish(client, { 'index.html': '0' })
  for (const number of ['1', '2', '3']) await few.publish(client, { 'index.html': number }, { slug })
  for (const number of ['4', '5', '6'])
    await few.publish(client, { 'index.html': number }, { slug, live: false })
  assert.equal((await client.me()).limits.versionsKept, 2)
  for (const [seconds, kept] of [
    [0, 4],
    [3599, 4],
    [2, 2],
  ] as const) {
    few.pass(seconds * 1000)
    await few.sweep('old-versions')
    assert.equal((await client.versions(slug)).versions.length, kept)
  }
})

test('former files outlive their versions, within their hour, and count for their owner until then', async () => {
  await using few = await Api.start({ VERSIONS_KEPT: '2', BLOB_GRACE: '0' })
  const { client } = await few.account()
  const { blobs } = await few.operator()
  const publish = (number: number, slug?: string, preview?: string) =>
    few.publish(
      client,
      { 'index.html': 'page', [`app.${number}.js`]: `script ${number}` },
      { slug, ...(preview && { preview }) },
    )
  const { slug, siteUrl, versionId } = await publish(0)
  for (const number of [1, 2, 3, 4]) await publish(number, slug)
  const state = async () => {
    for (const sweep of ['old-versions', 'blobs']) await few.sweep(sweep)
    const statuses: number[] = []
    for (const number of [0, 1, 4]) statuses.push((await few.visit(siteUrl, `/app.${number}.js`)).status)
    return [statuses, (await listObjects(blobs)).length, (await client.me()).usage.heldBytes]
  }
  await expectFailure(client.restore(slug, versionId), 'NOT_FOUND')
  const page = 'page'.length
  const script = 'script 0'.length
  assert.deepEqual(await state(), [[200, 200, 200], 6, page + 5 * script])
  few.pass(HOUR_MS - 1000)
  assert.deepEqual(await state(), [[200, 200, 200], 6, page + 5 * script])
  few.pass(2000)
  assert.deepEqual(await state(), [[404, 404, 200], 3, page + 2 * script])
  await publish(5, slug, 'pr-42')
  await publish(6, slug, 'pr-42')
  assert.deepEqual(await state(), [[404, 404, 200], 5, page + 4 * script])
  few.pass(HOUR_MS)
  assert.deepEqual(await state(), [[404, 404, 200], 4, page + 3 * script])
})

test('beyond 5,000 former files those that went away first are dropped', async () => {
  const { slug } = await api.publish(owner.client, { 'index.html': 'x' })
  const { store } = await api.operator()
  const goAway = async (prefix: string, count: number) => {
    const file = { size: 1, contentType: 'text/plain', hash: sha256('x') }
    const files = Array.from({ length: count }, (_, number) => ({ path: `${prefix}${number}`, ...file }))
    await store.write('durable', { site: slug }, async (tx) => {
      await tx.rows.insert('versions', versionRow(`${prefix} of ${slug}`, slug, { files }))
      const site = (await tx.sites.find(slug))!
      const next = { files: [], changes: null }
      const replaced = { replacedId: `${prefix} of ${slug}`, next, previewName: null }
      await recordFormerFiles(tx, site, replaced, api.clock.now)
    })
    api.pass(1000)
  }
  await goAway('earlier', 5000)
  await goAway('later', 10)
  const [former] = await store.read.versions.listFormer(slug)
  const later = former!.files.filter(({ path }) => path.startsWith('later'))
  assert.deepEqual([former!.files.length, later.length], [5000, 10])
})

test('a former file that returns in an upload without hashes stays stored after its hour', async () => {
  await using few = await Api.start({ VERSIONS_KEPT: '1', BLOB_GRACE: '0' })
  const { client } = await few.account()
  const { blobs } = await few.operator()
  const page = { 'index.html': 'page' }
  const contents = { ...page, 'app.js': 'script' }
  const { slug } = await few.publish(client, contents)
  await few.publish(client, page, { slug })
  await few.sweep('old-versions')
  const { upload } = await client.update(slug, { files: toPlainManifest(contents) })
  await few.upload(upload, contents)
  await client.finalize(slug, upload)
  for (const wait of [0, HOUR_MS]) {
    few.pass(wait)
    for (const sweep of ['old-versions', 'blobs']) await few.sweep(sweep)
    assert.equal((await listObjects(blobs)).length, 2)
    assert.equal((await client.me()).usage.heldBytes, 'pagescript'.length)
  }
})
