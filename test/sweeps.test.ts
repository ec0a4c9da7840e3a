import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openForOperator } from '../server/app.ts'
import { readConfig } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { runOnce } from '../server/jobs/scheduler.ts'
import { makeLog } from '../server/lib/log.ts'
import { keep, received } from './blobs/bytes.ts'
import { siteRow, versionRow } from './store/rows.ts'

const DAY_MS = 86_400_000

/** Seconds that a blob without references is kept. */
const GRACE_SECONDS = 600

/** A data folder with its store and blobs, and a clock that starts at `start`. */
async function emptyFolder(start: number) {
  const clock = { now: start }
  const stack = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), 'slipway-sweeps-'))
  stack.defer(() => rm(data, { recursive: true, force: true }))
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const config = readConfig({ SLIPWAY_DATA: data, SLIPWAY_BLOB_GRACE: `${GRACE_SECONDS}` })
  const context = stack.use(await openForOperator(config, { log, version: 'test', clock: () => clock.now }))
  const sweep = (name: string) => runOnce(sweeps.find((one) => one.name === name)!, context.sweepOptions)
  const { store, blobs } = context
  return { store, blobs, clock, sweep, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('an abandoned site is deleted behind any number of older drafts', async () => {
  await using folder = await emptyFolder(3 * DAY_MS)
  await folder.store.write('durable', async (tx) => {
    for (let number = 0; number < 150; number++) {
      const slug = `draft-${number}`
      await tx.sites.insert(siteRow(slug, { createdAt: number }))
      await tx.versions.insert(versionRow(`${number}`, slug, { state: 'ready', createdAt: number }))
    }
    await tx.sites.insert(siteRow('staged-again', { createdAt: 500 }))
    await tx.versions.insert(
      versionRow('new', 'staged-again', { state: 'pending', createdAt: 3 * DAY_MS - 1 }),
    )
    await tx.sites.insert(siteRow('abandoned', { createdAt: 1000 }))
    await tx.versions.insert(versionRow('old', 'abandoned', { state: 'pending', createdAt: 1000 }))
  })
  await folder.sweep('abandoned')
  const deletionReason = async (slug: string) => (await folder.store.read.sites.bySlug(slug))?.deletionReason
  assert.equal(await deletionReason('abandoned'), 'abandoned')
  assert.equal(await deletionReason('draft-149'), null)
  assert.equal(await deletionReason('staged-again'), null)
  assert.equal(await folder.sweep('abandoned'), 0)
})

test('a blob without references is deleted after the grace period, not before', async () => {
  await using folder = await emptyFolder(DAY_MS)
  const { blobs, clock, store, sweep } = folder
  const bytes = Buffer.from('without references')
  await keep(blobs, bytes)
  const { hash } = received(bytes)
  await store.write('relaxed', (tx) => tx.blobReferences.markForDeletion([hash], clock.now))
  clock.now += GRACE_SECONDS * 1000 - 1
  await sweep('blobs')
  assert.deepEqual(await blobs.bytes(hash), bytes)
  clock.now += 1
  await sweep('blobs')
  assert.equal(await blobs.bytes(hash), undefined)
})
