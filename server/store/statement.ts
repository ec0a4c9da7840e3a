import type { Compilable, CompiledQuery, DialectAdapter, InferResult, Kysely, QueryResult } from 'kysely'
import type { Schema } from './schema.ts'

/** Of an engine that executes compiled statements itself. Returns the result, or resolves with it. */
export interface DirectAdapter extends DialectAdapter {
  execute(sql: string, parameters: readonly unknown[]): QueryResult<unknown> | Promise<QueryResult<unknown>>
}

class Parameter {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }

  [Symbol.toPrimitive](): never {
    throw new Error('A parameter of a statement must be passed on as a value')
  }
}

export type Compiled = (
  db: Kysely<Schema>,
  values: readonly unknown[],
) => QueryResult<unknown> | Promise<QueryResult<unknown>>

/** Compiled once for each engine. `build` passes what `next` returns on as a value, unchanged: each value in turn. */
export function compile(build: (db: Kysely<Schema>, next: () => unknown) => Compilable<unknown>): Compiled {
  const compiled = new Map<unknown, CompiledQuery>()
  return (db, values) => {
    const adapter = db.getExecutor().adapter as DialectAdapter | DirectAdapter
    const engine = adapter.constructor
    let query = compiled.get(engine)
    if (!query) {
      let count = 0
      query = build(db, () => new Parameter(count++)).compile()
      compiled.set(engine, query)
    }
    const parameters = query.parameters.map((one) => (one instanceof Parameter ? values[one.index] : one))
    return 'execute' in adapter
      ? adapter.execute(query.sql, parameters)
      : db.executeQuery({ ...query, parameters })
  }
}

/** The same for a number of parameters. Resolves with the rows. */
export function statement<Values extends unknown[], Query extends Compilable<unknown>>(
  build: (db: Kysely<Schema>, ...parameters: Values) => Query,
  count = build.length - 1,
): (db: Kysely<Schema>, ...values: Values) => Promise<InferResult<Query>> {
  const compiled = compile((db, next) => build(db, ...(Array.from({ length: count }, next) as Values)))
  return async (db, ...values) => (await compiled(db, values)).rows as InferResult<Query>
}

/** More are rare, and each number of them would be a statement of its own. */
export const MAX_COMPILED_ROWS = 8

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

/** Rows of one statement: below every engine's limit of parameters. */
const ROWS_PER_STATEMENT = 500

export function toBatches<T>(all: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
