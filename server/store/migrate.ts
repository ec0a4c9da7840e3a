import { type Kysely, sql } from '#kysely'
import { ApiError } from '../lib/errors.ts'
import type { LargeIndex, Migration } from './migration.ts'
import * as baseline from './migrations/001-baseline.ts'
import type { EngineName, Schema } from './schema.ts'

/** In order. A released migration never changes. */
export const migrations: readonly Migration[] = [{ name: '001-baseline', up: baseline.up }]

interface MigrationTables {
  applied_migrations: { name: string; applied_at: number }
  schema_compatibility: { oldest: string }
}

interface MigrateOptions {
  steps?: readonly Migration[]
  /** Called before the schema or rows of a database with data change. */
  beforeChange?: (pending: readonly string[]) => Promise<void>
}

/** Migrates SQLite, all or nothing; the caller has the write lock. Returns the names if the database had data. */
export async function migrate(
  db: Kysely<Schema>,
  { steps = migrations, beforeChange }: MigrateOptions = {},
): Promise<string[]> {
  return db.transaction().execute(async (tx) => {
    await createMigrationTables(tx)
    const { pending, isEmpty } = await findPending(tx, steps)
    const names = isEmpty ? [] : pending.map(({ name }) => name)
    if (!isEmpty && pending.some((step) => !('indexes' in step))) await beforeChange?.(names)
    await applyAll(tx, 'sqlite', pending)
    return names
  })
}

export async function createMigrationTables(db: Kysely<Schema>): Promise<void> {
  const columns = sql`name text primary key, applied_at bigint not null`
  await sql`create table if not exists applied_migrations (${columns})`.execute(db)
  await sql`create table if not exists schema_compatibility (oldest text not null)`.execute(db)
}

/**
 * The steps that are left, and whether none was applied; requires the tables of `createMigrationTables`. UNAVAILABLE
 * when a step of a newer release excludes this one, and for data of a commit before 1.0.
 */
export async function findPending(
  db: Kysely<Schema>,
  steps: readonly Migration[],
): Promise<{ pending: Migration[]; isEmpty: boolean }> {
  const tables = db as unknown as Kysely<MigrationTables>
  const rows = await tables.selectFrom('applied_migrations').select('name').execute()
  const applied = new Set(rows.map((row) => row.name))
  const known = new Set(steps.map(({ name }) => name))
  if (applied.has(FIRST_BEFORE_BASELINE)) throw new ApiError('UNAVAILABLE', BEFORE_BASELINE)
  const newer = [...applied].find((name) => !known.has(name))
  if (newer !== undefined) {
    const compatibility = await tables.selectFrom('schema_compatibility').select('oldest').executeTakeFirst()
    if (compatibility === undefined || !known.has(compatibility.oldest)) {
      const sentence = `A newer version of Slipway wrote this data (migration ${newer}). Start that version, or go back as docs/backup.md describes.`
      throw new ApiError('UNAVAILABLE', sentence)
    }
  }
  return { pending: steps.filter(({ name }) => !applied.has(name)), isEmpty: applied.size === 0 }
}

/** The first migration of all commits before the baseline, and one of the last of these commits. */
const FIRST_BEFORE_BASELINE = '001-foundation'
const COMMIT_BEFORE_BASELINE = '8a42ec67'

const BEFORE_BASELINE = `A commit of Slipway before 1.0 wrote this data, which 1.0 does not read: start commit ${COMMIT_BEFORE_BASELINE} with it, download each site with "slipway pull", and publish the sites again to a service with a new data folder or database.`

/** Applies steps in the transaction of `tx`, without other users of the database. */
export async function applyAll(
  tx: Kysely<Schema>,
  engine: EngineName,
  steps: readonly Migration[],
): Promise<void> {
  const db = tx as unknown as Kysely<unknown>
  for (const step of steps) {
    if ('up' in step) await step.up(db, engine)
    else if ('fill' in step) while (!(await step.fill(db, engine)));
    else for (const index of step.indexes) await sql.raw(createIndex(index)).execute(db)
    await recordApplied(tx, step)
  }
}

export function createIndex({ name, on, unique }: LargeIndex, method = ''): string {
  return `create ${unique ? 'unique ' : ''}index ${method} ${name} on ${on}`
}

export async function recordApplied(
  tx: Kysely<Schema>,
  { name, compatibleWith = name }: Migration,
): Promise<void> {
  const tables = tx as unknown as Kysely<MigrationTables>
  await tables.insertInto('applied_migrations').values({ name, applied_at: Date.now() }).execute()
  const known = await tables.selectFrom('schema_compatibility').select('oldest').executeTakeFirst()
  if (known === undefined)
    await tables.insertInto('schema_compatibility').values({ oldest: compatibleWith }).execute()
  else if (known.oldest < compatibleWith)
    await tables.updateTable('schema_compatibility').set({ oldest: compatibleWith }).execute()
}
