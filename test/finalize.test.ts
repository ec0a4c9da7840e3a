import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Blobs } from '../server/blobs/blobs.ts'
import { makeLog } from '../server/lib/log.ts'
import { Finalizer } from '../server/publish/finalize.ts'
import { UrlBuilder } from '../server/sites/urls.ts'
import { Api } from './api/api.ts'
import { withMethods } from './store/with-methods.ts'

test('a finalize overtaken by another of the same version reports that it is live', async () => {
  await using api = await Api.start()
  const context = await api.operator()
  const contents = { 'index.html': 'home', 'about.html': 'about' }
  const { slug, upload } = await api.create(api.anonymous, contents)
  const { versionId } = upload
  await api.upload(upload, contents)

  const { blobs, store } = context
  const { versions, precompressor, clock } = context.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new UrlBuilder({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  const finalizing = (read: typeof store.read) =>
    new Finalizer({
      store: { ...store, read },
      blobs,
      versions,
      precompressor,
      addresses,
      clock,
      log,
    })
  const caller = { account: undefined, address: '127.0.0.1', signedInWith: 'anonymous' as const }
  const overtaken = finalizing({
    ...store.read,
    versions: withMethods(store.read.versions, {
      byId: async (id) => {
        const version = await store.read.versions.byId(id)
        await api.anonymous.finalize(slug, { versionId })
        return version
      },
    }),
  })
  const answer = await overtaken.finalize(caller, slug, { versionId })
  assert.deepEqual([answer.currentVersionId, answer.replayed], [versionId, true])
})

test('concurrent finalizes of one version do its work once', async () => {
  await using api = await Api.start()
  const context = await api.operator()
  const contents = { 'index.html': 'home', 'about.html': 'about' }
  const { slug, upload } = await api.create(api.anonymous, contents)
  const { versionId } = upload
  await api.upload(upload, contents)
  let settled = 0
  const blobs: Blobs = {
    ...context.blobs,
    async commit(area, received) {
      settled++
      return context.blobs.commit(area, received)
    },
  }
  const { versions, precompressor, clock } = context.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new UrlBuilder({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  const services = { store: context.store, blobs, versions, precompressor, addresses, clock, log }
  await using finalizing = new Finalizer(services)
  let charged = 0
  const charge = async () => void charged++
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, number) => {
      const caller = { account: undefined, address: `192.0.2.${number}`, signedInWith: 'anonymous' as const }
      return finalizing.finalize(caller, slug, { versionId }, charge)
    }),
  )
  assert.deepEqual([settled, charged], [1, 19])
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1)
})

test('a draft that waits for a refused finalize of its version does not stop the event loop', async () => {
  await using api = await Api.start()
  const inside = await api.operator()
  const contents = { 'index.html': 'home' }
  const { slug, upload } = await api.create(api.anonymous, contents)
  const { versionId } = upload
  const [started, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let commits = 0
  const blobs: Blobs = {
    ...inside.blobs,
    async commit(_, received) {
      if (++commits === 2) {
        started.resolve()
        await released.promise
      }
      return [...received]
    },
  }
  const { versions, precompressor, clock } = inside.sweepOptions
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const addresses = new UrlBuilder({ baseUrl: api.baseUrl, siteDomain: 'localhost' })
  await using finalizer = new Finalizer({
    ...{ store: inside.store, blobs, versions, precompressor, addresses, clock, log },
  })
  const caller = { account: undefined, address: '127.0.0.1', signedInWith: 'anonymous' as const }
  const finalize = (live: boolean) =>
    finalizer.finalize(caller, slug, { versionId, live }, async () => void (await setImmediate()))

  await api.upload(upload, contents)
  await assert.rejects(finalize(true), { code: 'UPLOADS_MISSING' })
  await api.upload(upload, contents)
  const refused = finalize(true)
  await started.promise
  const both = Promise.allSettled([refused, finalize(false)])
  await setImmediate()
  released.resolve()
  assert.deepEqual(
    (await both).map((outcome) => outcome.status === 'rejected' && outcome.reason.code),
    ['UPLOADS_MISSING', 'UPLOADS_MISSING'],
  )
})

test('a late retry of a finalize does not restore an older version', async () => {
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
