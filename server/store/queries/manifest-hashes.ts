import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { Schema } from '../schema.ts'

/** Includes injected documents. `versions` is the condition on the table of this name. */
export function selectManifestHashes(db: Kysely<Schema>, versions: RawBuilder<unknown>): RawBuilder<string> {
  return isPostgres(db)
    ? sql`select file->>'hash' from versions, json_array_elements(versions.files::json) as file where ${versions}
          union all select injected_document_hash from versions
            where injected_document_hash is not null and ${versions}`
    : sql`select json_extract(file.value, '$.hash') from versions, json_each(versions.files) as file where ${versions}
          union all select injected_document_hash from versions
            where injected_document_hash is not null and ${versions}`
}

/** Whether the manifest of a version contains a hash as such, rather than in a path. */
export function containsHash(hash: string): RawBuilder<boolean> {
  return sql`strpos(${sql.ref('versions.files')}, ${JSON.stringify({ hash }).slice(1, -1)}) > 0`
}

export function isPostgres(db: Kysely<Schema>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
