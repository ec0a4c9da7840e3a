import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pruneVisits, truncateVisits } from '../../server/analytics/retention.ts'
import { VisitRecorder } from '../../server/analytics/visit-recorder.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { siteRow } from '../store/rows.ts'
import { freshSqlite } from '../store/test-database.ts'
import { silentLog } from '../support/silent-log.ts'

const TODAY = 20_000 * DAY_MS

const TABLES = ['visit_hours', 'visit_names', 'visitors', 'visit_salts'] as const

/** Two sites and a recorder of their visits, with the clock at noon. */
async function open() {
  const stack = new AsyncDisposableStack()
  const clock = { now: TODAY + 12 * HOUR_MS }
  const { file } = stack.use(await freshSqlite())
  const store = stack.use(await sqliteStore({ file, clock: () => clock.now }))
  const db = new DatabaseSync(file)
  stack.defer(() => db.close())
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
  const rows = (where = '1 = 1') =>
    Object.fromEntries(
      TABLES.filter((table) => where === '1 = 1' || table !== 'visit_salts').map((table) => [
        table,
        Number(db.prepare(`SELECT count(*) AS rows FROM ${table} WHERE ${where}`).get()!.rows),
      ]),
    )
  const column = (query: string) =>
    db
      .prepare(query)
      .all()
      .map((row) => Object.values(row)[0])
  const sweep = async () => {
    const options = { store, clock: () => clock.now }
    return (await pruneVisits(options)) + (await truncateVisits(options))
  }
  return {
    store,
    file,
    db,
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
  assert.deepEqual(one.rows(), { visit_hours: 2, visit_names: 2, visitors: 2, visit_salts: 1 })
  one.clock.now++
  assert.equal(await one.sweep(), 3)
  assert.deepEqual(one.rows(), { visit_hours: 2, visit_names: 2, visitors: 0, visit_salts: 0 })
})

test('a deleted salt is also erased from the database file', async () => {
  await using one = await open()
  const kept = () => {
    one.db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return readFileSync(one.file, 'latin1')
  }
  await one.visit('one')
  const [salt] = one.column('SELECT salt FROM visit_salts')
  assert.ok(kept().includes(String(salt)))
  one.clock.now = TODAY + DAY_MS + HOUR_MS
  await one.sweep()
  assert.ok(!kept().includes(String(salt)))
})

test('a visitor has a different hash for each site and day, which reveals nothing', async () => {
  await using one = await open()
  await one.visit('one')
  await one.visit('two')
  one.clock.now += DAY_MS
  await one.visit('one')
  const hashes = one.column('SELECT visitor FROM visitors')
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
  assert.deepEqual(one.rows(), { visit_hours: 2, visit_names: 1, visitors: 0, visit_salts: 0 })
})

test('counts are deleted after 91 days', async () => {
  await using one = await open()
  await one.visit('one')
  one.clock.now = TODAY + 91 * DAY_MS - 1
  await one.sweep()
  assert.deepEqual(one.rows(), { visit_hours: 1, visit_names: 1, visitors: 0, visit_salts: 0 })
  one.clock.now++
  await one.sweep()
  assert.deepEqual(one.rows(), { visit_hours: 0, visit_names: 0, visitors: 0, visit_salts: 0 })
})

test('the 100 most requested paths of a past day are kept', async () => {
  await using one = await open()
  const paths = Array.from({ length: 150 }, (_, number) => `/${number}`)
  await one.visit('one', 'visitor', paths)
  await one.visit('one', 'visitor', paths.slice(30, 130))
  await one.sweep()
  assert.equal(one.rows().visit_names, 150)
  one.clock.now += DAY_MS
  await one.sweep()
  const kept = one.column("SELECT name FROM visit_names WHERE slug = 'one'")
  assert.deepEqual(new Set(kept), new Set(paths.slice(30, 130)))
})

test('the counts of a deleted site are deleted, and no more are written', async () => {
  await using one = await open()
  const paths = Array.from({ length: 400 }, (_, number) => `/${number}`)
  for (const slug of ['one', 'two']) await one.visit(slug, 'visitor', paths)
  await one.store.write('durable', {}, (tx) => tx.sites.update('one', { deletedAt: one.clock.now }))
  await one.visit('one', 'another')
  assert.deepEqual(one.rows("slug = 'one'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
  await one.sweep()
  assert.deepEqual(one.rows("slug = 'one'"), { visit_hours: 0, visit_names: 0, visitors: 0 })
  assert.deepEqual(one.rows("slug = 'two'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
})
