import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PublishOptions, Slipway } from '../../client/sdk/slipway.ts'
import { FULL_GRANT } from '../../server/accounts/authorization.ts'
import { Removals } from '../../server/operations/moderation/removals.ts'
import { deleteSite, Trash } from '../../server/sites/trash.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { ANONYMOUS, accountHolder } from '../../server/store/tables/usage.ts'
import { suspension } from '../store/rows.ts'
import { DAY_MS, expectFailure, startApi } from './api.ts'

const api = await startApi({ TRASH_LIFETIME: '1d' })
const { store, versions, accountDeletion, plans } = await api.operator()

const CONTENTS = ['one', 'two', 'three', 'four']

/** A site of four versions that have a file in common; returns its slug. */
async function largeSite(client: Slipway, given: Omit<PublishOptions, 'files'> = {}) {
  let target = given
  const ids: string[] = []
  for (const text of CONTENTS) {
    const contents = { 'index.html': text, 'same.txt': 'same' }
    const { slug, versionId, claimToken = target.claimToken } = await api.publish(client, contents, target)
    ids.push(versionId)
    target = { slug, ...(claimToken !== undefined && { claimToken }) }
  }
  await setFileCounts(target.slug!, ids)
  return target.slug!
}

/** Of so many files, one write deletes one version. */
async function setFileCounts(slug: string, ids: readonly string[]): Promise<void> {
  await store.write('durable', { site: slug }, async (tx) => {
    for (const id of ids) await tx.versions.update(id, { fileCount: 1500 })
  })
}

/** What the first write of a deletion does, before the process ends. */
async function beginDeletion(slug: string, reason: 'deleted' | 'expired' = 'deleted'): Promise<void> {
  await store.write('durable', { site: slug }, (tx) => deleteSite(tx, slug, reason, api.clock.now))
  await api.running.service.pollChanges()
}

const left = async (slug: string) => (await store.read.versions.bySlug(slug)).length

async function findHeld(holder: string): Promise<[bytes: number, sites: number]> {
  assert.equal(await api.sweep('usage'), 0, 'a recount differs')
  const { bytes, sites } = await store.read.usage.find(holder)
  return [bytes, sites]
}

test('a large site does not exist after the first write of its deletion, and the sweep deletes what a crash has left', async () => {
  const { client, email } = await api.account()
  const name = 'large-bakery'
  const slug = await largeSite(client, { name })
  const { siteUrl } = await client.details(slug)
  const holder = accountHolder((await store.read.accounts.byEmail(email))!.id)
  const bytes = 'onetwothreefoursame'.length
  assert.deepEqual(await findHeld(holder), [bytes, 1])
  // A suspension keeps sites in the trash, but none that its owner has deleted permanently.
  const change = { suspension: { ...suspension('a reason'), since: api.clock.now } }
  await store.write('durable', { site: slug }, (tx) => tx.sites.update(slug, change))

  await beginDeletion(slug)

  assert.equal(await left(slug), 3)
  assert.deepEqual(await findHeld(holder), [bytes - 'one'.length, 1])
  assert.equal((await api.visit(siteUrl)).status, 404)
  for (const deleted of [false, true]) assert.deepEqual((await client.list({ deleted })).publishes, [])
  assert.equal((await client.me()).usage.sites, 0)
  await expectFailure(client.undelete(slug), 'NOT_FOUND')
  await expectFailure(client.renameSite(slug, 'another-bakery'), 'NOT_FOUND')
  await expectFailure(client.delete(slug, { permanent: true }), 'NOT_FOUND')
  await expectFailure(api.publish(client, { 'index.html': 'x' }, { slug }), 'NOT_FOUND')
  await expectFailure(api.publish(client, { 'index.html': 'x' }, { name, update: true }), 'NAME_TAKEN')
  assert.equal(await api.sweep('trash'), 1)
  assert.equal(await left(slug), 0)
  assert.deepEqual(await findHeld(holder), [0, 0])
  assert.equal(await api.sweep('trash'), 0)
})

test('DELETE and the sweep of the trash delete all versions of a large site', async () => {
  const { client } = await api.account()
  const [immediate, trashed] = [await largeSite(client), await largeSite(client)]
  await client.delete(immediate, { permanent: true })
  assert.equal(await left(immediate), 0)
  await client.delete(trashed)
  api.pass(DAY_MS)
  assert.equal(await api.sweep('trash'), 1)
  assert.equal(await left(trashed), 0)
  assert.equal((await client.me()).usage.heldBytes, 0)
})

test('a site with many large uploads moves to the trash in small writes, and sweeps delete those that a crash has left', async () => {
  const account = await api.account()
  const { client, email } = account
  const owner = (await store.read.accounts.byEmail(email))!
  const slugs: string[] = []
  for (const crashes of [false, true]) {
    const { slug } = await api.publish(client, { 'index.html': 'live' })
    const ids: string[] = []
    for (const text of ['one', 'two', 'three'])
      ids.push((await api.update(client, slug, { 'index.html': text })).upload.versionId)
    await setFileCounts(slug, ids)
    let writes = 0
    const counting: Store = {
      ...store,
      write: (durability, scope, work) => {
        if (++writes > 1 && crashes) throw new Error('the database is not reachable')
        return store.write(durability, scope, work)
      },
    }
    const trash = new Trash({
      ...{ store: counting, plans, clock: () => api.clock.now, trashLifetime: DAY_MS },
      precompressor: { enqueue: () => undefined },
    })
    const caller = { account: owner, address: '127.0.0.1', signedInWith: 'key', grant: FULL_GRANT } as const
    await trash.remove(caller, slug)
    assert.deepEqual([await left(slug), writes], crashes ? [3, 2] : [1, 3])
    slugs.push(slug)
  }
  const holder = accountHolder(owner.id)
  assert.deepEqual(await findHeld(holder), ['live'.length + 'twoone'.length, 2])
  api.pass(DAY_MS)
  assert.equal(await api.sweep('abandoned'), 2)
  assert.deepEqual(await findHeld(holder), ['live'.length, 2])
  for (const slug of slugs) {
    assert.equal(await left(slug), 1)
    await client.undelete(slug)
  }
})

test('a removal by the operator is recorded once, and succeeds although its later writes fail', async () => {
  const { client } = await api.account()
  const slug = await largeSite(client)
  let writes = 0
  const failing: Store = {
    ...store,
    write: (durability, scope, work) => {
      if (++writes > 1) throw new Error('the database is not reachable')
      return store.write(durability, scope, work)
    },
  }
  const removals = new Removals({ store: failing, clock: () => api.clock.now, accountDeletion })
  await removals.deleteSite(COMMAND_LINE, slug, 'phishing')
  assert.deepEqual([writes, await left(slug)], [2, 3])
  const again = removals.deleteSite(COMMAND_LINE, slug, 'phishing')
  await assert.rejects(again, /database is not reachable/)
  assert.equal(await api.sweep('trash'), 1)
  const entries = await store.read.audit.list({ limit: 10 })
  assert.equal(entries.filter(({ target }) => target === slug).length, 1)
  assert.equal((await client.me()).usage.heldSites, 0)
})

test('the expiry of a large site without an account releases what its network holds', async () => {
  const others = await findHeld(ANONYMOUS)
  const slug = await largeSite(api.anonymous)
  const [before, sites] = await findHeld(ANONYMOUS)
  await beginDeletion(slug, 'expired')
  const [held, heldSites] = await findHeld(ANONYMOUS)
  assert.ok(held < before && held > others[0])
  assert.deepEqual([heldSites, await left(slug)], [sites, 3])
  assert.equal(await api.sweep('trash'), 1)
  assert.deepEqual(await findHeld(ANONYMOUS), others)
  const row = await store.read.sites.find(slug)
  assert.deepEqual([row?.deletionReason, row?.network], ['expired', null])
})

test('the deletion of an account deletes all versions of its large sites, also of one that it had begun', async () => {
  const { client, email } = await api.account()
  const { id } = (await store.read.accounts.byEmail(email))!
  const [begun, other] = [await largeSite(client), await largeSite(client)]
  await beginDeletion(begun)
  await client.deleteAccount(email)
  assert.deepEqual([await left(begun), await left(other)], [0, 0])
  assert.deepEqual(await store.read.usage.find(accountHolder(id)), { bytes: 0, sites: 0, revision: 0 })
})

test('large previews that have ended are deleted in several writes', async () => {
  const { client } = await api.account()
  const { slug } = await api.publish(client, { 'index.html': 'live' })
  const ids: string[] = []
  for (const preview of ['one', 'two', 'three'])
    ids.push(
      (await api.publish(client, { 'index.html': preview }, { slug, preview, ttlSeconds: 3600 })).versionId,
    )
  await setFileCounts(slug, ids)
  api.pass(DAY_MS)
  let writes = 0
  const counting: Store = {
    ...store,
    write: (durability, scope, work) => {
      writes++
      return store.write(durability, scope, work)
    },
  }
  assert.deepEqual([await versions.prune(slug, counting), writes], [3, 3])
  assert.equal((await client.versions(slug)).versions.length, 1)
})
