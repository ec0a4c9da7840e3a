import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import type { StoredBlob } from '../../server/blobs/blobs.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { waitForDatabase } from '../../server/operations/fleet/wait-for-database.ts'
import { ChangeFeed } from '../../server/store/postgres/change-feed.ts'
import { parseConnectionUrl } from '../../server/store/postgres/connection-url.ts'
import { PrimaryPool } from '../../server/store/postgres/pool.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { lockKey } from '../../server/store/postgres/writer.ts'
import type { ChangeSet } from '../../server/store/store.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { storeContract } from './contract.ts'
import { accountRow, keyRow, siteRow, storedBlob } from './rows.ts'
import { PostgresTestDatabases } from './test-database.ts'

/** As docs/scale.md states. */
const MAX_CHANGES_PER_POLL = 10_000

const WAITS_FOR_A_ROW = `select from pg_locks where not granted and locktype = 'transactionid'`
const WAITS_FOR_A_LOCK = `select from pg_locks where not granted and locktype = 'advisory'
  and database = (select oid from pg_database where datname = current_database())`

/** A feed without a store, which polls only when the test says so. */
function openFeed(url: string) {
  const stack = new AsyncDisposableStack()
  const cluster = parseConnectionUrl(url)
  const pool = stack.use(new PrimaryPool({ cluster, maxConnections: 1, timeouts: PATIENT_TIMEOUTS }))
  const notified: (readonly string[] | undefined)[] = []
  const notify = async (changed: ChangeSet | undefined) => void notified.push(changed?.names)
  const options = { pool, pollIntervalMs: HOUR_MS, pollTimeoutMs: HOUR_MS, notify }
  const feed = stack.use(new ChangeFeed(options))
  return { feed, notified, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('the store in PostgreSQL', requires('postgres'), () => {
  const databases = startForAllTests(() => PostgresTestDatabases.create())

  const run = async (url: string, text: string) => (await sharedPostgres()).run(url, text)

  storeContract({ name: 'PostgreSQL', fresh: () => databases.next() })

  test('nodes add visits of the same sites without deadlocks', async () => {
    await using database = await databases.next()
    const nodes = [await database.open(), await database.open()]
    const slugs = Array.from({ length: 60 }, (_, number) => `site-${number}`)
    await nodes[0]!.write('relaxed', {}, async (tx) => {
      for (const slug of slugs) await tx.sites.insert(siteRow(slug))
    })
    const names = ['/a', '/b', '/c'].map((name) => ({ kind: 'path' as const, name, requests: 1 }))
    const visits = slugs.map((slug) => ({ slug, requests: 1, bytes: 1, visitors: ['x', 'y'], names }))
    let runs = 0
    const add = (number: number) =>
      nodes[number % 2]!.write('relaxed', {}, (tx) => {
        runs++
        return tx.visits.add(0, 0, number % 2 ? visits : visits.toReversed())
      })
    await Promise.all(Array.from({ length: 20 }, (_, number) => add(number)))
    assert.equal(runs, 20, 'a deadlock makes a write run again')
  })

  test('new content that two sites publish at the same time is stored once, for both', async () => {
    await using database = await databases.next()
    const store = await database.open()
    const [first, second] = [storedBlob('x', 1), storedBlob('x', 2)]
    const added = Promise.withResolvers<void>()
    let runs = 0
    const one = store.write('durable', { site: 'one' }, async (tx) => {
      await tx.blobs.add('one', [first])
      added.resolve()
      await waitFor(async () => (await run(database.address, WAITS_FOR_A_ROW)).rowCount !== 0)
    })
    await added.promise
    const other = store.write('durable', { site: 'two' }, (tx) => {
      runs++
      return tx.blobs.add('two', [second, storedBlob('y')])
    })
    await one
    assert.deepEqual((await other).objects, new Set([first.object, storedBlob('y').object]))
    assert.equal(runs, 1)
    await store.write('durable', {}, async (tx) => {
      await tx.blobs.removeReferences('one', [first.hash], 1)
      assert.deepEqual(await tx.blobs.collect(1, 10), { examined: 1, deleted: 0 }, 'the other site needs it')
    })
  })

  test('a key of two sites ends when both are taken from it at the same time', async () => {
    await using database = await databases.next()
    const store = await database.open()
    await store.write('durable', {}, async (tx) => {
      await tx.rows.insert('accounts', accountRow('ann'))
      await tx.rows.insert('named_keys', keyRow('both', { sites: ['one', 'two'] }))
    })
    const taken = Promise.withResolvers<void>()
    const first = store.write('durable', {}, async (tx) => {
      await tx.keys.deleteOfSite('ann', 'one')
      taken.resolve()
      await waitFor(async () => (await run(database.address, WAITS_FOR_A_ROW)).rowCount !== 0)
    })
    await taken.promise
    await store.write('durable', {}, (tx) => tx.keys.deleteOfSite('ann', 'two'))
    await first
    assert.deepEqual(await store.read.keys.list('ann'), [])
  })

  test('sites that publish the same files in any order do not deadlock, also when one has thousands', async () => {
    await using database = await databases.next()
    const url = database.address
    const store = await database.open()
    const blobs = Array.from({ length: 3000 }, (_, number) => storedBlob(number)).sort((one, other) =>
      one.hash < other.hash ? -1 : 1,
    )
    const [first, held, last] = [blobs[0]!, blobs[1000]!, blobs.at(-1)!]
    await store.write('relaxed', {}, (tx) => tx.blobs.add('before', [last]))
    const waiting = (count: number) =>
      waitFor(async () => (await run(url, WAITS_FOR_A_ROW)).rowCount === count)
    const started: Promise<unknown>[] = []
    let runs = 0
    const publish = (slug: string, content: StoredBlob[]) =>
      started.push(
        store.write('relaxed', {}, (tx) => {
          runs++
          return tx.blobs.add(slug, content)
        }),
      )
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      await other.query(`begin; insert into blobs (hash, object, size) values ('${held.hash}', 'object', 7)`)
      publish('large', blobs.toReversed())
      await waiting(1)
      publish('small', [first, last])
      await waiting(2)
      await other.query('rollback')
      await Promise.all(started)
    } finally {
      await other.end()
    }
    assert.equal(runs, 2)
  })

  test('a change that is committed after later ones is noticed', async () => {
    await using database = await databases.next()
    const url = database.address
    const [one, other] = [await database.open(), await database.open()]
    const seen = new Set<string>()
    other.onChange((names = []) => {
      for (const name of names) seen.add(name)
    })
    const slow = new pg.Client({ connectionString: url })
    await slow.connect()
    try {
      await slow.query("begin; insert into changes (name) values ('slow')")
      await one.write('relaxed', {}, (tx) => tx.notifyChanged('quick'))
      await other.pollChanges()
      assert.deepEqual([...seen], ['quick'])
      await slow.query('commit')
      await other.pollChanges()
      assert.deepEqual([...seen], ['quick', 'slow'])
    } finally {
      await slow.end()
    }
  })

  test('more changes between two polls than a node reads are a change of everything', async () => {
    await using database = await databases.next()
    const store = await database.open()
    const notified: (readonly string[] | undefined)[] = []
    store.onChange((names) => void notified.push(names))
    const change = (count: number) =>
      run(
        database.address,
        `insert into changes (name) select 'site-' || i from generate_series(1, ${count}) as i`,
      )
    await change(MAX_CHANGES_PER_POLL)
    await store.pollChanges()
    assert.equal(notified[0]?.length, MAX_CHANGES_PER_POLL)
    await change(MAX_CHANGES_PER_POLL + 1)
    await store.pollChanges()
    assert.deepEqual(notified.slice(1), [undefined])
  })

  test('a poll that comes so late that changes may have been trimmed is a change of everything', async () => {
    await using database = await (await sharedPostgres()).createDatabase()
    const { url } = database
    const name = new URL(url).pathname.slice(1)
    await run(
      url,
      `create table clock (ahead interval); insert into clock values ('0');
      create function public.clock_timestamp() returns timestamptz language sql
        as 'select pg_catalog.clock_timestamp() + ahead from public.clock';
      alter database "${name}" set search_path = public, pg_catalog`,
    )
    await using opened = openFeed(url)
    const { feed, notified } = opened
    await feed.poll()
    for (const ahead of ['49 minutes', '100 minutes']) {
      await run(url, `update clock set ahead = '${ahead}'; insert into changes (name) values ('site')`)
      await feed.poll()
    }
    await feed.poll()
    assert.deepEqual(notified, [['site'], undefined])
  })

  test('changes of another cluster whose ids come with a dump are not read', async () => {
    await using database = await databases.next()
    const store = await database.open()
    const notified: (readonly string[] | undefined)[] = []
    store.onChange((names) => void notified.push(names))
    await run(
      database.address,
      "insert into changes (xid, name) values ('999999999999', 'dumped'), (default, 'new')",
    )
    await store.pollChanges()
    await store.pollChanges()
    assert.deepEqual(notified, [['new']])
  })

  test('after crash recovery, a change of another node with the transaction id of a lost own change is noticed, and no own change is kept that no poll reads', async () => {
    // The feed of an open store would begin the next epoch.
    await using database = await (await sharedPostgres()).createDatabase()
    const { url } = database
    await using opened = openFeed(url)
    const { feed, notified } = opened
    const other = new pg.Client({ connectionString: url })
    await feed.poll()
    await other.connect()
    try {
      await other.query('begin')
      const { rows } = await other.query('select pg_current_xact_id()::text as xid')
      feed.addOwn(rows[0].xid)
      // Crash recovery empties this unlogged table.
      await run(url, 'delete from feed_epoch')
      await feed.poll()
      await other.query("insert into changes (name) values ('site'); commit")
      await feed.poll()
      assert.deepEqual(notified, [undefined, ['site']])
      await other.query('begin')
      const own = await other.query('select pg_current_xact_id()::text as xid')
      feed.addOwn(own.rows[0].xid)
      await other.query("insert into changes (name) values ('site'), ('former-name'); commit")
      await feed.poll()
      assert.equal(notified.length, 2, 'a change of several names of its own')
      await run(url, `insert into changes (name) select 'a' from generate_series(0, ${MAX_CHANGES_PER_POLL})`)
      await other.query('begin')
      const unread = await other.query('select pg_current_xact_id()::text as xid')
      feed.addOwn(unread.rows[0].xid)
      await other.query("insert into changes (name) values ('site'); commit")
      await feed.poll()
      assert.equal(feed.removeOwn(unread.rows[0].xid), false, 'no poll reads it later')
    } finally {
      await other.end()
    }
  })

  test('the clock of a node is that of the database, whatever its own clock shows', async (t) => {
    await using database = await databases.next()
    const url = database.address
    t.mock.method(Date, 'now', () => 0)
    const store = await database.open('new')
    const { rows } = await run(url, 'select extract(epoch from clock_timestamp())::float8 * 1000 as now')
    assert.ok(Math.abs(store.clock() - rows[0].now) < HOUR_MS, `${store.clock()} and ${rows[0].now}`)
  })

  test('a server that is too old ends a start with a sentence, instead of being waited for', async () => {
    const { url } = await sharedPostgres()
    const open = () => postgresStore({ url: url(), minVersion: 990_000, timeouts: PATIENT_TIMEOUTS })
    const log = { warn: assert.fail, info: assert.fail }
    const refusal = await waitForDatabase(open, { log }).catch((error: unknown) => error)
    assert.ok(refusal instanceof ApiError)
    assert.match(
      refusal.message,
      /^The database server is PostgreSQL 1\d\.\d+.*: version 13 or later is required\.$/,
    )
  })

  test('a write that could not take its locks leaves nothing behind on its connection', async () => {
    await using database = await databases.next()
    const url = database.address
    await using store = await postgresStore({ url, timeouts: PATIENT_TIMEOUTS })
    await using other = await postgresStore({ url, timeouts: PATIENT_TIMEOUTS })
    const held = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const first = other.write('relaxed', { site: 'a-site' }, () => {
      started.resolve()
      return held.promise
    })
    await started.promise
    try {
      const second = assert.rejects(store.write('relaxed', { site: 'a-site' }, async () => undefined))
      const cancel = `select pg_cancel_backend(pid) from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
      await waitFor(async () => (await run(url, cancel)).rowCount !== 0)
      await second
      for (let number = 0; number < 2; number++)
        await store.write('relaxed', {}, (tx) => tx.sites.insert(siteRow(`site-${number}`)))
    } finally {
      held.resolve()
      await first
    }
  })

  test('another default isolation of a role changes nothing: what waited sees what was committed before, and is not repeated', async () => {
    await using database = await databases.next()
    const url = database.address
    const name = new URL(url).pathname.slice(1)
    await run(url, `alter database "${name}" set default_transaction_isolation = 'repeatable read'`)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      const metrics = new Metrics()
      await using store = await postgresStore({ url, timeouts: PATIENT_TIMEOUTS, metrics })
      const count = () => store.execute('relaxed', ({ counters }) => counters.add('caller', 0))
      await count()
      await client.query('begin; update counters set requests = 2')
      const third = count()
      await waitFor(async () => (await run(url, WAITS_FOR_A_ROW)).rowCount === 1)
      await client.query(`commit; begin; select pg_advisory_xact_lock(${lockKey('site', 'a-site')})`)
      assert.equal(await third, 3)
      const found = store.write('relaxed', { site: 'a-site' }, (tx) => tx.sites.find('a-site'))
      await waitFor(async () => (await run(url, WAITS_FOR_A_LOCK)).rowCount === 1)
      await client.query(`insert into sites (slug, is_finalized, created_at, updated_at, visits_key)
        values ('a-site', 0, 0, 0, 'a-site'); commit`)
      assert.equal((await found)?.slug, 'a-site')
      assert.equal(metrics.counter('slipway_store_repeated_writes_total').value, 0)
    } finally {
      await client.end()
      await run(url, `alter database "${name}" reset default_transaction_isolation`)
    }
  })
})
