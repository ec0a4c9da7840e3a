import assert from 'node:assert/strict'
import { closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../../server/lib/errors.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { CommitWatch } from '../../server/store/commit-watch.ts'
import { FlushedReads, failureFile } from '../../server/store/flushed-reads.ts'
import { OAuthQueries } from '../../server/store/queries/keys.ts'
import { NoticeQueries } from '../../server/store/queries/notices.ts'
import type { Queries } from '../../server/store/queries.ts'
import { Rows } from '../../server/store/rows.ts'
import { FULL_LOG_BYTES, sqliteStore, sqliteTables } from '../../server/store/sqlite.ts'
import { copySqlite } from '../../server/store/sqlite-copy.ts'
import { statement } from '../../server/store/statement.ts'
import type { Durability, Store } from '../../server/store/store.ts'
import { PATIENT } from '../support/patient.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { attachStrace } from '../tools/strace.ts'
import { storeContract } from './contract.ts'
import { blob, oauthRow, siteRow, versionRow } from './rows.ts'
import { TaskProcesses } from './task-processes.ts'
import { freshSqlite } from './test-database.ts'

storeContract({ name: 'SQLite', fresh: freshSqlite })

/** Reads do not wait for a disk that does not confirm a flush, nor does a write. */
const COMMON = { clock: Date.now, deadlines: PATIENT }
const REFRESHING = { ...PATIENT, database: { ...PATIENT.database, refresh: 1 } }
const HANGING = { ...PATIENT, database: { ...REFRESHING.database, hang: 1, commit: 100 } }

/** The tables of a new database, without its store. */
async function freshTables() {
  await using stack = new AsyncDisposableStack()
  const { file } = stack.use(await freshSqlite())
  await (await sqliteStore({ file, ...COMMON }))[Symbol.asyncDispose]()
  const { db } = stack.use(await sqliteTables(file, { isSource: false }))
  const kept = stack.move()
  return { db, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test('processes can open an empty database at the same time', async () => {
  await using database = await freshSqlite()
  await (await TaskProcesses.shared()).run('open', database.address)
})

test('a loop over many rows lets other work of the process run between its statements', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  const { read } = store
  const isInterrupted = async ({ sites }: Pick<Queries, 'sites'>) => {
    let hasTurned = false
    setImmediate(() => {
      hasTurned = true
    })
    for (let row = 0; row < 20_000 && !hasTurned; row++) await sites.find(`site-${row}`)
    return hasTurned
  }
  assert.ok(await isInterrupted(read))
  assert.ok(await store.write('relaxed', {}, isInterrupted))
})

test('a search in manifests reads one with each statement, so that other work of the process runs between them', async (context) => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  const ids = Array.from({ length: 10 }, (_, number) => `v${number}`)
  await store.write('relaxed', {}, async (tx) => {
    await tx.sites.insert(siteRow('a-site'))
    for (const id of ids) await tx.rows.insert('versions', versionRow(id, 'a-site'))
  })
  const { all } = StatementSync.prototype
  const searched: string[][] = []
  context.mock.method(StatementSync.prototype, 'all', function (this: StatementSync, ...values: unknown[]) {
    const found = ids.filter((id) => values.includes(id))
    if (found.length > 0) searched.push(found)
    return all.apply(this, values as never)
  })
  for (const count of [10, 11]) {
    const hashes = Array.from({ length: count }, (_, number) => blob(`of no file ${number}`))
    await store.read.versions.neededAmong('a-site', hashes)
    assert.deepEqual(
      searched.splice(0).sort(),
      ids.map((id) => [id]),
    )
  }
})

test('an error before one read refuses that one only', async (context) => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  const get = StatementSync.prototype.get
  let fails = false
  context.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...values: unknown[]) {
    if (fails && this.sourceSQL === 'PRAGMA data_version')
      throw Object.assign(new Error('disk I/O error'), { errcode: 10 })
    return get.apply(this, values as never)
  })
  const reads = [() => store.read.sites.find('compiled'), () => store.read.blobs.find('by the builder')]
  for (const read of reads) {
    await turn()
    fails = true
    await assert.rejects(read(), { code: 'UNAVAILABLE' })
    fails = false
    assert.equal(await read(), undefined)
  }
})

test('a record of OAuth that is renewed while expired ones are deleted is kept', async () => {
  await using tables = await freshTables()
  const oauth = new OAuthQueries(tables.db)
  const client = { kind: 'Client', grantHash: null, accountId: null }
  const save = (expiresAt: number) => oauth.save(oauthRow('id', { ...client, expiresAt }))
  await save(5)
  // As another node could between two statements.
  let isRenewed = false
  const renewing = tables.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (!isRenewed) await save(200)
      isRenewed = true
      return result
    },
  })
  await new OAuthQueries(renewing).deleteExpired(100, 10)
  assert.ok(await oauth.find('id', 100))
})

test('the notices of an account are postponed by one statement, which locks them in one order', async () => {
  await using tables = await freshTables()
  let statements = 0
  const counting = tables.db.withPlugin({
    transformQuery: ({ node }) => {
      statements++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const event = { kind: 'site-removed', slug: 'otter', title: null, reason: 'r' } as const
  const [notices, common] = [new NoticeQueries(tables.db), { event, accountId: 'ann', createdAt: 1 }]
  for (const id of ['tried', 'due', 'later']) await notices.add({ ...common, id: `site-removed ${id}` })
  await notices.update('site-removed tried', { attempts: 2, dueAt: 5 })
  await notices.update('site-removed later', { attempts: 0, dueAt: 70 })
  const first = { id: 'site-removed tried', accountId: 'ann', kind: 'site-removed' } as const
  await new NoticeQueries(counting).postpone(first, 50, 100)
  const times = (await notices.due(100, 10)).map(({ id, attempts, dueAt }) => [id, attempts, dueAt])
  assert.deepEqual(times, [
    ['site-removed later', 0, 70],
    ['site-removed due', 0, 100],
    ['site-removed tried', 0, 100],
  ])
  assert.equal(statements, 1)
})

test('a statement has the values of each call, and refuses a parameter that is not passed on as a value', async () => {
  await using tables = await freshTables()
  const { db } = tables
  const cursors = new Rows(db, 'job_cursors')
  const find = statement((queries, name: string) =>
    queries.selectFrom('job_cursors').select('position').where('job', '=', name),
  )
  for (const job of ['one', 'two']) await cursors.insert({ job, position: `of ${job}` })
  await cursors.update({ job: 'one' }, { position: 'changed' })
  await cursors.update({ job: 'two' }, { job: 'three', position: 'moved' })
  const positions = ['one', 'two', 'three'].map(async (job) => (await find(db, job))[0]?.position)
  assert.deepEqual(await Promise.all(positions), ['changed', undefined, 'moved'])
  const wrong = statement((queries, name: string) =>
    queries.selectFrom('job_cursors').select('position').where('job', '=', `${name}-suffix`),
  )
  await assert.rejects(wrong(db, 'one'), /must be passed on as a value/)
})

test('a process that missed deleted change records is notified that anything may have changed', async () => {
  await using database = await freshSqlite()
  const now = { at: 0 }
  const open = () =>
    sqliteStore({ file: database.file, ...COMMON, clock: () => now.at, pollIntervalMs: 2 ** 30 })
  await using awake = await open()
  await using asleep = await open()
  const changes: unknown[] = []
  asleep.onChange((slugs) => void changes.push(slugs))
  for (const minutes of [0, 5, 9]) {
    now.at = minutes * 60_000
    await awake.write('relaxed', {}, (tx) => tx.notifyChanged(`at-${minutes}`))
  }
  await asleep.pollChanges()
  assert.deepEqual(changes, [['at-0', 'at-5', 'at-9']])
  now.at = 60 * 60_000
  await awake.write('relaxed', {}, (tx) => tx.notifyChanged('an-hour-later'))
  await awake.write('relaxed', {}, (tx) => tx.notifyChanged('and-more'))
  await asleep.pollChanges()
  assert.deepEqual(changes.slice(1), [['an-hour-later', 'and-more']], 'no change record was deleted yet')
  // Records past their time are deleted after so many newer ones.
  for (const minutes of [90, 120]) {
    now.at = minutes * 60_000
    for (let index = 0; index < 200; index++)
      await awake.write('relaxed', {}, (tx) => tx.notifyChanged(`at-${minutes}-${index}`))
  }
  await asleep.pollChanges()
  assert.deepEqual(changes.slice(2), [undefined])
})

test('a process that missed one deleted change record is notified that anything may have changed', async () => {
  await using database = await freshSqlite()
  const open = () => sqliteStore({ file: database.file, ...COMMON, pollIntervalMs: 2 ** 30 })
  await using awake = await open()
  await using asleep = await open()
  const changes: unknown[] = []
  asleep.onChange((slugs) => void changes.push(slugs))
  for (const name of ['deleted', 'last']) await awake.write('relaxed', {}, (tx) => tx.notifyChanged(name))
  using other = new DatabaseSync(database.file)
  other.exec("DELETE FROM changes WHERE name = 'deleted'")
  await asleep.pollChanges()
  assert.deepEqual(changes, [undefined])
})

test('a database locked by another process is UNAVAILABLE, and the service continues', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({
    file: database.file,
    clock: Date.now,
    deadlines: { ...PATIENT, databaseLock: 40 },
  })
  using other = new DatabaseSync(database.file)
  other.exec('BEGIN IMMEDIATE')
  const outcomes = await Promise.allSettled(
    ['one', 'two', 'three'].map((slug) => store.write('durable', {}, (tx) => tx.sites.insert(siteRow(slug)))),
  )
  for (const outcome of outcomes) assertFailure(outcome, 'UNAVAILABLE')
  assert.equal(await store.read.sites.find('one'), undefined)
  await store.check()
  other.exec('ROLLBACK')
  await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('one')))
})

test('only writes are INSUFFICIENT_STORAGE on a disk while it is full', requires('small-disk'), async () => {
  await using disk = await mountSmallDisk(4 * 2 ** 20)
  await using store = await sqliteStore({ file: join(disk.folder, 'slipway.db'), ...COMMON })
  const insert = (slug: string, bytes = 20_000) =>
    store.write('durable', {}, (tx) => tx.sites.insert(siteRow(slug, { description: 'x'.repeat(bytes) })))
  await insert('before')
  for (const round of ['first', 'second']) {
    await disk.fill()
    const outcomes = await Promise.allSettled([insert(`${round}-1`), insert(`${round}-2`)])
    for (const outcome of outcomes) assertFailure(outcome, 'INSUFFICIENT_STORAGE')
    assert.ok(await store.read.sites.find('before'))
    assert.equal(await store.read.sites.find(`${round}-1`), undefined)
    await disk.clear()
    await insert(`after-the-${round}`)
  }
  const [large] = await Promise.allSettled([insert('large', 8 * 2 ** 20), insert('small')])
  assertFailure(large!, 'INSUFFICIENT_STORAGE')
  assert.ok(await store.read.sites.find('small'))
})

test('no failed flush is acknowledged as durable, nor is any later write', requires('strace'), async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('before')))
  {
    await using _ = await failCalls('fdatasync,fsync', `${database.file}-wal`)
    const [outcome] = await Promise.allSettled([
      store.write('durable', {}, (tx) => tx.sites.insert(siteRow('during'))),
    ])
    assertFailure(outcome!, 'UNAVAILABLE')
    assert.equal(await store.read.sites.find('during'), undefined)
  }
  for (const durability of ['durable', 'relaxed', 'unread'] as const) {
    const [outcome] = await Promise.allSettled([
      store.write(durability, {}, (tx) => tx.sites.insert(siteRow('after'))),
    ])
    assertFailure(outcome!, 'UNAVAILABLE')
  }
  await assert.rejects(store.check(), { code: 'UNAVAILABLE' })
  assert.ok(await store.read.sites.find('before'), 'durable data is still read')
  const open = () => sqliteStore({ file: database.file, ...COMMON })
  await assert.rejects(open(), { code: 'UNAVAILABLE' }, 'what this one shows may be lost')
  await store[Symbol.asyncDispose]()
  await using next = await open()
  await next.write('durable', {}, (tx) => tx.sites.insert(siteRow('after')))
  assert.ok(await next.read.sites.find('before'))
})

test('an error of a read shows nothing that is not flushed', requires('strace'), async () => {
  await using database = await freshSqlite()
  const options = { file: database.file, ...COMMON, deadlines: REFRESHING, pollIntervalMs: 2 ** 30 }
  await using writer = await sqliteStore(options)
  await using reader = await sqliteStore(options)
  {
    await using _ = await failCalls('pread64', database.file, `${database.file}-wal`)
    await assert.rejects(reader.read.sites.find('a-site'), { code: 'UNAVAILABLE' })
  }
  let writing: Promise<void>
  {
    await using _ = await holdFlushes(database.file)
    writing = writer.write('durable', {}, (tx) => tx.sites.insert(siteRow('unconfirmed')))
    await waitFor(() => hasCommitted(database.file, 'unconfirmed'))
    const reading = reader.read.sites.find('unconfirmed').catch(() => undefined)
    assert.equal(await Promise.race([reading, new Promise((resolve) => setImmediate(resolve))]), undefined)
  }
  await writing
  // Unlike a read, it waits for the flush of the reader without a limit.
  await reader.pollChanges()
  assert.ok(await reader.read.sites.find('unconfirmed'))
})

test('a read error of the disk is UNAVAILABLE, and ends with its cause', requires('strace'), async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  await store.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site')))
  {
    await using _ = await failCalls('pread64', database.file, `${database.file}-wal`)
    await assert.rejects(store.read.sites.find('a-site'), { code: 'UNAVAILABLE' })
    await assert.rejects(store.read.versions.bySlug('a-site'), { code: 'UNAVAILABLE' })
  }
  assert.ok(await store.read.sites.find('a-site'))
})

test(
  'a write is flushed before it ends; one whose result nothing reads need not be',
  requires('strace'),
  async () => {
    await using database = await freshSqlite()
    await using store = await sqliteStore({ file: database.file, ...COMMON, pollIntervalMs: 2 ** 30 })
    await using strace = await attachStrace(process.pid, ['-e', 'trace=fdatasync,fsync'])
    const durabilities = ['durable', 'unread', 'relaxed', 'unread', 'durable'] as const
    for (const [number, durability] of durabilities.entries()) {
      await store.write(durability, {}, (tx) => tx.sites.insert(siteRow(`site-${number}`)))
      flushMarker(`${database.file}-${durability}-answered`)
    }
    const flushes = (await strace.stop()).map((line) => /<([^<>]*)>/.exec(line)?.[1])
    const expected = durabilities.flatMap((durability) => [
      ...(durability === 'unread' ? [] : [`${database.file}-wal`]),
      `${database.file}-${durability}-answered`,
    ])
    assert.deepEqual(flushes, expected)
  },
)

test('a copy of a database has nothing that a power cut may still remove', requires('strace'), async () => {
  await using database = await freshSqlite()
  const { file } = database
  await using store = await sqliteStore({ file, ...COMMON, pollIntervalMs: 2 ** 30 })
  await store.write('unread', {}, (tx) => tx.sites.insert(siteRow('bakery')))
  await using strace = await attachStrace(process.pid, ['-e', 'trace=fdatasync,fsync'])
  await copySqlite(file, `${file}-copy`)
  const [first = ''] = await strace.stop()
  assert.ok(first.includes(`<${file}-wal>`), first)
})

test(
  'while the disk does not confirm a commit, reads and charges continue, and other writes are refused',
  requires('strace'),
  async () => {
    await using database = await freshSqlite()
    await using store = await sqliteStore({ file: database.file, ...COMMON, deadlines: HANGING })
    const changed: string[] = []
    store.onChange((names) => void changed.push(...(names ?? [])))
    const insert = (slug: string, durability: Durability = 'durable') =>
      store.write(durability, {}, async (tx) => {
        await tx.sites.insert(siteRow(slug))
        if (durability !== 'unread') await tx.notifyChanged(slug)
      })
    const fails = async (slug: string, durability?: Durability) => {
      const [outcome] = await Promise.allSettled([insert(slug, durability)])
      if (outcome!.status === 'rejected') assertFailure(outcome!, 'UNAVAILABLE')
      return outcome!.status === 'rejected'
    }
    await insert('before', 'unread')
    await store.pollChanges()
    {
      await using _ = await holdFlushes(database.file)
      assert.ok(await fails('unconfirmed'))
      assert.ok(await fails('refused'))
      assert.ok(await fails('refused', 'relaxed'))
      await insert('charged', 'unread')
      assert.ok(await store.read.sites.find('before'))
      assert.equal(await store.read.sites.find('unconfirmed'), undefined, 'it may still be lost')
      assert.equal(changed.length, 0)
      await store.check()
    }
    let attempt = 0
    await waitFor(async () => !(await fails(`afterwards-${attempt++}`)))
    for (const slug of ['unconfirmed', 'charged'])
      assert.ok(await store.read.sites.find(slug), 'what was committed is not lost')
    assert.equal(await store.read.sites.find('refused'), undefined)
    await store.pollChanges()
    assert.ok(changed.includes('unconfirmed'), 'caches are notified although the write was answered before')
  },
)

test('a store can be closed while the disk does not confirm a commit', requires('strace'), async () => {
  await using database = await freshSqlite()
  const store = await sqliteStore({ file: database.file, ...COMMON, deadlines: HANGING })
  {
    await using _ = await holdFlushes(database.file)
    await Promise.allSettled([store.write('durable', {}, (tx) => tx.sites.insert(siteRow('a-site')))])
    await store[Symbol.asyncDispose]()
  }
  await store[Symbol.asyncDispose]()
})

test('a read waits for what another process has acknowledged', async () => {
  await using database = await freshSqlite()
  const options = { file: database.file, ...COMMON, pollIntervalMs: 2 ** 30 }
  await using writer = await sqliteStore(options)
  await using reader = await sqliteStore(options)
  await writer.write('durable', {}, (tx) => tx.sites.insert(siteRow('acknowledged')))
  assert.ok(await reader.read.sites.find('acknowledged'))
})

test('another store shows what is committed only after a flush of its own', requires('strace'), async () => {
  await using database = await freshSqlite()
  const options = { file: database.file, ...COMMON, deadlines: REFRESHING, pollIntervalMs: 2 ** 30 }
  await using writer = await sqliteStore(options)
  await using reader = await sqliteStore(options)
  const changes: unknown[] = []
  reader.onChange((names) => void changes.push(names))
  const insert = (slug: string) =>
    writer.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow(slug))
      await tx.notifyChanged(slug)
    })
  await insert('acknowledged')
  await reader.pollChanges()
  let writing: Promise<void>
  let polling: Promise<void>
  {
    await using _ = await holdFlushes(database.file)
    writing = insert('unconfirmed')
    await waitFor(() => hasCommitted(database.file, 'unconfirmed'))
    polling = reader.pollChanges()
    for (const store of [writer, reader])
      assert.equal(await store.read.sites.find('unconfirmed'), undefined, 'it may still be lost')
    assert.deepEqual(changes, [['acknowledged']])
  }
  await Promise.all([writing, polling])
  for (const store of [writer, reader]) assert.ok(await store.read.sites.find('unconfirmed'))
  assert.deepEqual(changes, [['acknowledged'], ['unconfirmed']])
})

/** Whether processes on this file can read this site, as without a flush. */
function hasCommitted(file: string, slug: string): boolean {
  using database = new DatabaseSync(file)
  return database.prepare('SELECT 1 FROM sites WHERE slug = ?').get(slug) !== undefined
}

test('a write is visible to reads when it resolves, also while others are not flushed yet', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  const write = async (number: number) => {
    const durability = number % 3 === 0 ? 'relaxed' : 'durable'
    await store.write(durability, {}, (tx) => tx.sites.insert(siteRow(`site-${number}`)))
    return await store.read.sites.find(`site-${number}`)
  }
  const found = await Promise.all(Array.from({ length: 100 }, (_, number) => write(number)))
  assert.ok(found.every((site) => site !== undefined))
})

for (const processes of [1, 2])
  test(`the log is bounded while ${processes} processes write without a pause`, async () => {
    await using database = await freshSqlite()
    await using stack = new AsyncDisposableStack()
    const stores: Store[] = []
    const broadcastInvalidation = async () =>
      void (await Promise.all(stores.map((store) => store.pollChanges())))
    for (let index = 0; index < processes; index++)
      stores.push(stack.use(await sqliteStore({ file: database.file, ...COMMON, broadcastInvalidation })))
    const description = 'x'.repeat(50_000)
    let sites = 0
    const writeMany = async (store: Store) => {
      while (sites < 1200)
        await store.write('durable', {}, (tx) => tx.sites.insert(siteRow(`site-${sites++}`, { description })))
    }
    await Promise.all(stores.flatMap((store) => Array.from({ length: 8 }, () => writeMany(store))))
    assert.ok(
      statSync(`${database.file}-wal`).size < 1.2 * FULL_LOG_BYTES,
      `${statSync(`${database.file}-wal`).size}`,
    )
  })

test('a log that cannot begin anew is moved again only after it has grown', async () => {
  await using database = await freshSqlite()
  let checkpoints = 0
  await using store = await sqliteStore({
    file: database.file,
    ...COMMON,
    broadcastInvalidation: async () => void checkpoints++,
  })
  using other = new DatabaseSync(database.file)
  other.exec('BEGIN; SELECT 1 FROM sites')
  const description = 'x'.repeat(50_000)
  for (let site = 0; statSync(`${database.file}-wal`).size < 1.2 * FULL_LOG_BYTES; site++)
    await store.write('durable', {}, async (tx) => {
      await tx.sites.insert(siteRow(`site-${site}`, { description }))
      await tx.notifyChanged(`site-${site}`)
    })
  assert.equal(checkpoints, 2, 'before and after one checkpoint')
})

/** Lets these system calls on these files fail. */
function failCalls(calls: string, ...files: string[]) {
  const paths = files.flatMap((file) => ['-P', file])
  return attachStrace(process.pid, [...paths, '-e', `inject=${calls}:error=EIO`])
}

/** Lets the disk confirm no flush of the log until dispose. */
function holdFlushes(file: string) {
  return attachStrace(process.pid, ['-P', `${file}-wal`, '-e', `inject=fdatasync:delay_enter=${HOUR_MS}ms`])
}

/** A flush in the output of strace. */
function flushMarker(path: string): void {
  const marker = openSync(path, 'w')
  fsyncSync(marker)
  closeSync(marker)
}

test('a long write of a turn is committed before others of the turn run', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  using other = new DatabaseSync(database.file)
  const count = () => other.prepare('select count(*) as count from sites').get()!.count
  const long = store.write('durable', {}, async (tx) => {
    await tx.sites.insert(siteRow('long'))
    for (const end = performance.now() + 60; performance.now() < end; );
  })
  const others = [1, 2].map(() => store.write('durable', {}, async () => count()))
  assert.deepEqual(await Promise.all(others), [1, 1])
  await long
})

test('a flush that the end of a store interrupts is not a failure of the disk', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  await store.write('durable', {}, async () => undefined)
  const [writer, watcher, one, other] = Array.from({ length: 4 }, () => new DatabaseSync(database.file))
  const commits = new CommitWatch({ timeouts: PATIENT.database })
  const reads = await FlushedReads.open(
    database.file,
    { writer: writer!, watcher: watcher!, readers: [one!, other!] },
    { commits, refreshMs: PATIENT.database.refresh },
  )
  const late = assert.rejects(reads.showNewest(), { code: 'UNAVAILABLE' })
  reads.close()
  await late
  assert.ok(!existsSync(failureFile(database.file)))
  for (const connection of [writer!, watcher!]) connection.close()
})

test('the health check of a closed store is UNAVAILABLE', async () => {
  await using database = await freshSqlite()
  await using store = await sqliteStore({ file: database.file, ...COMMON })
  await store.check()
  await store[Symbol.asyncDispose]()
  await assert.rejects(store.check(), { code: 'UNAVAILABLE' })
})

function assertFailure(outcome: PromiseSettledResult<unknown>, code: string): void {
  assert.equal(outcome.status, 'rejected')
  assert.ok(outcome.reason instanceof ApiError, String(outcome.reason?.stack))
  assert.equal(outcome.reason.code, code)
}
