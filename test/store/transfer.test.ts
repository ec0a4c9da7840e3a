import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqliteTables } from '../../server/store/sqlite.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import { Transfer } from '../../server/store/transfer.ts'
import { accountRow, siteRow, storedBlob, versionRow } from './rows.ts'
import { freshSqlite, openStore } from './test-database.ts'

test('a move that was stopped while it copied rows continues with the rows that the source has now', async () => {
  await using source = await freshSqlite()
  await using target = await freshSqlite()
  const write = async (work: (tx: WriteTransaction) => Promise<void>) => {
    await using store: Store = await openStore(source.address)
    await store.write('durable', {}, work)
  }
  /** Copies rows as each run of a move does; returns them. */
  const copyRows = async () => {
    await using from = await sqliteTables(source.file, { isSource: true })
    await using to = await sqliteTables(target.file, { isSource: false })
    const count = await new Transfer(from, to).copyRows()
    const sites = await to.db.selectFrom('sites').select(['slug', 'title']).orderBy('slug').execute()
    const accounts = await to.db.selectFrom('accounts').select('id').orderBy('id').execute()
    const versions = await to.db.selectFrom('versions').select('id').orderBy('id').execute()
    return {
      count,
      sites: sites.map(({ slug, title }) => `${slug}: ${title}`),
      accounts: accounts.map(({ id }) => id),
      versions: versions.map(({ id }) => id),
    }
  }
  await using _ = await openStore(target.address)
  await write(async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    for (const slug of ['changed', 'kept']) await tx.sites.insert(siteRow(slug, { title: 'one' }))
    for (const id of ['v1', 'v2']) await tx.rows.insert('versions', versionRow(id, 'kept'))
  })
  assert.deepEqual(await copyRows(), {
    count: 5,
    sites: ['changed: one', 'kept: one'],
    accounts: ['ann'],
    versions: ['v1', 'v2'],
  })
  await write(async (tx) => {
    await tx.rows.insert('accounts', accountRow('bob'))
    await tx.sites.update('changed', { title: 'two' })
    await tx.versions.remove('v1')
  })
  assert.deepEqual(await copyRows(), {
    count: 5,
    sites: ['changed: two', 'kept: one'],
    accounts: ['ann', 'bob'],
    versions: ['v2'],
  })
})

test('files that the source has deleted since an earlier run are removed from the target, on every page', async () => {
  await using source = await freshSqlite()
  await using target = await freshSqlite()
  const kept = Array.from({ length: 250 }, (_, number) => storedBlob(`kept ${number}`))
  const gone = { ...storedBlob('gone'), hash: 'f'.repeat(64) }
  for (const [{ address }, blobs] of [
    [source, kept],
    [target, [...kept, gone]],
  ] as const) {
    await using store: Store = await openStore(address)
    await store.write('durable', {}, (tx) => tx.blobs.add('a-site', blobs))
  }
  await using from = await sqliteTables(source.file, { isSource: true })
  await using to = await sqliteTables(target.file, { isSource: false })
  assert.deepEqual(await new Transfer(from, to).removeOthers(), [gone.object])
})
