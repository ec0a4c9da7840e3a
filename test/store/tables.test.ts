import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { TABLES } from '../../server/store/schema.ts'
import { pluck } from '../support/pluck.ts'
import { freshSqlite } from './test-database.ts'

interface StoredColumn {
  name: string
  notnull: 0 | 1
  /** The place in the primary key, from 1. */
  pk: number
}

/** Lists, which are NULL when they are empty. */
const LISTS = ['sites.kept_domains', 'sites.allowed_secrets', 'versions.warnings']

test('each table has the columns and the key of its definition, and NULL only where a field may be null', async () => {
  await using database = await freshSqlite()
  await database.open()
  using file = new DatabaseSync(database.file)
  for (const [name, table] of Object.entries(TABLES)) {
    const stored = file
      .prepare('select name, "notnull", pk from pragma_table_info(?)')
      .all(name) as unknown as StoredColumn[]
    assert.deepEqual([...table.columns].toSorted(), stored.map((column) => column.name).toSorted(), name)
    const key = stored.filter(({ pk }) => pk).sort((one, other) => one.pk - other.pk)
    assert.deepEqual(table.key, pluck(key, 'name'), name)
    const mayBeNull = stored
      .filter(({ notnull, pk, name: column }) => !notnull && !pk && !LISTS.includes(`${name}.${column}`))
      .map((column) => column.name)
    const fields = Object.keys(table.nulls)
    assert.deepEqual(fields.map(toColumn).toSorted(), mayBeNull.toSorted(), name)
  }
})

function toColumn(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
