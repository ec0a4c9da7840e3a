import assert from 'node:assert/strict'
import type { OwnerPage } from '../../server/store/queries/sites.ts'
import type { KeptVersions } from '../../server/store/queries/versions.ts'
import { BEING_DELETED } from '../../server/store/tables/sites.ts'
import { recordsOf } from '../blobs/bytes.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { accountRow, blob, siteRow, storedBlob, versionRow } from './rows.ts'

const ALL_PLANS = { except: [] }

const FIRST_SITE = { at: 0, slug: '' }

/** Promises of queries that do more than return a row. */
export function storeQueries(promises: Promises): void {
  promises(
    'a lease has one holder at a time, and a fencing number that grows with each new holder',
    async (open) => {
      const { write } = await open()
      for (const [step, { holder, now, until, fence }] of leaseSteps.entries()) {
        const got = await write('relaxed', {}, (tx) => tx.leases.acquire('a-sweep', holder, now, until))
        assert.equal(got, fence, `step ${step}: ${holder} at ${now}`)
      }
      const holds = (holder: string, fence: number) =>
        write('relaxed', {}, (tx) => tx.leases.isHeld('a-sweep', holder, fence))
      assert.deepEqual(
        [await holds('Bob', 2), await holds('Ann', 3), await holds('Ann', 1), await holds('Ann', 2)],
        [false, true, false, false],
      )
      assert.equal(await write('relaxed', {}, (tx) => tx.leases.acquire('another', 'Bob', 0, 100)), 1)
    },
  )

  promises('thousands of rows can be added, counted and queried in one call', async (open) => {
    const store = await open()
    const stored = Array.from({ length: 2500 }, (_, number) => storedBlob(number))
    const arrivals = stored.map((one, fileNumber) => ({ ...one, versionId: 'v1', fileNumber }))
    const files = stored.map(({ hash, size }) => ({ path: hash, size, contentType: 'text/plain', hash }))
    await store.write('durable', {}, async (tx) => {
      await tx.rows.insert('versions', versionRow('v1', 'a-site', { state: 'pending', files }))
      assert.deepEqual(await tx.versions.recordArrivals(arrivals), [])
    })
    assert.equal((await store.read.versions.listArrivals('v1')).length, 2500)
    await store.write('durable', {}, async (tx) => {
      assert.equal((await tx.versions.takeArrivals('v1')).length, 2500)
      assert.equal((await tx.blobs.add('a-site', stored)).objects.size, 2500)
    })
    assert.equal((await recordsOf(store.read, ['v1'])).length, 2500)
    const objects = stored.map(({ object }) => object)
    assert.deepEqual(await store.read.blobs.withoutRow([...objects, 'another']), ['another'])
    await store.write('durable', {}, async (tx) => {
      await tx.blobs.removeReferences('a-site', pluck(stored, 'hash'), 5)
      for (let step = 0; step < 5; step++)
        assert.deepEqual(await tx.blobs.collect(5, 500), { examined: 500, deleted: 500 })
      await tx.blobs.discard(['another'], 6)
    })
    assert.deepEqual((await store.read.blobs.listDiscarded(5, 5000)).sort(), objects.sort())
    await store.write('durable', {}, (tx) => tx.blobs.forgetDiscarded(objects))
    assert.deepEqual(await store.read.blobs.listDiscarded(6, 5000), ['another'])
  })

  promises('a text with a NUL or half a surrogate pair finds nothing', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, (tx) => tx.sites.insert(siteRow('a-b')))
    for (const text of ['a\0b', '\0', 'a\ud800b']) {
      assert.equal(await read.sites.find(text), undefined)
      assert.equal(await read.versions.header(text), undefined)
      await write('durable', {}, (tx) => tx.rows.remove('domains', { accountId: 'ann', domain: text }))
    }
  })

  promises('a decrement of a counter undoes an increment', async (open) => {
    const { write } = await open()
    const add = (caller: string) => write('relaxed', {}, (tx) => tx.counters.add(caller, 0))
    assert.deepEqual([await add('one'), await add('one'), await add('two')], [1, 2, 1])
    await write('relaxed', {}, async (tx) => {
      await tx.counters.decrement('one', 0)
      await tx.counters.decrement('one', 3600)
    })
    assert.deepEqual([await add('one'), await add('two')], [2, 2])
  })

  promises('windows of counters are counted and read together', async (open) => {
    const { read, execute } = await open()
    const [one, other] = [
      { caller: 'one', windowStart: 0 },
      { caller: 'two', windowStart: 3600 },
    ]
    await execute('relaxed', ({ counters }) => counters.addEach([one, other]))
    await execute('relaxed', ({ counters }) => counters.addEach([other]))
    assert.deepEqual(await read.counters.values([other, { ...one, windowStart: 3600 }, one]), [2, 0, 1])
  })

  promises(
    'the hashes that versions need are found in their manifests and documents, not in paths',
    async (open) => {
      const { read, write } = await open()
      const file = (hash: string, path = hash) => ({ path, hash, size: 1, contentType: 'text/plain' })
      const many = Array.from({ length: 30 }, (_, number) => blob(number))
      const staged = Array.from({ length: 30 }, (_, number) => blob(`staged ${number}`))
      await write('durable', {}, async (tx) => {
        await tx.rows.insert(
          'versions',
          versionRow('v1', 'a-site', { files: many.map((hash) => file(hash)) }),
        )
        await tx.rows.insert(
          'versions',
          versionRow('v2', 'a-site', { injectedDocumentHash: blob('document') }),
        )
        await tx.rows.insert(
          'versions',
          versionRow('v3', 'a-site', { files: [file(blob('newest'), blob('a path'))] }),
        )
        await tx.rows.insert(
          'versions',
          versionRow('v4', 'another-site', { files: [file(blob('elsewhere'))] }),
        )
        const pending = { state: 'pending', files: staged.map((hash) => file(hash)) } as const
        await tx.rows.insert('versions', versionRow('v5', 'a-site', pending))
        // More than a page.
        for (let number = 0; number < 12; number++)
          await tx.rows.insert('versions', versionRow(`w${number}`, 'a-site', { state: 'pending' }))
      })
      const found = async (...hashes: string[]) => {
        const needed = await read.versions.neededAmong('a-site', hashes)
        return hashes.filter((hash) => needed.has(hash))
      }
      const others = [blob('a path'), blob('elsewhere'), blob('nowhere')]
      const needed = [many[7]!, blob('document'), blob('newest')]
      assert.deepEqual(await found(...needed, ...others), needed)
      assert.deepEqual(await found(...many, ...needed, ...others), [...many, ...needed])
      assert.deepEqual(await found(staged[7]!, ...others), [staged[7]])
      assert.deepEqual(await found(...staged, ...others), staged)
      assert.deepEqual(await found(), [])
    },
  )

  sweepQueries(promises)
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

function sweepQueries(promises: Promises): void {
  promises(
    'a site in the trash keeps its drafts, and is in no list but the trash of its owner',
    async (open) => {
      const store = await open()
      await store.write('durable', {}, async (tx) => {
        for (const [slug, keptUntil] of Object.entries({ later: 20, sooner: 10 })) {
          const trashed = { deletedAt: 5, deletionReason: 'deleted', keptUntil } as const
          await tx.sites.insert(siteRow(slug, { ownerId: 'owner', ...trashed }))
          await tx.rows.insert(
            'versions',
            versionRow(`${slug}-draft`, slug, { state: 'ready', publishedAt: null }),
          )
        }
        await tx.sites.insert(siteRow('own', { ownerId: 'owner' }))
        await tx.sites.insert(siteRow('shared', { ownerId: 'other' }))
        await tx.collaborators.add({ slug: 'shared', email: 'a@example.com', addedAt: 1 })
        await tx.collaborators.add({ slug: 'shared', email: 'a@example.com', addedAt: 2 })
        await tx.collaborators.add({ slug: 'later', email: 'a@example.com', addedAt: 1 })
      })
      const { sites, versions, visits, collaborators } = store.read
      const slugs = async (found: Promise<readonly { slug: string }[]>) =>
        (await found).map(({ slug }) => slug)
      const shared = { limit: 9, sharedWith: 'a@example.com' }
      // Of one time, in the order in which the next page continues.
      assert.deepEqual(await slugs(sites.byOwner('owner', shared)), ['shared', 'own'])
      assert.deepEqual(await slugs(sites.byOwner('owner', { limit: 9, trash: true })), ['sooner', 'later'])
      assert.deepEqual(await sites.due('overdue', 9, 9), [])
      assert.deepEqual(await sites.due('overdue', 20, 9), ['sooner', 'later'])
      assert.deepEqual(await versions.withOldDrafts(1e15, 9), [])
      const none = { versions: 0, drafts: 0, plans: ALL_PLANS }
      assert.deepEqual(await versions.overVersionLimit(none, ['later', 'sooner']), [])
      assert.deepEqual(await slugs(sites.listChanged(FIRST_SITE, 9)), ['own', 'shared'])
      assert.deepEqual(await visits.deletedAmong(['later', 'shared', 'none']), ['none'])
      assert.deepEqual(await collaborators.bySite('shared'), [
        { slug: 'shared', email: 'a@example.com', addedAt: 1 },
      ])
      await store.write('durable', {}, (tx) => tx.collaborators.removeEmail('a@example.com'))
      assert.deepEqual(await slugs(sites.byOwner('owner', shared)), ['own'])
    },
  )

  promises(
    'a search reads a part of the sites of an owner and of shared ones, whatever it finds',
    async (open) => {
      const { read, write } = await open()
      await write('durable', {}, async (tx) => {
        for (const [number, slug] of ['one', 'two', 'three', 'four', 'five'].entries()) {
          const title = number % 2 ? 'Cakes' : 'Bread'
          await tx.sites.insert(siteRow(slug, { ownerId: 'ann', title, createdAt: 1000 + number }))
          const trashed = { deletedAt: 1000 - number, keptUntil: 2000 }
          await tx.sites.insert(siteRow(`old-${slug}`, { ownerId: 'ann', title, ...trashed }))
        }
        await tx.sites.insert(siteRow('shared', { ownerId: 'bob', title: 'Bread', createdAt: 1001 }))
        await tx.collaborators.add({ slug: 'shared', email: 'ann@example.com', addedAt: 1 })
      })
      const find = async (part: Partial<OwnerPage>) =>
        pluck(await read.sites.byOwner('ann', { limit: 9, words: ['bread'], ...part }), 'slug')
      const sharedWith = 'ann@example.com'
      const until = await read.sites.findPageEnd('ann', { limit: 2 })
      assert.deepEqual(until, { at: 1003, slug: 'four' })
      assert.deepEqual(await find({ until, sharedWith }), ['five'])
      assert.deepEqual(await find({ after: until, sharedWith }), ['three', 'shared', 'one'])
      assert.deepEqual(await read.sites.findPageEnd('ann', { limit: 3, after: until }), {
        at: 1000,
        slug: 'one',
      })
      assert.equal(await read.sites.findPageEnd('ann', { limit: 4, after: until }), undefined)
      const inTrash = await read.sites.findPageEnd('ann', { limit: 2, trash: true })
      assert.deepEqual(inTrash, { at: 999, slug: 'old-two' })
      assert.deepEqual(await find({ trash: true, until: inTrash }), ['old-one'])
      assert.deepEqual(await find({ trash: true, after: inTrash }), ['old-three', 'old-five'])
    },
  )

  promises(
    'what an owner or a network holds is listed in pages, without what it has deleted',
    async (open) => {
      const { read, write } = await open()
      await write('durable', {}, async (tx) => {
        for (const holder of [{ ownerId: 'ann' }, { network: 'home' }]) {
          const [name] = Object.values(holder)
          for (const [number, createdAt] of [1, 1, 2].entries())
            await tx.sites.insert(siteRow(`${name}-${number}`, { ...holder, createdAt }))
          const deleted = { createdAt: 1, deletedAt: 1 }
          await tx.sites.insert(siteRow(`${name}-deleted`, { ...holder, ...deleted }))
          await tx.sites.insert(siteRow(`${name}-large`, { ...holder, ...deleted, keptUntil: BEING_DELETED }))
        }
      })
      for (const holder of [{ ownerId: 'ann' }, { network: 'home' }]) {
        const [name] = Object.values(holder)
        const first = await read.sites.listHeld(holder, { after: FIRST_SITE, limit: 2 })
        const rest = await read.sites.listHeld(holder, { after: first.at(-1)!, limit: 9 })
        assert.deepEqual(pluck(first, 'slug'), [`${name}-0`, `${name}-1`])
        assert.deepEqual(pluck(rest, 'slug'), [`${name}-large`, `${name}-2`])
      }
    },
  )

  promises(
    'sites that have changed are listed in pages, the one that changed last at the end',
    async (open) => {
      const { read, write } = await open()
      await write('durable', {}, async (tx) => {
        for (const [slug, updatedAt] of Object.entries({ a: 3, b: 2, c: 1, d: 2 }))
          await tx.sites.insert(siteRow(slug, { updatedAt }))
      })
      const first = await read.sites.listChanged({ at: 2, slug: '' }, 2)
      const rest = await read.sites.listChanged(first.at(-1)!, 9)
      assert.deepEqual([pluck(first, 'slug'), pluck(rest, 'slug')], [['b', 'd'], ['a']])
    },
  )

  promises('sites with more versions or drafts than are kept are found', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const slug of ['live', 'drafts']) await tx.sites.insert(siteRow(slug))
      for (const id of ['v1', 'v2', 'v3'])
        await tx.rows.insert('versions', versionRow(id, 'live', { publishedAt: 1 }))
      for (const id of ['v4', 'v5']) await tx.rows.insert('versions', versionRow(id, 'drafts'))
      await tx.rows.insert('versions', versionRow('v6', 'drafts', { state: 'pending' }))
    })
    const over = (versions: number, drafts: number, slugs = ['live', 'drafts']) =>
      read.versions.overVersionLimit({ versions, drafts, plans: ALL_PLANS }, slugs)
    assert.deepEqual([await over(2, 9), await over(2, 9, ['drafts'])], [['live'], []])
    assert.deepEqual([await over(3, 1), await over(3, 2)], [['drafts'], []])
  })

  promises('sites with too many versions are found by the plans of their owners', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const [slug, plan] of [
        ['of-free', 'free'],
        ['of-team', 'team'],
        ['anonymous', undefined],
      ] as const) {
        if (plan) await tx.rows.insert('accounts', accountRow(slug, { plan }))
        await tx.sites.insert(siteRow(slug, { ownerId: plan ? slug : null }))
        await tx.rows.insert('versions', versionRow(slug, slug, { publishedAt: 1 }))
      }
    })
    const over = (plans: KeptVersions['plans']) =>
      read.versions.overVersionLimit({ versions: 0, drafts: 9, plans }, ['of-free', 'of-team', 'anonymous'])
    assert.deepEqual(await over({ only: ['team'] }), ['of-team'])
    assert.deepEqual((await over({ except: ['team'] })).sort(), ['anonymous', 'of-free'])
  })

  promises('the newest pending version of each site is found', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const [id, slug, state] of [
        ['v1', 'one', 'pending'],
        ['v2', 'one', 'pending'],
        ['v3', 'one', 'ready'],
        ['v4', 'two', 'pending'],
      ] as const)
        await tx.rows.insert('versions', versionRow(id, slug, { state }))
    })
    assert.equal((await read.versions.newestPending('one'))?.id, 'v2')
    const newest = await read.versions.listNewestPending(['one', 'two', 'three'])
    assert.deepEqual(pluck(newest, 'id').sort(), ['v2', 'v4'])
  })
}
