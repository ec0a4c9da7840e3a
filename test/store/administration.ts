import assert from 'node:assert/strict'
import { countFigures } from '../../server/operations/administration/figures.ts'
import type { Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { domainId } from '../../server/store/tables/figures.ts'
import { pluck } from '../support/pluck.ts'
import type { Promises } from './contract.ts'
import { accountRow, domainRow, siteRow, versionRow } from './rows.ts'
import { withMethods } from './with-methods.ts'

/** Lists, figures and logs of administrators. */
export function storeAdministration(promises: Promises): void {
  promises('the bytes of many live versions are those of their last count', async (open) => {
    const store = await open()
    await store.write('relaxed', {}, async (tx) => {
      for (let number = 0; number <= 2000; number++)
        await tx.sites.insert(siteRow(`site-${number}`, { ownerId: 'ann', liveVersionId: `v${number}` }))
      await tx.rows.insert('versions', versionRow('v0', 'site-0', { totalBytes: 10 }))
      const counted = { id: 'ann', bytes: 777, visits: 0, sites: 2001, title: null }
      await tx.figures.replace('account', { put: [counted], remove: [] })
    })
    assert.deepEqual(await store.read.sites.usage('ann'), { sites: 2001, totalBytes: 777 })
    await store.write('relaxed', {}, (tx) => tx.sites.update('site-7', { deletedAt: 1 }))
    assert.deepEqual(await store.read.sites.usage('ann'), { sites: 2000, totalBytes: 10 })
  })

  promises('figures of more sites are removed than a statement has parameters', async (open) => {
    const store = await open()
    const figures = { bytes: 0, visits: 0, sites: 0, title: null }
    const ids = Array.from({ length: 66_000 }, (_, number) => `site-${number}`)
    const put = [ids[0]!, ids.at(-1)!, 'kept'].map((id) => ({ id, ...figures }))
    await store.write('relaxed', {}, (tx) => tx.figures.replace('site', { put, remove: [] }))
    await store.write('relaxed', {}, (tx) => tx.figures.replace('site', { put: [], remove: ids }))
    const left = await store.read.figures.range('site', { after: '', until: undefined })
    assert.deepEqual(pluck(left, 'id'), ['kept'])
  })

  promises('figures are counted from the live versions, visits and sites of an account', async (open) => {
    const store = await open()
    await insertSites(store)
    const site = await store.read.figures.count('site', { after: '', limit: 10, since: 7_200_000 })
    assert.deepEqual(site, {
      figures: [
        { id: 'bakery', bytes: 300, visits: 5, sites: 0, title: 'the bakery' },
        { id: 'cafe', bytes: 0, visits: 0, sites: 0, title: null },
      ],
      last: undefined,
    })
    await store.write('relaxed', {}, (tx) =>
      tx.figures.replace('site', { put: site.figures, remove: ['another'] }),
    )
    const counts = { after: '', limit: 10, since: 0 }
    const [account] = (await store.read.figures.count('account', counts)).figures
    assert.deepEqual(account, { id: 'ann', bytes: 300, visits: 5, sites: 2, title: null })
    const [domain] = (await store.read.figures.count('domain', counts)).figures
    assert.deepEqual([domain!.id, domain!.bytes], [domainId('www.bakery.test', 'ann'), 300])
    const pages = await store.read.figures.count('site', { ...counts, limit: 1 })
    assert.deepEqual([pluck(pages.figures, 'id'), pages.last], [['bakery'], 'bakery'])
    assert.deepEqual(
      pluck(await store.read.figures.range('site', { after: 'bakery', until: 'cafe' }), 'id'),
      ['cafe'],
    )
    const versions = await store.read.figures.countRows('versions', '', 10)
    assert.deepEqual(versions, { counts: [{ state: 'ready', count: 1, bytes: 300 }], last: undefined })
    const pending = versionRow('v2', 'bakery', { state: 'pending' })
    await store.write('relaxed', {}, (tx) => tx.rows.insert('versions', pending))
    for (const [limit, last] of [[1, 'v1'] as const, [2, 'v2'] as const])
      assert.equal((await store.read.figures.countRows('versions', '', limit)).last, last)
  })

  promises('counting all sites lets other work run after each page', async (open) => {
    const store = await open()
    await store.write('relaxed', {}, async (tx) => {
      for (let number = 0; number < 120; number++) await tx.sites.insert(siteRow(`site-${number}`))
    })
    assert.equal(await countFigures(store), 120)
    // The second time nothing is written, which takes turns too. A page has 50 sites.
    let turn = 0
    let next = setImmediate(function count() {
      turn++
      next = setImmediate(count)
    })
    const turnsOfPages: number[] = []
    const { figures } = store.read
    const count: typeof figures.count = (...given) => {
      turnsOfPages.push(turn)
      return figures.count(...given)
    }
    const read = withMethods(store.read, { figures: withMethods(figures, { count }) })
    assert.equal(await countFigures({ ...store, read }), 0)
    clearImmediate(next)
    assert.deepEqual(turnsOfPages, [...new Set(turnsOfPages)])
  })

  promises('lists have an order without gaps over their pages, and details of what exists', async (open) => {
    const store = await open()
    await insertSites(store)
    const { figures } = await store.read.figures.count('site', { after: '', limit: 10, since: 0 })
    await store.write('relaxed', {}, (tx) => tx.figures.replace('site', { put: figures, remove: [] }))
    for (const [by, ids] of [
      ['age', ['cafe', 'bakery']],
      ['bytes', ['bakery', 'cafe']],
      ['visits', ['bakery', 'cafe']],
    ] as const) {
      const [first] = await store.read.figures.order('site', by, { limit: 1 })
      const rest = await store.read.figures.order('site', by, { limit: 5, after: first })
      assert.deepEqual(pluck([first!, ...rest], 'id'), ids, by)
    }
    const [shown] = await store.read.figures.sites(['bakery', 'nowhere'])
    assert.deepEqual(
      [shown!.ownerEmail, shown!.title ?? shown!.versionTitle, shown!.bytes, shown!.visits],
      ['ann@example.test', 'The bakery', 300, 105],
    )
    for (const prefix of ['bak', 'the b', 'www.b', 'ann@'])
      assert.ok((await store.read.figures.search('site', prefix, 10)).includes('bakery'), prefix)
    assert.deepEqual(await store.read.figures.search('site', 'akery', 10), [])
    const ids = await store.read.figures.search('domain', 'www', 10)
    assert.deepEqual(pluck(await store.read.figures.domains(ids), 'domain'), ['www.bakery.test'])
    assert.deepEqual(pluck(await store.read.figures.accounts(['ann', 'bob']), 'email'), ['ann@example.test'])
  })

  promises('counts of activity of several processes are added, and totals replaced', async (open) => {
    const { read, execute } = await open()
    const entry = { width: 600, at: 1200, name: 'visits', value: 3 }
    for (const at of [1200, 1200, 1800])
      await execute('relaxed', ({ activity }) => activity.add([{ ...entry, at }]))
    for (const value of [7, 8])
      await execute('relaxed', ({ activity }) => activity.set([{ ...entry, name: 'sites', value }]))
    const series = await read.activity.series({ width: 600, from: 0, interval: 1200 })
    assert.deepEqual(
      series.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      [
        { at: 1200, name: 'sites', sum: 8, max: 8 },
        { at: 1200, name: 'visits', sum: 9, max: 6 },
      ],
    )
    assert.equal(await execute('relaxed', ({ activity }) => activity.deleteBefore(600, 1800)), 2)
  })

  promises('the audit log is read from its end, by pages and by target', async (open) => {
    const { read, write } = await open()
    const actor = { accountId: 'ann', name: 'ann@example.test', network: '192.0.2.0/24' }
    await write('durable', {}, async (tx) => {
      for (const at of [1, 2, 2, 3])
        await tx.audit.add({ at, actor, action: 'site.suspend', target: `t${at}`, details: { reason: 'x' } })
      await tx.audit.add({ at: 4, actor: COMMAND_LINE, action: 'site.resume', target: 't3' })
    })
    const first = await read.audit.list({ limit: 3 })
    const rest = await read.audit.list({ limit: 3, after: first.at(-1)! })
    assert.deepEqual(pluck([...first, ...rest], 'at'), [4, 3, 2, 2, 1])
    const { id: _, ...entry } = first[1]!
    assert.deepEqual(entry, {
      ...{ at: 3, actorId: 'ann', actor: actor.name, network: actor.network },
      ...{ action: 'site.suspend', target: 't3', details: { reason: 'x' } },
    })
    assert.deepEqual(pluck(await read.audit.list({ limit: 9, target: 't3' }), 'action'), [
      'site.resume',
      'site.suspend',
    ])
    assert.equal(await write('relaxed', {}, (tx) => tx.rows.removeBefore('audit_log', 3, 2)), 2)
    assert.equal((await read.audit.list({ limit: 9 })).length, 3)
  })
}

/** Two sites of an account, one of them with visits, a live version and a domain. */
async function insertSites(store: Store): Promise<void> {
  await store.write('relaxed', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    await tx.sites.insert(
      siteRow('bakery', { ownerId: 'ann', liveVersionId: 'v1', title: 'The bakery', createdAt: 5 }),
    )
    await tx.sites.insert(siteRow('cafe', { ownerId: 'ann', createdAt: 6 }))
    await tx.sites.insert(siteRow('deleted', { ownerId: 'ann', deletedAt: 1 }))
    await tx.rows.insert('versions', versionRow('v1', 'bakery', { totalBytes: 300 }))
    await tx.domains.insert(domainRow('www.bakery.test', { accountId: 'ann', slug: 'bakery' }))
    for (const [hour, requests] of [
      [3_600_000, 100],
      [7_200_000, 5],
    ] as const)
      await tx.visits.add(hour, 0, [{ slug: 'bakery', requests, bytes: 1, visitors: [], names: [] }])
  })
}
