import assert from 'node:assert/strict'
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ApiError } from '../../server/lib/errors.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { attachStrace } from '../tools/strace.ts'
import { storeContract } from './contract.ts'
import { freshSqlite } from './places.ts'
import { siteRow } from './rows.ts'

storeContract('SQLite', freshSqlite)

test('data of a newer version is refused in a sentence and left as it is', async () => {
  await using place = await freshSqlite()
  {
    await using store = await sqliteStore({ file: place.file, clock: Date.now })
    await store.write('durable', (tx) => tx.sites.insert(siteRow('a-site')))
  }
  using later = new DatabaseSync(place.file)
  later.exec("INSERT INTO applied_migrations VALUES ('999-of-the-future', 0)")
  await assert.rejects(sqliteStore({ file: place.file, clock: Date.now }), (error: ApiError) => {
    assert.match(error.message, /^[^\n]*newer Slipway[^\n]*999-of-the-future[^\n]*$/)
    assert.ok(error instanceof ApiError, 'whoever starts the service sees the sentence and no stack')
    return true
  })
  assert.equal(later.prepare('SELECT slug FROM sites').get()?.slug, 'a-site')
})

test('data of this version is opened without another migration', async () => {
  await using place = await freshSqlite()
  const opened = []
  for (let time = 0; time < 3; time++) {
    await using store = await sqliteStore({ file: place.file, clock: Date.now })
    await store.check()
    using beside = new DatabaseSync(place.file)
    opened.push(beside.prepare('SELECT name, applied_at FROM applied_migrations').all())
  }
  assert.equal(opened[0]!.length, new Set(opened[0]!.map((row) => row.name)).size)
  assert.deepEqual(opened[1], opened[0])
  assert.deepEqual(opened[2], opened[0])
})

test('whoever slept for so long that changes are forgotten hears that anything may have changed', async () => {
  await using place = await freshSqlite()
  const now = { at: 0 }
  const open = () => sqliteStore({ file: place.file, clock: () => now.at, pollMilliseconds: 2 ** 30 })
  await using awake = await open()
  await using asleep = await open()
  const heard: unknown[] = []
  asleep.onChange((slugs) => void heard.push(slugs))
  for (const minutes of [0, 5, 9]) {
    now.at = minutes * 60_000
    await awake.write('relaxed', (tx) => tx.notifyChanged(`at-${minutes}`))
  }
  await asleep.pollChanges()
  assert.deepEqual(heard, [['at-0', 'at-5', 'at-9']])
  now.at = 60 * 60_000
  await awake.write('relaxed', (tx) => tx.notifyChanged('an-hour-later'))
  await awake.write('relaxed', (tx) => tx.notifyChanged('and-more'))
  await asleep.pollChanges()
  assert.deepEqual(heard.slice(1), [['an-hour-later', 'and-more']], 'all of it was still there')
  now.at = 90 * 60_000
  await awake.write('relaxed', (tx) => tx.notifyChanged('missed'))
  now.at = 120 * 60_000
  await awake.write('relaxed', (tx) => tx.notifyChanged('much-later'))
  await asleep.pollChanges()
  assert.deepEqual(heard.slice(2), [undefined])
})

test('a database that somebody else keeps locked is UNAVAILABLE, and the service goes on meanwhile', async () => {
  await using place = await freshSqlite()
  await using store = await sqliteStore({ file: place.file, clock: Date.now, busyMilliseconds: 40 })
  using other = new DatabaseSync(place.file)
  other.exec('BEGIN IMMEDIATE')
  const outcomes = await Promise.allSettled(
    ['one', 'two', 'three'].map((slug) => store.write('durable', (tx) => tx.sites.insert(siteRow(slug)))),
  )
  for (const outcome of outcomes) assertFailure(outcome, 'UNAVAILABLE')
  assert.equal(await store.read.sites.bySlug('one'), undefined)
  await store.check()
  other.exec('ROLLBACK')
  await store.write('durable', (tx) => tx.sites.insert(siteRow('one')))
})

test(
  'a full disk is INSUFFICIENT_STORAGE: what is there is read, and writing goes on with space',
  requires('small-disk'),
  async () => {
    await using disk = await mountSmallDisk(4 * 2 ** 20)
    await using store = await sqliteStore({ file: join(disk.folder, 'slipway.db'), clock: Date.now })
    const insert = (slug: string) =>
      store.write('durable', (tx) => tx.sites.insert(siteRow(slug, { description: 'x'.repeat(20_000) })))
    await insert('before')
    for (const round of ['first', 'second']) {
      await disk.fill()
      const outcomes = await Promise.allSettled([insert(`${round}-1`), insert(`${round}-2`)])
      for (const outcome of outcomes) assertFailure(outcome, 'INSUFFICIENT_STORAGE')
      assert.ok(await store.read.sites.bySlug('before'))
      assert.equal(await store.read.sites.bySlug(`${round}-1`), undefined)
      await disk.clear()
      await insert(`after-the-${round}`)
    }
  },
)

test(
  'a failed flush is never answered as durable, nor is anything after it',
  requires('strace'),
  async () => {
    await using place = await freshSqlite()
    await using store = await sqliteStore({ file: place.file, clock: Date.now })
    await store.write('durable', (tx) => tx.sites.insert(siteRow('before')))
    {
      await using _ = await attachStrace(process.pid, [
        '-P',
        `${place.file}-wal`,
        '-e',
        'inject=fdatasync,fsync:error=EIO',
      ])
      const [outcome] = await Promise.allSettled([
        store.write('durable', (tx) => tx.sites.insert(siteRow('during'))),
      ])
      assertFailure(outcome!, 'UNAVAILABLE')
      assert.equal(await store.read.sites.bySlug('during'), undefined)
    }
    for (const durability of ['durable', 'relaxed'] as const) {
      const [outcome] = await Promise.allSettled([
        store.write(durability, (tx) => tx.sites.insert(siteRow('after'))),
      ])
      assertFailure(outcome!, 'UNAVAILABLE')
    }
    await assert.rejects(store.check(), { code: 'UNAVAILABLE' })
    assert.ok(await store.read.sites.bySlug('before'), 'what was durable is still served')
  },
)

test(
  'a disk that cannot be read is UNAVAILABLE, and is read again when it can',
  requires('strace'),
  async () => {
    await using place = await freshSqlite()
    await using store = await sqliteStore({ file: place.file, clock: Date.now })
    await store.write('durable', (tx) => tx.sites.insert(siteRow('a-site')))
    {
      await using _ = await attachStrace(process.pid, [
        '-P',
        place.file,
        '-P',
        `${place.file}-wal`,
        '-e',
        'inject=pread64:error=EIO',
      ])
      await assert.rejects(store.read.sites.bySlug('a-site'), { code: 'UNAVAILABLE' })
      await assert.rejects(store.read.versions.bySlug('a-site'), { code: 'UNAVAILABLE' })
    }
    assert.ok(await store.read.sites.bySlug('a-site'))
  },
)

test(
  'every durable write is flushed before it is answered, and a soft one need not be',
  requires('strace'),
  async () => {
    await using place = await freshSqlite()
    await using store = await sqliteStore({ file: place.file, clock: Date.now })
    await using strace = await attachStrace(process.pid, ['-e', 'trace=fdatasync,fsync'])
    const durabilities = ['durable', 'relaxed', 'durable', 'relaxed', 'durable'] as const
    for (const [number, durability] of durabilities.entries()) {
      await store.write(durability, (tx) => tx.sites.insert(siteRow(`site-${number}`)))
      flushMarker(`${place.file}-${durability}-answered`)
    }
    const flushes = (await strace.stop()).map((line) => /<([^<>]*)>/.exec(line)?.[1])
    const expected = durabilities.flatMap((durability) => [
      ...(durability === 'durable' ? [`${place.file}-wal`] : []),
      `${place.file}-${durability}-answered`,
    ])
    assert.deepEqual(flushes, expected)
  },
)

/** A flush that stands among the others in what strace tells. */
function flushMarker(path: string): void {
  const marker = openSync(path, 'w')
  fsyncSync(marker)
  closeSync(marker)
}

test('a store that is closed is UNAVAILABLE when asked how it is', async () => {
  await using place = await freshSqlite()
  await using store = await sqliteStore({ file: place.file, clock: Date.now })
  await store.check()
  await store[Symbol.asyncDispose]()
  await assert.rejects(store.check(), { code: 'UNAVAILABLE' })
})

function assertFailure(outcome: PromiseSettledResult<unknown>, code: string): void {
  assert.equal(outcome.status, 'rejected')
  assert.ok(outcome.reason instanceof ApiError, String(outcome.reason?.stack))
  assert.equal(outcome.reason.code, code)
}
