import { type Kysely, sql } from 'kysely'
import { ApiError } from '../lib/errors.ts'
import * as foundation from './migrations/001-foundation.ts'
import * as serving from './migrations/002-serving.ts'
import * as domains from './migrations/003-domains.ts'
import * as webFace from './migrations/004-web-face.ts'
import * as ticketKeys from './migrations/005-ticket-keys.ts'
import * as attemptsAndShares from './migrations/006-attempts-and-shares.ts'
import * as drafts from './migrations/007-drafts.ts'
import * as namedKeys from './migrations/008-named-keys.ts'
import * as versionDescriptions from './migrations/009-version-descriptions.ts'
import * as siteNames from './migrations/010-site-names.ts'
import * as notices from './migrations/011-notices.ts'
import * as contentHashes from './migrations/012-content-hashes.ts'
import * as trashAndCollaborators from './migrations/013-trash-and-collaborators.ts'
import * as growingTables from './migrations/014-growing-tables.ts'
import * as objects from './migrations/015-objects.ts'
import type { EngineName, Schema } from './schema.ts'

interface Migration {
  name: string
  up: (db: Kysely<unknown>, engine: EngineName) => Promise<void>
}

/** In order. A released migration never changes. */
const migrations: readonly Migration[] = [
  { name: '001-foundation', up: foundation.up },
  { name: '002-serving', up: serving.up },
  { name: '003-domains', up: domains.up },
  { name: '004-web-face', up: webFace.up },
  { name: '005-ticket-keys', up: ticketKeys.up },
  { name: '006-attempts-and-shares', up: attemptsAndShares.up },
  { name: '007-drafts', up: drafts.up },
  { name: '008-named-keys', up: namedKeys.up },
  { name: '009-version-descriptions', up: versionDescriptions.up },
  { name: '010-site-names', up: siteNames.up },
  { name: '011-notices', up: notices.up },
  { name: '012-content-hashes', up: contentHashes.up },
  { name: '013-trash-and-collaborators', up: trashAndCollaborators.up },
  { name: '014-growing-tables', up: growingTables.up },
  { name: '015-objects', up: objects.up },
]

interface MigrationTable {
  applied_migrations: { name: string; applied_at: number }
}

interface MigrateOptions {
  engine: EngineName
  /** Key of an advisory lock of PostgreSQL; SQLite's transaction has the write lock. */
  lock?: bigint
}

/**
 * Applies pending migrations, forward only and all or nothing. Safe when several processes start concurrently: the
 * transaction takes a lock first, so the second process finds nothing to do.
 */
export async function migrate(db: Kysely<Schema>, { engine, lock }: MigrateOptions): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (lock !== undefined) await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    const tx = trx as unknown as Kysely<MigrationTable>
    await tx.schema
      .createTable('applied_migrations')
      .ifNotExists()
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('applied_at', 'bigint', (c) => c.notNull())
      .execute()
    const rows = await tx.selectFrom('applied_migrations').select('name').execute()
    const applied = new Set(rows.map((row) => row.name))
    const known = new Set(migrations.map((migration) => migration.name))
    const newer = [...applied].find((name) => !known.has(name))
    if (newer) {
      const sentence = `A newer version of Slipway wrote this data (migration ${newer}). Start that version.`
      throw new ApiError('UNAVAILABLE', sentence)
    }
    for (const { name, up } of migrations) {
      if (applied.has(name)) continue
      await up(tx as unknown as Kysely<unknown>, engine)
      await tx.insertInto('applied_migrations').values({ name, applied_at: Date.now() }).execute()
    }
    if (engine === 'postgres' && applied.size < migrations.length) await compareTextAsBytes(trx)
  })
}

/** Gives every text column the order of its bytes, as in SQLite; an order of the locale changes with the C library. */
async function compareTextAsBytes(db: Kysely<Schema>): Promise<void> {
  await sql`
    do $$
    declare found record;
    begin
      for found in
        select attrelid::regclass as relation, attname as name
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relkind = 'r' and relnamespace = current_schema()::regnamespace
          and attnum > 0 and not attisdropped
          and atttypid = 'text'::regtype and attcollation <> 'pg_catalog."C"'::regcollation
      loop
        execute format('alter table %s alter column %I type text collate "C"', found.relation, found.name);
      end loop;
    end $$`.execute(db)
}
