import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { pruneVisits, truncateVisits } from '../../server/analytics/retention.ts'
import { VisitRecorder } from '../../server/analytics/visit-recorder.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { copySqlite } from '../../server/store/sqlite-copy.ts'
import type { Store } from '../../server/store/store.ts'
import { siteRow } from '../store/rows.ts'
import { openTestStore, openTestTables } from '../support/engines.ts'
import { silentLog } from '../support/silent-log.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

const TODAY = 20_000 * DAY_MS

const TABLES = ['visit_hours', 'visit_names', 'visitors', 'visit_salts'] as const

/** Two sites and a recorder of their visits, with the clock at noon. */
async function open() {
  const stack = new AsyncDisposableStack()
  const clock = { now: TODAY + 12 * HOUR_MS }
  const { path: folder } = stack.use(await memoryFolder())
  const store = stack.use(await openTestStore({ folder, clock: () => clock.now }))
  const { db } = stack.use(await openTestTables(folder))
  const recorder = stack.use(new VisitRecorder({ store, clock: () => clock.now, log: silentLog }))
  await store.write('durable', {}, async (tx) => {
    for (const slug of ['one', 'two']) await tx.sites.insert(siteRow(slug))
  })
  const visit = async (slug: string, visitor = 'visitor', paths: readonly string[] = ['/']) => {
    recorder.rotateIfDue(clock.now)
    const site = recorder.buffer.site(slug)!
    site.requests++
    site.addVisitor(visitor)
    for (const path of paths) site.name('path', path)!.requests++
    await recorder.flush()
  }
  const column = async (query: string) =>
    (await sql.raw<object>(query).execute(db)).rows.map((row) => Object.values(row)[0])
  const rows = async (where = '1 = 1') => {
    const tables = TABLES.filter((table) => where === '1 = 1' || table !== 'visit_salts')
    const counts: [string, number][] = []
    for (const table of tables)
      counts.push([table, Number((await column(`SELECT count(*) FROM ${table} WHERE ${where}`))[0])])
    return Object.fromEntries(counts)
  }
  const sweep = async () => {
    const options = { store, clock: () => clock.now }
    return (await pruneVisits(options)) + (await truncateVisits(options))
  }
  return {
    store,
    folder,
    clock,
    visit,
    rows,
    column,
    sweep,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('the salt and the visitors of a day are deleted an hour after it, and the counts stay', async () => {
  await using one = await open()
  await one.visit('one')
  await one.visit('two')
  one.clock.now = TODAY + DAY_MS + HOUR_MS - 1
  assert.equal(await one.sweep(), 0)
  assert.deepEqual(await one.rows(), { visit_hours: 2, visit_names: 2, visitors: 2, visit_salts: 1 })
  one.clock.now++
  assert.equal(await one.sweep(), 3)
  assert.deepEqual(await one.rows(), { visit_hours: 2, visit_names: 2, visitors: 0, visit_salts: 0 })
})

test('the salt of a day is deleted before the visitors, whose hashes reveal nothing without it', async () => {
  await using one = await open()
  await one.visit('one')
  one.clock.now = TODAY + DAY_MS + HOUR_MS
  const write: Store['write'] = async (...given) => {
    await one.store.write(...given)
    throw new Error('killed')
  }
  const killed = { store: { ...one.store, write }, clock: () => one.clock.now }
  await assert.rejects(pruneVisits(killed), /killed/)
  const { visitors, visit_salts: salts } = await one.rows()
  assert.deepEqual([visitors, salts], [1, 0])
})

test('a deleted salt is also erased from the database file', async () => {
  await using one = await open()
  const kept = async () => {
    await one.column('PRAGMA wal_checkpoint(TRUNCATE)')
    return readFileSync(join(one.folder, 'slipway.db'), 'latin1')
  }
  await one.visit('one')
  const [salt] = await one.column('SELECT salt FROM visit_salts')
  assert.ok((await kept()).includes(String(salt)))
  one.clock.now = TODAY + DAY_MS + HOUR_MS
  await one.sweep()
  assert.ok(!(await kept()).includes(String(salt)))
})

test('a copy of the database, such as that of a backup, has neither salts nor hashes of visitors', async () => {
  await using one = await open()
  await one.visit('one')
  const secrets = await one.column('SELECT salt FROM visit_salts UNION SELECT visitor FROM visitors')
  const copy = join(one.folder, 'copy.db')
  await copySqlite(join(one.folder, 'slipway.db'), copy)
  const bytes = readFileSync(copy, 'latin1')
  assert.deepEqual([secrets.length, secrets.filter((secret) => bytes.includes(String(secret)))], [2, []])
})

test('a visitor has a different hash for each site and day, which reveals nothing', async () => {
  await using one = await open()
  await one.visit('one')
  await one.visit('two')
  one.clock.now += DAY_MS
  await one.visit('one')
  const hashes = await one.column('SELECT visitor FROM visitors')
  assert.equal(new Set(hashes).size, 3)
  for (const hash of hashes) assert.match(String(hash), /^[\w-]{16}$/)
})

test('late counts for a day without its salt have requests and no visitors', async () => {
  await using one = await open()
  await one.visit('one')
  one.clock.now = TODAY + DAY_MS + 2 * HOUR_MS
  await one.sweep()
  const late = one.clock.now
  one.clock.now = TODAY + 13 * HOUR_MS
  const pending = one.visit('one', 'late')
  one.clock.now = late
  await pending
  assert.deepEqual(await one.rows(), { visit_hours: 2, visit_names: 1, visitors: 0, visit_salts: 0 })
})

test('counts are deleted after 91 days', async () => {
  await using one = await open()
  await one.visit('one')
  one.clock.now = TODAY + 91 * DAY_MS - 1
  await one.sweep()
  assert.deepEqual(await one.rows(), { visit_hours: 1, visit_names: 1, visitors: 0, visit_salts: 0 })
  one.clock.now++
  await one.sweep()
  assert.deepEqual(await one.rows(), { visit_hours: 0, visit_names: 0, visitors: 0, visit_salts: 0 })
})

for (const [what, days] of [
  ['of the next day', 1],
  ['after a stop of three days', 4],
] as const)
  test(`the 100 most requested paths of a past day are kept, by a sweep ${what}`, async () => {
    await using one = await open()
    const paths = Array.from({ length: 150 }, (_, number) => `/${number}`)
    await one.visit('one', 'visitor', paths)
    await one.visit('one', 'visitor', paths.slice(30, 130))
    await one.sweep()
    assert.equal((await one.rows()).visit_names, 150)
    one.clock.now += days * DAY_MS
    await one.sweep()
    const kept = await one.column("SELECT name FROM visit_names WHERE slug = 'one'")
    assert.deepEqual(new Set(kept), new Set(paths.slice(30, 130)))
  })

test('names that were written after the sweep of their day are deleted by the next one', async () => {
  await using one = await open()
  const day = one.clock.now
  one.clock.now += DAY_MS
  await one.sweep()
  one.clock.now = day
  const late = one.visit(
    'one',
    'visitor',
    Array.from({ length: 150 }, (_, number) => `/${number}`),
  )
  one.clock.now += DAY_MS
  await late
  assert.equal((await one.rows()).visit_names, 150)
  one.clock.now += DAY_MS
  await one.sweep()
  assert.equal((await one.rows()).visit_names, 100)
})

test('the counts of a deleted site are deleted, and no more are written', async () => {
  await using one = await open()
  const paths = Array.from({ length: 400 }, (_, number) => `/${number}`)
  for (const slug of ['one', 'two']) await one.visit(slug, 'visitor', paths)
  await one.store.write('durable', {}, (tx) => tx.sites.update('one', { deletedAt: one.clock.now }))
  await one.visit('one', 'another')
  assert.deepEqual(await one.rows("slug = 'one'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
  await one.sweep()
  assert.deepEqual(await one.rows("slug = 'one'"), { visit_hours: 0, visit_names: 0, visitors: 0 })
  assert.deepEqual(await one.rows("slug = 'two'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
})
