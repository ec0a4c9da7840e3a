import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Addresses } from '../server/address.ts'
import { Finalizing } from '../server/finalize.ts'
import { Fronts } from '../server/front/fronts.ts'
import { makeLog } from '../server/log.ts'
import { Api } from './api/api.ts'

test('a finalize that is overtaken by another of the same version says that it is live', async () => {
  await using api = await Api.start()
  const house = await api.inside()
  const contents = { 'index.html': 'home', 'about.html': 'about' }
  const { slug, upload } = await api.create(api.anonymous, contents)
  const { versionId } = upload
  await api.upload(upload, contents)

  const { blobs, store } = house
  const { versions, encodings, clock } = house.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new Addresses({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  const fronts = new Fronts({ ...house, addresses, encodings, clock })
  const finalizing = (read: typeof store.read) =>
    new Finalizing({ store: { ...store, read }, blobs, versions, encodings, addresses, fronts, clock, log })
  const caller = { account: undefined, address: '127.0.0.1', signedInWith: 'anonymous' as const }
  const overtaken = finalizing({
    ...store.read,
    versions: {
      ...store.read.versions,
      byId: async (id) => {
        const version = await store.read.versions.byId(id)
        await api.anonymous.finalize(slug, { versionId })
        return version
      },
    },
  })
  const answer = await overtaken.finalize(caller, slug, { versionId })
  assert.deepEqual([answer.currentVersionId, answer.replayed], [versionId, true])
})

test('a finalize that is sent again late does not bring an older version back', async () => {
  await using api = await Api.start()
  const site = (text: string) => {
    const bytes = new TextEncoder().encode(text)
    return {
      files: [{ path: 'index.html', size: bytes.length, contentType: 'text/html', open: () => bytes }],
    }
  }
  const first = await api.anonymous.publish(site('first'))
  const { slug, claimToken } = first
  const second = await api.anonymous.publish({ ...site('second'), slug, claimToken: claimToken! })

  const again = await api.anonymous.finalize(slug, { versionId: first.versionId })
  assert.deepEqual([again.currentVersionId, again.replayed], [second.versionId, true])
  assert.equal((await api.visit(first.siteUrl)).text, 'second')
})
