import assert from 'node:assert/strict'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import type { SiteVisits } from '../../server/store/tables/visits.ts'
import type { Promises } from './contract.ts'
import { siteRow } from './rows.ts'

const NOON = 20_000 * DAY_MS + 12 * HOUR_MS
const TODAY = 20_000 * DAY_MS

const buildVisits = (slug: string, change: Partial<SiteVisits> = {}): SiteVisits => ({
  slug,
  requests: 1,
  bytes: 10,
  visitors: [],
  names: [],
  ...change,
})

const path = (name: string, requests = 1) => ({ kind: 'path' as const, name, requests })

const always = { from: 0, to: 1e15 }

/** Promises about visits. */
export function storeVisits(promises: Promises): void {
  promises('visits are added up by site, hour and name', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, async (tx) => {
      for (const slug of ['one', 'two']) await tx.sites.insert(siteRow(slug))
    })
    const names = [path('/', 2), path('/a'), { kind: 'missing' as const, name: '/', requests: 7 }]
    await write('relaxed', {}, (tx) =>
      tx.visits.add(NOON, TODAY, [buildVisits('one', { requests: 3, names }), buildVisits('two')]),
    )
    await write('relaxed', {}, (tx) =>
      tx.visits.add(NOON, TODAY, [buildVisits('one', { names: [path('/a', 4)] })]),
    )
    await write('relaxed', {}, (tx) =>
      tx.visits.add(NOON + HOUR_MS, TODAY, [buildVisits('one', { bytes: 2 ** 50 })]),
    )
    const hours = { ...always, interval: HOUR_MS }
    const inNoOrder = await read.visits.series('one', hours)
    assert.deepEqual(
      inNoOrder.toSorted((one, other) => one.at - other.at),
      [
        { at: NOON, requests: 4, bytes: 20, visitors: 0 },
        { at: NOON + HOUR_MS, requests: 1, bytes: 2 ** 50, visitors: 0 },
      ],
    )
    assert.deepEqual(await read.visits.series('one', { ...hours, interval: DAY_MS }), [
      { at: TODAY, requests: 5, bytes: 2 ** 50 + 20, visitors: 0 },
    ])
    assert.deepEqual(await read.visits.series('one', { ...hours, to: NOON }), [])
    assert.equal((await read.visits.series('two', hours))[0]!.requests, 1)
    assert.deepEqual(await read.visits.top('one', 'path', { ...always, limit: 9 }), [
      { name: '/a', requests: 5 },
      { name: '/', requests: 2 },
    ])
    assert.deepEqual(await read.visits.top('one', 'path', { ...always, limit: 1 }), [
      { name: '/a', requests: 5 },
    ])
    assert.deepEqual(await read.visits.top('one', 'missing', { ...always, limit: 9 }), [
      { name: '/', requests: 7 },
    ])
    assert.deepEqual(await read.visits.byDay('one', path('/a'), [TODAY - DAY_MS, TODAY]), [
      { day: TODAY, requests: 5 },
    ])
    for (const name of [{ ...path('/a'), kind: 'missing' as const }, path('/b')])
      assert.deepEqual(await read.visits.byDay('one', name, [TODAY]), [])
    assert.deepEqual(await read.visits.byDay('two', path('/a'), [TODAY]), [])
    assert.deepEqual(await read.visits.top('one', 'path', { from: TODAY + DAY_MS, to: 1e15, limit: 9 }), [])
  })

  promises('a day of a site keeps a limited number of names, the most requested ones', async (open) => {
    const { read, write } = await open()
    await write('durable', {}, (tx) => tx.sites.insert(siteRow('one')))
    const wanted = Array.from({ length: 100 }, (_, number) => path(`/wanted/${number}`, 5))
    for (let time = 0; time < 8; time++) {
      const flood = Array.from({ length: 400 }, (_, number) => path(`/flood/${time}/${number}`))
      const names = [...wanted, ...flood]
      await write('relaxed', {}, (tx) => tx.visits.add(NOON, TODAY, [buildVisits('one', { names })]))
    }
    const top = await read.visits.top('one', 'path', { ...always, limit: 5000 })
    assert.ok(top.length <= 1000, `${top.length} names`)
    assert.deepEqual(new Set(top.slice(0, 100)), new Set(wanted.map(({ name }) => ({ name, requests: 40 }))))
    assert.deepEqual(await read.visits.sitesOverNameLimit(['one'], TODAY, 100), ['one'])
    const folded = await write('relaxed', {}, (tx) => tx.visits.truncateNames('one', TODAY, 100))
    assert.equal(folded, top.length - 100)
    assert.deepEqual(await read.visits.sitesOverNameLimit(['one'], TODAY, 100), [])
    assert.equal((await read.visits.top('one', 'path', { ...always, limit: 5000 })).length, 100)
  })

  promises('all processes use the first salt of a day, until it is deleted', async (open) => {
    const { read, write } = await open()
    assert.equal(await read.visits.salt(TODAY), undefined)
    for (const salt of ['first', 'second'])
      assert.equal(await write('relaxed', {}, (tx) => tx.visits.getOrCreateSalt(TODAY, salt)), 'first')
    assert.equal(await write('relaxed', {}, (tx) => tx.rows.removeBefore('visit_salts', TODAY, 9)), 0)
    assert.equal(await read.visits.salt(TODAY), 'first')
    assert.equal(
      await write('relaxed', {}, (tx) => tx.rows.removeBefore('visit_salts', TODAY + DAY_MS, 9)),
      1,
    )
    assert.equal(await read.visits.salt(TODAY), undefined)
  })

  promises(
    'visited sites are listed in pages, and old visits or those of one site are deleted',
    async (open) => {
      const { read, write } = await open()
      const slugs = Array.from({ length: 25 }, (_, number) => `site-${String(number).padStart(2, '0')}`)
      await write('durable', {}, async (tx) => {
        for (const slug of slugs) await tx.sites.insert(siteRow(slug))
      })
      const rows = slugs.map((slug) => buildVisits(slug, { visitors: ['ann'], names: [path('/')] }))
      for (const day of [TODAY - DAY_MS, TODAY])
        await write('relaxed', {}, (tx) => tx.visits.add(day, day, rows))
      for (const page of [
        (after: string) => read.visits.sitesWithVisits(after, 10),
        (after: string) => read.visits.visitedOn(TODAY, after, 10),
      ])
        assert.deepEqual(
          [await page(''), await page(slugs[9]!), await page(slugs[19]!), await page(slugs[24]!)],
          [slugs.slice(0, 10), slugs.slice(10, 20), slugs.slice(20), []],
        )
      for (const table of ['visit_hours', 'visit_names'] as const) {
        assert.equal(await write('relaxed', {}, (tx) => tx.rows.removeBefore(table, TODAY, 50)), 25)
        assert.equal(await write('relaxed', {}, (tx) => tx.rows.removeBefore(table, TODAY, 50)), 0)
      }
      assert.equal((await read.visits.series(slugs[0]!, { ...always, interval: HOUR_MS })).length, 1)
      while ((await write('relaxed', {}, (tx) => tx.visits.deleteSite(slugs[0]!))) > 0);
      assert.deepEqual(await read.visits.sitesWithVisits('', 2), slugs.slice(1, 3))
      assert.deepEqual(await read.visits.top(slugs[0]!, 'path', { ...always, limit: 1 }), [])
    },
  )
}
