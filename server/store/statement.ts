import type {
  Compilable,
  CompiledQuery,
  DeleteResult,
  DialectAdapter,
  InferResult,
  Kysely,
  UpdateResult,
} from 'kysely'
import type { Schema } from './schema.ts'

/** Of an engine that executes compiled statements itself. Resolves with the rows that one returns. */
export interface DirectAdapter extends DialectAdapter {
  execute(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
}

/** Stands for a value while a statement is compiled. */
class Parameter {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }

  [Symbol.toPrimitive](): never {
    throw new Error('A parameter of a statement must be passed on as a value')
  }
}

/** Compiled once for each engine. `build` passes each parameter on as a value of its own, unchanged. */
export function statement<Values extends unknown[], Query extends Compilable<unknown>>(
  build: (db: Kysely<Schema>, ...parameters: Values) => Query,
  count = build.length - 1,
): (db: Kysely<Schema>, ...values: Values) => Promise<InferResult<Query>> {
  const compiled = new Map<unknown, CompiledQuery>()
  const parameters = Array.from({ length: count }, (_, index) => new Parameter(index)) as unknown[] as Values
  return async (db, ...values) => {
    const adapter = db.getExecutor().adapter as DialectAdapter | DirectAdapter
    const engine = adapter.constructor
    let query = compiled.get(engine)
    if (!query) {
      query = build(db, ...parameters).compile()
      compiled.set(engine, query)
    }
    const given = query.parameters.map((one) => (one instanceof Parameter ? values[one.index] : one))
    const rows =
      'execute' in adapter
        ? await adapter.execute(query.sql, given)
        : (await db.executeQuery({ ...query, parameters: given })).rows
    return rows as InferResult<Query>
  }
}

type Row = Readonly<Record<string, unknown>>

/** More are rare, and each number of them would be a statement of its own. */
const MAX_COMPILED_ROWS = 8

interface Rows extends Compilable<unknown> {
  execute(): Promise<unknown>
}

/** About rows of these columns: compiled once for each small number of rows, and at each call for more. */
export function rowsStatement<R extends object, Query extends Rows>(
  columns: readonly (keyof R & string)[],
  build: (db: Kysely<Schema>, rows: readonly R[]) => Query,
): (db: Kysely<Schema>, rows: readonly R[]) => Promise<InferResult<Query>> {
  const width = columns.length
  const ofCount = (count: number) =>
    statement((db, ...values: unknown[]) => {
      const toRow = (_: unknown, at: number) =>
        Object.fromEntries(columns.map((name, index) => [name, values[at * width + index]])) as R
      return build(db, Array.from({ length: count }, toRow))
    }, count * width)
  const statements = new Map<number, ReturnType<typeof ofCount>>()
  return async (db, rows) => {
    const count = rows.length
    if (count > MAX_COMPILED_ROWS) return (await build(db, rows).execute()) as InferResult<Query>
    const known = statements.get(count) ?? ofCount(count)
    statements.set(count, known)
    return known(db, ...rows.flatMap((row) => columns.map((name) => row[name])))
  }
}

/** Inserts a row; each set of columns has a statement of its own. */
export function insertStatement(table: keyof Schema): (db: Kysely<Schema>, row: Row) => Promise<unknown> {
  return ofColumns((columns) =>
    statement(
      (db, ...values) =>
        db
          .insertInto(table)
          .values(Object.fromEntries(columns.map((name, at) => [name, values[at]])) as never),
      columns.length,
    ),
  )
}

/** Changes the row with this key; each set of columns has a statement of its own. */
export function updateStatement<Name extends keyof Schema>(
  table: Name,
  key: keyof Schema[Name] & string,
): (db: Kysely<Schema>, change: Row, value: unknown) => Promise<unknown> {
  return ofColumns((columns) =>
    statement(
      (db, ...values) =>
        db
          .updateTable(table as keyof Schema)
          .set(Object.fromEntries(columns.map((name, at) => [name, values[at]])) as never)
          .where(key as never, '=', values.at(-1) as never),
      columns.length + 1,
    ),
  )
}

function ofColumns(
  make: (columns: readonly string[]) => (db: Kysely<Schema>, ...values: unknown[]) => Promise<unknown>,
): (db: Kysely<Schema>, row: Row, ...others: unknown[]) => Promise<unknown> {
  const statements = new Map<string, ReturnType<typeof make>>()
  return (db, row, ...others) => {
    const columns = Object.keys(row)
    const name = columns.join()
    let known = statements.get(name)
    if (!known) {
      known = make(columns)
      statements.set(name, known)
    }
    return known(db, ...Object.values(row), ...others)
  }
}

/** Queries about one subject, of a transaction or for reads. */
export class QueryGroup {
  protected readonly db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.db = db
  }
}

interface Change<Result> {
  executeTakeFirstOrThrow(): Promise<Result>
}

/** Executes a deletion; returns the number of rows. */
export async function countDeleted(deletion: Change<DeleteResult>): Promise<number> {
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows)
}

/** Executes a deletion; returns whether there was a row. */
export async function hasDeleted(deletion: Change<DeleteResult>): Promise<boolean> {
  return (await countDeleted(deletion)) > 0
}

/** Executes an update; returns whether there was a row. */
export async function hasUpdated(update: Change<UpdateResult>): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}

/** Rows of one statement: below every engine's limit of parameters. */
const ROWS_PER_STATEMENT = 500

export function toBatches<T>(all: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
