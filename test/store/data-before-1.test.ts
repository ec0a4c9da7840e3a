import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { EMPTY, sharedPostgres } from '../tools/postgres.ts'
import { openStore } from './test-database.ts'

/** A data folder of a service of commit 4ed3342: one account, two sites, a domain. */
const ARCHIVE = join(import.meta.dirname, '..', 'cases', 'data-4ed3342.tar.gz')

/** One sentence, which says which commit reads the data and how to take the sites along. */
const REFUSAL = {
  code: 'UNAVAILABLE',
  message: /^[^\n]*before 1\.0[^\n]*start commit [0-9a-f]{8} with it[^\n]*"slipway pull"[^\n]*publish[^\n]*$/,
}

describe('data of a commit before 1.0', () => {
  test('are refused in a folder, and keep their sites', async () => {
    await using folder = await memoryFolder()
    execFileSync('tar', ['-xzf', ARCHIVE, '-C', folder.path])
    const readTables = () => {
      using database = new DatabaseSync(join(folder.path, 'slipway.db'))
      return {
        names: database.prepare("select name from sqlite_master where type = 'table' order by name").all(),
        sites: database.prepare('select * from sites').all(),
      }
    }
    const before = readTables()
    await assert.rejects(startTestService({ DATA: folder.path }), REFUSAL)
    assert.deepEqual(readTables(), before)
    assert.equal(before.sites.length, 2)
  })

  test('are refused in PostgreSQL, which gets no table', requires('postgres'), async () => {
    const server = await sharedPostgres()
    await using database = await server.createDatabase(EMPTY)
    const run = (text: string) => server.run(database.url, text)
    // As commit 8a42ec67, the last one before the baseline, has left these tables.
    await run(`create table applied_migrations (name text primary key, applied_at bigint not null);
      create table schema_compatibility (oldest text not null);
      insert into applied_migrations values ('001-foundation', 0), ('029-effects-of-changes', 0);
      insert into schema_compatibility values ('014-growing-tables')`)
    await assert.rejects(openStore(database.url), REFUSAL)
    const { rows } = await run("select tablename from pg_tables where schemaname = 'public' order by 1")
    assert.deepEqual(rows, [{ tablename: 'applied_migrations' }, { tablename: 'schema_compatibility' }])
  })
})
