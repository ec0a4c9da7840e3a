import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type PublishedSite,
  publishRemembered,
  type ResumableOptions,
  SiteOwnedError,
} from '../../client/sdk/resume.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { file, startClientFixture } from './client-fixture.ts'
import { errorResponse } from './fake-server.ts'

const FILES = [file('index.html', 'the larger one'), file('style.css', 'two')]

describe('a publish that is remembered', () => {
  const publisher = startForEachTest(startPublisher)

  it('stores the claim token and the pending version before the first upload', async () => {
    let stored: PublishedSite | undefined
    publisher.server.intercept = (call) => {
      if (call.path.includes('/_upload/')) stored ??= publisher.site()
      return false
    }
    const { published, site } = await publisher.publish()
    const { claimToken, versions } = publisher.server.sites.get('site-1')!
    assert.equal(stored?.claimToken, claimToken)
    assert.deepEqual(stored?.pending, { versionId: [...versions.keys()][0], manifest: 'm1' })
    assert.equal(published.versionId, stored.pending?.versionId)
    const { pending: _, ...finished } = stored
    assert.deepEqual([site, publisher.site()], [finished, finished])
  })

  it('stores an update that removes files once it is confirmed', async () => {
    await publisher.publish()
    const removal = { files: 1, liveFiles: 2, index: false }
    const connect: ResumableOptions['connect'] = () => ({
      publish: (options) =>
        publisher.slipway.publish({
          ...options,
          onStaged: (staged) => options.onStaged!({ ...staged, removal }),
        }),
    })
    const update = { files: [file('new.css', 'new')], manifest: 'm2', connect }
    const onStaged = () => Promise.reject(new Error('declined'))
    await assert.rejects(publisher.publish({ ...update, onStaged }), /declined/)
    assert.equal(publisher.site()?.pending, undefined)
    publisher.server.reply(/new\.css/, 'cut')
    await assert.rejects(publisher.publish(update), { code: 'NETWORK' })
    assert.equal(publisher.site()?.pending?.manifest, 'm2')
  })

  it('stages a new version of the same site when the files differ', async () => {
    await publisher.interrupt()
    await publisher.publish({ manifest: 'm2', files: [file('index.html', 'other')] })
    assert.equal(publisher.server.log[0], 'PUT /api/v1/publish/site-1')
    assert.equal(publisher.server.live('site-1').get('index.html')!.toString(), 'other')
  })

  it('updates by claim token, also with an account, until the site is claimed', async () => {
    await publisher.publish()
    await publisher.publish({ hasAccount: true })
    const token = publisher.site()?.claimToken
    assert.ok(token)
    publisher.claim()
    await publisher.publish({ hasAccount: true })
    assert.equal(publisher.server.sites.size, 1)
    assert.deepEqual(publisher.site(), { slug: 'site-1', siteUrl: 'http://site-1.sites.test/' })
  })

  it('of an account is refused without one, before any request', async () => {
    await publisher.publish({ hasAccount: true })
    publisher.server.calls.length = 0
    await assert.rejects(publisher.publish(), (error) => {
      return error instanceof SiteOwnedError && error.cause === undefined
    })
    assert.deepEqual(publisher.server.log, [])
  })

  it('to a named site is never replaced by a new one', async () => {
    const missing = { slug: 'missing', hasAccount: true, ifChanged: true }
    await assert.rejects(publisher.publish(missing), { code: 'NOT_FOUND' })
    assert.deepEqual(publisher.server.log, ['PUT /api/v1/publish/missing'], 'asked once')
    await publisher.publish()
    publisher.server.reply(/^PUT \/api\/v1\/publish\/site-1$/, errorResponse(404, 'NOT_FOUND'))
    await assert.rejects(publisher.publish({ slug: 'site-1' }), { code: 'NOT_FOUND' })
    assert.equal(publisher.server.sites.size, 1)
    assert.deepEqual(publisher.forgotten, [])
  })

  it('sends no claim token of the remembered site to another one that is named', async () => {
    await publisher.publish()
    await assert.rejects(publisher.publish({ slug: 'other' }), SiteOwnedError)
    await publisher.publish({ slug: undefined })
    assert.equal(publisher.server.sites.size, 1)
  })

  it('tries no other credentials once a version is staged', async () => {
    await publisher.publish()
    publisher.server.reply(/^POST \/api\/v1\/publish\/site-1\/finalize$/, errorResponse(410, 'SITE_EXPIRED'))
    publisher.server.calls.length = 0
    const files = [file('index.html', 'other')]
    const failed = publisher.publish({ files, manifest: 'm2', hasAccount: true })
    await assert.rejects(failed, { code: 'SITE_EXPIRED' })
    assert.equal(publisher.server.log.filter((line) => line.startsWith('PUT /api/v1/publish/')).length, 1)
    assert.equal(publisher.site()?.pending?.manifest, 'm2')
  })
})

/** A publisher of two files at a fake server, with a memory of one site. */
async function startPublisher() {
  const { server, slipway, [Symbol.asyncDispose]: dispose } = await startClientFixture({ tries: 1 })
  let site: PublishedSite | undefined
  const forgotten: string[] = []
  return {
    server,
    slipway,
    forgotten,
    site: () => site,
    publish: (options: Partial<ResumableOptions> = {}) =>
      publishRemembered({
        files: FILES,
        manifest: 'm1',
        concurrency: 1,
        memory: {
          find: () => site,
          remember(published) {
            site = published
          },
          forget: (slug) => void forgotten.push(slug),
        },
        hasAccount: false,
        connect: (withAccount) => (withAccount ? slipway.with({ key: server.key }) : slipway),
        ...options,
      }),
    /** Aborts a publish after its first upload. */
    async interrupt() {
      server.reply(/style\.css/, 'cut')
      await assert.rejects(this.publish(), { code: 'NETWORK' })
      server.intercept = () => false
      server.calls.length = 0
    },
    claim() {
      server.sites.get('site-1')!.claimToken = undefined
    },
    [Symbol.asyncDispose]: dispose,
  }
}
