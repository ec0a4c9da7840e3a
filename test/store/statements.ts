import type { TestContext } from 'node:test'
import pg from 'pg'

/** Records the messages with SQL that this process sends to PostgreSQL until the end of a test, except those of the change feed. */
export function recordStatements(t: TestContext): string[] {
  const statements: string[] = []
  const { query } = pg.Client.prototype
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...given: [{ text: string }]) {
    const { text } = given[0]
    if (!/pg_current_snapshot|changes_trimmed|^(listen|notify)\b|pg_is_in_recovery/.test(text))
      statements.push(text)
    return query.apply(this, given as never)
  })
  return statements
}
