import type pg from 'pg'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from '#kysely'
import { Component } from '../../lib/component.ts'
import type { Schema } from '../schema.ts'
import type { Query } from './client.ts'

/** Sends a query without a name, so that a transaction pooler may give each one to another connection. */
type Send = (query: Query) => Promise<pg.QueryResult>

/** Kysely over `send`. The transaction, if any, is that of the caller, except in `transaction` of a migration. */
export function createKysely(send: Send): Kysely<Schema> {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { rows, rowCount } = await send({ text: sql, values: parameters.map(replaceNul) })
      return { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) }
    },
    streamQuery() {
      throw new Error('queries are not streamed')
    },
  }
  return new Kysely<Schema>({
    dialect: {
      createDriver: () => new ConnectionDriver(connection),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  })
}

/** PostgreSQL has no text with a NUL: U+FFFD takes its place, as the encoding to UTF-8 has it for half a surrogate pair. */
function replaceNul(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value
}

class ConnectionDriver extends Component<DatabaseConnection> implements Driver {
  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.parts
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
