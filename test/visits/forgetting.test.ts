import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pruneVisits } from '../../server/analytics/retention.ts'
import { VisitRecorder } from '../../server/analytics/visit-recorder.ts'
import { makeLog } from '../../server/lib/log.ts'
import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { siteRow } from '../store/rows.ts'
import { freshSqlite } from '../store/test-database.ts'

const TODAY = 20_000 * DAY_MS

const TABLES = ['visit_hours', 'visit_names', 'visitors', 'visit_salts'] as const

/** Two sites and a book of their visits, at noon. */
async function open() {
  const stack = new AsyncDisposableStack()
  const clock = { now: TODAY + 12 * HOUR_MS }
  const { file } = stack.use(await freshSqlite())
  const store = stack.use(await sqliteStore({ file, clock: () => clock.now }))
  const db = new DatabaseSync(file)
  stack.defer(() => db.close())
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const book = stack.use(new VisitRecorder({ store, clock: () => clock.now, log }))
  await store.write('durable', async (tx) => {
    for (const slug of ['one', 'two']) await tx.sites.insert(siteRow(slug))
  })
  const visit = async (slug: string, visitor = 'somebody', paths: readonly string[] = ['/']) => {
    book.rotateIfDue(clock.now)
    const site = book.buffer.site(slug)!
    site.requests++
    site.addVisitor(visitor)
    for (const path of paths) site.name('path', path)!.requests++
    await book.flush()
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
  const sweep = () => pruneVisits({ store, clock: () => clock.now })
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

test('the salt of a day goes an hour after it, with who visited, and the counts stay', async () => {
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

test('a salt that is gone cannot be read out of the file either', async () => {
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

test('a visitor has another hash at each site and on each day, of which nothing can be read', async () => {
  await using one = await open()
  await one.visit('one')
  await one.visit('two')
  one.clock.now += DAY_MS
  await one.visit('one')
  const hashes = one.column('SELECT visitor FROM visitors')
  assert.equal(new Set(hashes).size, 3)
  for (const hash of hashes) assert.match(String(hash), /^[\w-]{16}$/)
})

test('what is written down for a day whose salt is gone counts requests and no visitors', async () => {
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

test('what was counted goes after 91 days', async () => {
  await using one = await open()
  await one.visit('one')
  one.clock.now = TODAY + 91 * DAY_MS - 1
  await one.sweep()
  assert.deepEqual(one.rows(), { visit_hours: 1, visit_names: 1, visitors: 0, visit_salts: 0 })
  one.clock.now++
  await one.sweep()
  assert.deepEqual(one.rows(), { visit_hours: 0, visit_names: 0, visitors: 0, visit_salts: 0 })
})

test('of a day that is over the 100 paths that were asked for most are kept', async () => {
  await using one = await open()
  const paths = Array.from({ length: 150 }, (_, number) => `/${number}`)
  await one.visit('one', 'somebody', paths)
  await one.visit('one', 'somebody', paths.slice(30, 130))
  await one.sweep()
  assert.equal(one.rows().visit_names, 150)
  one.clock.now += DAY_MS
  await one.sweep()
  const kept = one.column("SELECT name FROM visit_names WHERE slug = 'one'")
  assert.deepEqual(new Set(kept), new Set(paths.slice(30, 130)))
})

test('of a site that is gone nothing is left, and nothing more is written down', async () => {
  await using one = await open()
  const paths = Array.from({ length: 400 }, (_, number) => `/${number}`)
  for (const slug of ['one', 'two']) await one.visit(slug, 'somebody', paths)
  await one.store.write('durable', (tx) => tx.sites.update('one', { deletedAt: one.clock.now }))
  await one.visit('one', 'another')
  assert.deepEqual(one.rows("slug = 'one'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
  await one.sweep()
  assert.deepEqual(one.rows("slug = 'one'"), { visit_hours: 0, visit_names: 0, visitors: 0 })
  assert.deepEqual(one.rows("slug = 'two'"), { visit_hours: 1, visit_names: 400, visitors: 1 })
})
