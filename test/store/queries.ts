import assert from 'node:assert/strict'
import type { SiteCursor } from '../../server/store/contract/sites.ts'
import type { Queries, WriteTransaction } from '../../server/store/store.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { blob, plain, siteRow, versionRow } from './rows.ts'

/** Promises of queries that do more than return a row. */
export function storeQueries(promises: Promises): void {
  promises(
    'queries for absent rows return undefined, 0 or an empty list, and changes to them have no effect',
    async (open) => {
      const { read, write } = await open()
      for (const [name, query] of Object.entries(queriesForAbsentRows(read)))
        assert.ok(isEmpty(await query), `${name}: ${JSON.stringify(await query)}`)
      await write('durable', async (tx) => {
        await tx.sites.update('none', { title: 'x' })
        assert.deepEqual(await tx.sites.rename('none', 'another', 0), [])
        await tx.sites.releaseName('none')
        assert.deepEqual(await tx.sites.endRedirects(1e15), [])
        await tx.versions.update('none', { state: 'ready' })
        await tx.versions.remove('none')
        await tx.versions.setThumbnail('none', 'none', Buffer.from('none'))
        await tx.versions.deleteArrivals('none', [{ fileNumber: 0, hash: 'none' }])
        await tx.accounts.setPlan('none', 'hobby')
        await tx.signIns.deleteCode('none')
        await tx.signIns.dropCodes('none')
        await tx.signIns.countAttemptTry('none')
        await tx.signIns.countOpenTry('none', 'none')
        await tx.signIns.clearFailures('none', 'none')
        await tx.signIns.deleteSession('none')
        await tx.blobReferences.removeReferences('none', [], 0)
        await tx.blobReferences.unmark([blob(1)])
        assert.equal(await tx.domains.remove('none', 'none'), false)
        await tx.domains.update({ accountId: 'none', domain: 'none' }, { reason: 'x' })
        await tx.domains.releaseReservation('none')
        await tx.certificates.update('none', { dueAt: 0 })
        await tx.acme.setAccountUrl('none', 'none')
        await tx.acme.deleteChallenges('none')
        assert.equal(await tx.domains.deleteExpiredReservations(1e15), 0)
      })
      for (const [name, query] of Object.entries(queriesForAbsentRows(read)))
        assert.ok(isEmpty(await query), name)
    },
  )

  promises(
    'a lease has one holder at a time, and a fencing number that grows with each new holder',
    async (open) => {
      const { write } = await open()
      for (const [step, { holder, now, until, fence }] of leaseSteps.entries()) {
        const got = await write('relaxed', (tx) => tx.leases.acquire('a-sweep', holder, now, until))
        assert.equal(got, fence, `step ${step}: ${holder} at ${now}`)
      }
      const holds = (holder: string, fence: number) =>
        write('relaxed', (tx) => tx.leases.isHeld('a-sweep', holder, fence))
      assert.deepEqual(
        [await holds('Bob', 2), await holds('Ann', 3), await holds('Ann', 1), await holds('Ann', 2)],
        [false, true, false, false],
      )
      assert.equal(await write('relaxed', (tx) => tx.leases.acquire('another', 'Bob', 0, 100)), 1)
    },
  )

  promises('thousands of rows can be added, counted and queried at once', async (open) => {
    const store = await open()
    const hashes = Array.from({ length: 2500 }, (_, number) => blob(number))
    const rows = hashes.map((hash, fileNumber) => ({ versionId: 'v1', fileNumber, hash, size: 7 }))
    await store.write('durable', async (tx) => {
      await tx.versions.insert(versionRow('v1', 'a-site', { state: 'pending' }))
      await tx.blobReferences.addReferences('a-site', hashes.slice(0, 1250))
      await tx.versions.recordArrivals(rows.slice(1250))
      await tx.versions.recordArrivals(rows.slice(1250).map((row) => ({ ...row, size: 8 })))
    })
    assert.equal((await store.read.blobReferences.listHashes('a-site')).length, 1250)
    assert.deepEqual(await store.read.blobReferences.findUnreferenced([...hashes, blob('other')]), [
      blob('other'),
    ])
    const arrivals = await store.read.versions.listArrivals('v1')
    assert.deepEqual(pluck(arrivals, 'size'), Array(1250).fill(8))
    await store.write('durable', async (tx) => {
      await tx.versions.clearArrivals('v1')
      await tx.blobReferences.removeReferences('a-site', hashes, 5)
    })
    assert.equal((await store.read.blobReferences.markedForDeletion(5, 5000)).length, 2500)
  })

  listings(promises)
  sweepQueries(promises)
}

function queriesForAbsentRows({
  accounts,
  sites,
  versions,
  signIns,
  blobReferences,
  domains,
  certificates,
  acme,
  counters,
}: Queries) {
  return {
    account: accounts.byId('none'),
    'account by address': accounts.byEmail('none'),
    'account by key': accounts.byKeyHash('none'),
    site: sites.bySlug('none'),
    'sites of an owner': sites.byOwner('none', { limit: 10 }),
    'sites used': sites.usage('none').then((usage) => usage.sites + usage.totalBytes),
    currentName: sites.findCurrentName('none'),
    renames: sites.countRenames('none', 0),
    version: versions.byId('none'),
    thumbnail: versions.findThumbnail('none'),
    'head of a version': versions.header('none'),
    heads: versions.headers(['none']),
    'no heads': versions.headers([]),
    'versions of a site': versions.bySlug('none'),
    'pending version': versions.newestPending('none'),
    'pending versions': versions.listNewestPending(['none']),
    'pending among': versions.pendingAmong(['none']).then((found) => found.size),
    arrivals: versions.listArrivals('none'),
    codes: signIns.codes('none'),
    sources: signIns.sources('none', ['', 'none']),
    session: signIns.session('none', 0),
    names: blobReferences.listHashes('none'),
    condemned: blobReferences.markedForDeletion(9e12, 10),
    domain: domains.find('none', 'none'),
    'active domain': domains.active('none'),
    domains: domains.byAccount('none'),
    'number of domains': domains.count('none'),
    'domains of a site': domains.bySite('none'),
    'domains due': domains.due(1e15, { limit: 10, slow: false }),
    'a www of a root': domains.secondary('none', 'none'),
    'a held domain': domains.reservation('none', 0),
    'number of held domains': domains.countReservations('none', 0),
    certificate: certificates.find('none'),
    'summary of a certificate': certificates.findSummary('none'),
    'summaries of certificates': certificates.summaries(['none']),
    'no summaries': certificates.summaries([]),
    'certificates due': certificates.due(1e15, 10, { withOrders: true }),
    'ACME account': acme.account('none'),
    challenges: acme.challenges('http-01', 'none', 0),
    'counted request': acme.nthLatestRequest({ kind: 'order' }, 1, 0),
    counter: counters.value('none', 0),
  }
}

function isEmpty(answer: unknown): boolean {
  return answer === undefined || answer === 0 || (Array.isArray(answer) && answer.length === 0)
}

const leaseSteps = [
  { holder: 'Ann', now: 0, until: 100, fence: 1 },
  { holder: 'Bob', now: 50, until: 150, fence: undefined },
  { holder: 'Ann', now: 60, until: 160, fence: 1 },
  { holder: 'Bob', now: 159, until: 300, fence: undefined },
  { holder: 'Bob', now: 160, until: 300, fence: 2 },
  { holder: 'Ann', now: 200, until: 400, fence: undefined },
  { holder: 'Bob', now: 299, until: 310, fence: 2 },
  { holder: 'Ann', now: 310, until: 400, fence: 3 },
]

function listings(promises: Promises): void {
  promises(
    'the sites of an owner are listed newest first, in pages, each once and none of others',
    async (open) => {
      const store = await open()
      await store.write('durable', async (tx) => {
        for (let number = 0; number < 23; number++) {
          const ownerId = number % 4 === 3 ? 'other' : 'owner'
          const deletedAt = number === 5 ? 1 : null
          const createdAt = Math.floor(number / 6)
          await tx.sites.insert(siteRow(`site-${number}`, { ownerId, deletedAt, createdAt }))
        }
      })
      const pages: { slug: string; createdAt: number }[][] = []
      for (let after: SiteCursor | undefined; ; ) {
        const page = await store.read.sites.byOwner('owner', { limit: 4, after })
        const last = page.at(-1)
        if (!last) break
        pages.push(page)
        after = { at: last.createdAt, slug: last.slug }
      }
      const listed = pages.flat()
      assert.equal(new Set(listed.map(({ slug }) => slug)).size, 17)
      assert.ok(listed.every((site, index) => index === 0 || listed[index - 1]!.createdAt >= site.createdAt))
    },
  )

  promises(
    'a site in the trash keeps its drafts, and is in no list but the trash of its owner',
    async (open) => {
      const store = await open()
      await store.write('durable', async (tx) => {
        for (const [slug, keptUntil] of [
          ['later', 20],
          ['sooner', 10],
        ] as const) {
          const trashed = { deletedAt: 5, deletionReason: 'deleted', keptUntil } as const
          await tx.sites.insert(siteRow(slug, { ownerId: 'owner', ...trashed }))
          await tx.versions.insert(versionRow(`${slug}-draft`, slug, { state: 'ready', publishedAt: null }))
        }
        await tx.sites.insert(siteRow('shared', { ownerId: 'other' }))
        await tx.collaborators.add({ slug: 'shared', email: 'a@example.com', addedAt: 1 })
        await tx.collaborators.add({ slug: 'shared', email: 'a@example.com', addedAt: 2 })
        await tx.collaborators.add({ slug: 'later', email: 'a@example.com', addedAt: 1 })
      })
      const { sites, versions, collaborators } = store.read
      const slugs = async (found: Promise<readonly { slug: string }[]>) =>
        (await found).map(({ slug }) => slug)
      const shared = { limit: 9, sharedWith: 'a@example.com' }
      assert.deepEqual(await slugs(sites.byOwner('owner', shared)), ['shared'])
      assert.deepEqual(await slugs(sites.byOwner('owner', { limit: 9, trash: true })), ['sooner', 'later'])
      assert.deepEqual(await slugs(sites.overdueInTrash(9, 9)), [])
      assert.deepEqual(await slugs(sites.overdueInTrash(20, 9)), ['sooner', 'later'])
      assert.deepEqual(await versions.withOldDrafts(1e15, 9), [])
      assert.deepEqual(await versions.overVersionLimit({ versions: 0, drafts: 0 }, 0, 9), [])
      assert.deepEqual(await collaborators.bySite('shared'), [
        { slug: 'shared', email: 'a@example.com', addedAt: 1 },
      ])
      await store.write('durable', (tx) => tx.collaborators.removeEmail('a@example.com'))
      assert.deepEqual(await slugs(sites.byOwner('owner', shared)), [])
    },
  )

  promises('the usage of an account is the sum of its live versions', async (open) => {
    const store = await open()
    await store.write('durable', async (tx) => {
      await tx.sites.insert(siteRow('one', { ownerId: 'owner', liveVersionId: 'v1' }))
      await tx.sites.insert(siteRow('two', { ownerId: 'owner', liveVersionId: 'v3' }))
      await tx.sites.insert(siteRow('waiting', { ownerId: 'owner' }))
      await tx.sites.insert(siteRow('gone', { ownerId: 'owner', deletedAt: 1 }))
      await tx.sites.insert(siteRow('of-others', { ownerId: 'other', liveVersionId: 'v4' }))
      await tx.versions.insert(versionRow('v1', 'one', { totalBytes: 5_000_000_000_000 }))
      await tx.versions.insert(versionRow('v2', 'one', { totalBytes: 10 }))
      await tx.versions.insert(versionRow('v3', 'two', { totalBytes: 100 }))
      await tx.versions.insert(versionRow('v4', 'of-others', { totalBytes: 1000 }))
    })
    assert.deepEqual(await store.read.sites.usage('owner'), { sites: 3, totalBytes: 5_000_000_000_100 })
  })

  promises(
    'the versions of a site are listed newest first, and the newest pending one of each is found',
    async (open) => {
      const { read, write } = await open()
      await write('durable', async (tx) => {
        for (const [id, slug, state] of [
          ['v1', 'one', 'pending'],
          ['v2', 'one', 'ready'],
          ['v3', 'one', 'pending'],
          ['v4', 'one', 'ready'],
          ['v5', 'two', 'pending'],
        ] as const) {
          await tx.versions.insert(versionRow(id, slug, { state }))
        }
      })
      const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
      assert.deepEqual(ids(await read.versions.bySlug('one')), ['v4', 'v3', 'v2', 'v1'])
      assert.equal((await read.versions.newestPending('one'))?.id, 'v3')
      assert.deepEqual(ids(await read.versions.listNewestPending(['one', 'two', 'three'])).sort(), [
        'v3',
        'v5',
      ])
      assert.deepEqual([...(await read.versions.pendingAmong(['v1', 'v2', 'v9']))], ['v1'])
      assert.deepEqual(ids(await read.versions.headers(['v5', 'v1', 'v9'])).sort(), ['v1', 'v5'])
      const {
        files: _,
        rules,
        warnings,
        injectedDocumentHash,
        ...head
      } = versionRow('v5', 'two', { state: 'pending' })
      assert.deepEqual(plain(await read.versions.header('v5')), head)
    },
  )
}

function sweepQueries(promises: Promises): void {
  promises('a blob without references is marked for deletion, and no other', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      await tx.versions.insert(versionRow('v1', 'waiting', { state: 'pending' }))
      await tx.versions.recordArrivals([
        { versionId: 'v1', fileNumber: 0, hash: blob('waited for'), size: 1 },
      ])
      await tx.blobReferences.addReferences('one', [
        blob('own'),
        blob('shared'),
        blob('waited for'),
        blob('kept'),
        blob('own'),
      ])
      await tx.blobReferences.addReferences('two', [blob('shared')])
      await tx.blobReferences.removeReferences('one', [blob('own'), blob('shared'), blob('waited for')], 1000)
    })
    assert.deepEqual(await read.blobReferences.listHashes('one'), [blob('kept')])
    assert.deepEqual(await read.blobReferences.markedForDeletion(1000, 10), [blob('own')])
    assert.deepEqual(await read.blobReferences.markedForDeletion(999, 10), [], 'its grace period starts then')
  })

  promises('received files of unknown versions are deleted when they are old', async (open) => {
    const { read, write } = await open()
    await write('durable', async (tx) => {
      await tx.versions.insert(versionRow('b-version', 'one', { state: 'pending' }))
      for (const versionId of ['a-stray', 'b-version', 'c-stray'])
        await tx.versions.recordArrivals([{ versionId, fileNumber: 0, hash: blob(versionId), size: 1 }])
      assert.equal(await tx.versions.deleteStrayArrivals('c'), 1)
    })
    const hashes = ['a-stray', 'b-version', 'c-stray'].map(blob)
    assert.deepEqual(await read.blobReferences.findUnreferenced(hashes), [blob('a-stray')])
  })

  promises('a new reference unmarks a blob; its removal starts a new grace period', async (open) => {
    const { read, write } = await open()
    const removeReference = (tx: WriteTransaction, now: number) =>
      tx.blobReferences.removeReferences('one', [blob(1)], now)
    await write('durable', async (tx) => {
      await tx.blobReferences.addReferences('one', [blob(1)])
      await removeReference(tx, 1000)
      await tx.blobReferences.addReferences('one', [blob(1)])
    })
    assert.deepEqual(await read.blobReferences.findUnreferenced([blob(1)]), [])
    await write('durable', (tx) => removeReference(tx, 5000))
    assert.deepEqual(await read.blobReferences.markedForDeletion(4999, 10), [])
    assert.deepEqual(await read.blobReferences.markedForDeletion(5000, 10), [blob(1)])
  })

  promises(
    'marked blobs are listed oldest first; marking them again keeps their time; unmarking removes them',
    async (open) => {
      const { read, write } = await open()
      await write('durable', async (tx) => {
        await tx.blobReferences.markForDeletion([blob(2)], 2000)
        await tx.blobReferences.markForDeletion([blob(1)], 1000)
        await tx.blobReferences.markForDeletion([blob(3)], 3000)
        assert.equal(await tx.blobReferences.markForDeletion([blob(1), blob(2), blob(4)], 9000), 1)
        await tx.blobReferences.unmark([blob(4)])
      })
      assert.deepEqual(await read.blobReferences.markedForDeletion(2500, 10), [blob(1), blob(2)])
      assert.deepEqual(await read.blobReferences.markedForDeletion(9000, 1), [blob(1)])
      await write('durable', (tx) => tx.blobReferences.unmark([blob(1), blob(3)]))
      assert.deepEqual(await read.blobReferences.markedForDeletion(9000, 10), [blob(2)])
    },
  )

  promises(
    'expired sites, abandoned versions and sites over the version limit are found by time',
    async (open) => {
      const store = await open()
      await store.write('durable', fillForSweeps)
      const { sites, versions } = store.read
      const slugs = async (rows: Promise<{ slug: string }[]>) => (await rows).map(({ slug }) => slug)
      assert.deepEqual(await slugs(sites.expired(1000, 10)), ['over-900', 'over-1000'])
      assert.deepEqual(await slugs(sites.expired(1000, 1)), ['over-900'])
      assert.deepEqual(await slugs(versions.abandoned(500, 10)), ['waiting-100', 'waiting-400'])
      assert.deepEqual(await versions.overVersionLimit({ versions: 2, drafts: 9 }, 0, 10), ['crowded'])
      const isOver = { versions: 2, drafts: 0 }
      assert.deepEqual(await versions.overVersionLimit(isOver, 1001, 10), [], 'no change since then')
      assert.deepEqual(await versions.overVersionLimit({ versions: 3, drafts: 2 }, 0, 10), [])
      assert.deepEqual(await versions.overVersionLimit({ versions: 3, drafts: 1 }, 0, 10), ['forever'])
      assert.deepEqual(await versions.withOldDrafts(2000, 10), ['forever'])
      assert.deepEqual(await versions.withOldDrafts(1000, 10), [])
    },
  )
}

async function fillForSweeps(tx: WriteTransaction): Promise<void> {
  const sites: Record<string, Parameters<typeof siteRow>[1]> = {
    'over-1000': { expiresAt: 1000, liveVersionId: 'v' },
    'over-900': { expiresAt: 900, liveVersionId: 'v' },
    'over-later': { expiresAt: 1001, liveVersionId: 'v' },
    'over-and-gone': { expiresAt: 900, deletedAt: 950, deletionReason: 'expired' },
    crowded: { liveVersionId: 'r3' },
    forever: { liveVersionId: 'r9' },
  }
  for (const [slug, change] of Object.entries(sites)) await tx.sites.insert(siteRow(slug, change))
  for (const at of [100, 400, 500, 600]) {
    await tx.versions.insert(versionRow(`p${at}`, `waiting-${at}`, { state: 'pending', createdAt: at }))
  }
  for (const id of ['r1', 'r2', 'r3'])
    await tx.versions.insert(versionRow(id, 'crowded', { publishedAt: 1000 }))
  await tx.versions.insert(versionRow('r4', 'crowded', { state: 'pending' }))
  for (const id of ['r8', 'r9']) await tx.versions.insert(versionRow(id, 'forever'))
}
