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
import * as fleet from './migrations/016-fleet.ts'
import * as claimsAndCounts from './migrations/017-claims-and-counts.ts'
import { failuresAndStrays } from './migrations/018-failures-and-strays.ts'
import * as keyScopes from './migrations/019-key-scopes.ts'
import * as previews from './migrations/020-previews.ts'
import * as trusts from './migrations/021-trusts.ts'
import * as oauth from './migrations/022-oauth.ts'
import * as clients from './migrations/023-clients.ts'
import * as administration from './migrations/024-administration.ts'
import * as figures from './migrations/024-figures.ts'
import * as moderation from './migrations/025-moderation.ts'
import * as quotas from './migrations/026-quotas.ts'
import * as mail from './migrations/027-mail.ts'
import * as trustsAndDevices from './migrations/028-trusts-and-devices.ts'
import * as effectsOfChanges from './migrations/029-effects-of-changes.ts'
import type { EngineName, Schema } from './schema.ts'

/** An index of a table that may be large. */
export interface LargeIndex {
  name: string
  /** The table, the columns and a condition, if any, as in `create index … on`. */
  on: string
  unique?: true
}

/**
 * A step of the schema. Nodes of the release before run beside it, so that a step only adds: CONTRIBUTING.md has the
 * rules.
 */
export type Migration = {
  name: string
  /** The oldest migration that a release must know to run with this step; by default this step itself. */
  compatibleWith?: string
} & (
  | {
      /** Changes the schema, in one transaction. It locks the tables that it alters, so that it must be short. */
      up: (db: Kysely<unknown>, engine: EngineName) => Promise<void>
    }
  | {
      /** Changes a limited number of rows, in one transaction; true when none are left. Repeated until then. */
      fill: (db: Kysely<unknown>, engine: EngineName) => Promise<boolean>
    }
  | {
      /** PostgreSQL builds them while other nodes write. */
      indexes: readonly LargeIndex[]
    }
)

/** In order. A released migration never changes. */
export const migrations: readonly Migration[] = [
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
  { name: '016-fleet', compatibleWith: '014-growing-tables', up: fleet.up },
  { name: '017-claims-and-counts', compatibleWith: '014-growing-tables', up: claimsAndCounts.up },
  {
    name: '017-pages-of-sites',
    compatibleWith: '014-growing-tables',
    indexes: claimsAndCounts.pagesOfSites,
  },
  {
    name: '018-failures-and-strays',
    compatibleWith: '014-growing-tables',
    indexes: failuresAndStrays,
  },
  { name: '019-key-scopes', compatibleWith: '014-growing-tables', up: keyScopes.up },
  {
    name: '019-named-keys-expiring',
    compatibleWith: '014-growing-tables',
    indexes: keyScopes.expiringKeys,
  },
  { name: '020-previews', compatibleWith: '014-growing-tables', up: previews.up },
  {
    name: '020-previews-indexes',
    compatibleWith: '014-growing-tables',
    indexes: previews.previewIndexes,
  },
  { name: '021-trusts', compatibleWith: '014-growing-tables', up: trusts.up },
  { name: '022-oauth', compatibleWith: '014-growing-tables', up: oauth.up },
  { name: '023-clients', compatibleWith: '014-growing-tables', up: clients.up },
  { name: '024-administration', compatibleWith: '014-growing-tables', up: administration.up },
  {
    name: '024-administrators',
    compatibleWith: '014-growing-tables',
    indexes: administration.administrators,
  },
  { name: '024-figures', compatibleWith: '014-growing-tables', up: figures.up },
  { name: '024-lists', compatibleWith: '014-growing-tables', indexes: figures.listIndexes },
  { name: '025-moderation', compatibleWith: '014-growing-tables', up: moderation.up },
  {
    name: '025-moderation-indexes',
    compatibleWith: '014-growing-tables',
    indexes: moderation.moderationIndexes,
  },
  { name: '026-quotas', compatibleWith: '014-growing-tables', up: quotas.up },
  { name: '026-quotas-fill', compatibleWith: '014-growing-tables', fill: quotas.fillNetworks },
  {
    name: '026-quotas-indexes',
    compatibleWith: '014-growing-tables',
    indexes: quotas.quotaIndexes,
  },
  { name: '027-mail', compatibleWith: '014-growing-tables', up: mail.up },
  {
    name: '027-mail-certificates',
    compatibleWith: '014-growing-tables',
    indexes: mail.certificateStates,
  },
  { name: '028-trusts-and-devices', compatibleWith: '014-growing-tables', up: trustsAndDevices.up },
  { name: '029-effects-of-changes', compatibleWith: '014-growing-tables', up: effectsOfChanges.up },
]

interface MigrationTables {
  applied_migrations: { name: string; applied_at: number }
  schema_compatibility: { oldest: string }
}

interface MigrateOptions {
  steps?: readonly Migration[]
  /** Called before the schema or rows of a database with data change. */
  beforeChange?: (pending: readonly string[]) => Promise<void>
}

/**
 * Applies pending migrations to an SQLite database, forward only and all or nothing. The caller has its write lock, so
 * that a second process finds nothing to do. Returns the names of the migrations of a database that had data.
 */
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

export async function createMigrationTables({ schema }: Kysely<Schema>): Promise<void> {
  await schema
    .createTable('applied_migrations')
    .ifNotExists()
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('applied_at', 'bigint', (c) => c.notNull())
    .execute()
  await schema
    .createTable('schema_compatibility')
    .ifNotExists()
    .addColumn('oldest', 'text', (c) => c.notNull())
    .execute()
}

/**
 * The steps that are left, and whether none has been applied; requires the tables of `createMigrationTables`. Steps
 * that this release does not know are those of a newer one. UNAVAILABLE when one of them excludes this release.
 */
export async function findPending(
  db: Kysely<Schema>,
  steps: readonly Migration[],
): Promise<{ pending: Migration[]; isEmpty: boolean }> {
  const tables = db as unknown as Kysely<MigrationTables>
  const rows = await tables.selectFrom('applied_migrations').select('name').execute()
  const applied = new Set(rows.map((row) => row.name))
  const known = new Set(steps.map(({ name }) => name))
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

/** Records that a step was applied, and which releases can run with it. */
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
