import {
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  PostgresAdapter,
  type QueryResult,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
  type WhereInterface,
} from '#kysely'
import { type Schema, TABLES } from './schema.ts'
import { type Compiled, compile, MAX_COMPILED_ROWS, toBatches } from './statement.ts'
import type { Entity, EntityOf, Fields, KeyOf, Table } from './table.ts'

type TableName = keyof typeof TABLES

type Stored<Name extends TableName> = EntityOf<(typeof TABLES)[Name]>

/** A field that is stored as it is. */
type Plain<Name extends TableName> = {
  [Field in keyof Stored<Name>]: Stored<Name>[Field] extends string | number | null ? Field : never
}[keyof Stored<Name>] &
  string

/** Values of fields: null selects the rows that have none, a list those with one of its values. */
type Where<Name extends TableName> = {
  readonly [Field in Plain<Name>]?: Stored<Name>[Field] | readonly Stored<Name>[Field][]
}

type Filter<Name extends TableName> = (rows: WhereInterface<Schema, Name>) => WhereInterface<Schema, Name>

type Refine<Name extends TableName> = <Selected>(
  rows: SelectQueryBuilder<Schema, Name, Selected>,
) => SelectQueryBuilder<Schema, Name, Selected>

type Order<Name extends TableName> = Plain<Name> | `${Plain<Name>} desc`

type Values = Readonly<Record<string, unknown>>

/** Nothing waits in SQLite, and a promise would cost as much as a small statement. */
type MaybePromise<T> = T | Promise<T>

/** The names of tables and columns are values. */
type AnySchema = Record<string, Values>

type Select = SelectQueryBuilder<AnySchema, string, object>

type Matches = (e: ExpressionBuilder<AnySchema, string>) => Expression<SqlBool>

/** Of a list in a condition of a change. SQLite allows 32,766 parameters of one statement, PostgreSQL 65,535. */
const MAX_VALUES = 10_000

const COMPILED = new WeakMap<object, Map<string, Compiled>>()

/**
 * Simple statements about one table, which take and return its entities, or those of a view with some of its fields.
 * A statement whose conditions are values of fields is compiled once for each engine and set of fields.
 */
export class Rows<Name extends TableName, E extends object = Stored<Name>> {
  readonly #db: Kysely<AnySchema>
  readonly #name: string
  readonly #table: Table<Fields>
  readonly #view: Table<Fields>
  readonly #compiled: Map<string, Compiled>

  constructor(db: Kysely<Schema>, name: Name, view: object = TABLES[name]) {
    this.#db = db as object as Kysely<AnySchema>
    this.#name = name
    this.#table = TABLES[name] as object as Table<Fields>
    this.#view = view as Table<Fields>
    this.#compiled = COMPILED.get(this.#view) ?? new Map()
    COMPILED.set(this.#view, this.#compiled)
  }

  /** The first of the rows. */
  async find(which: Where<Name> | Refine<Name>, ...order: Order<Name>[]): Promise<E | undefined> {
    const { rows } = await this.#select('rows', which, order, this.#selectView)
    return this.#view.toEntityIfFound(rows[0]) as E | undefined
  }

  async list(which: Where<Name> | Refine<Name> = {}, ...order: Order<Name>[]): Promise<E[]> {
    const { rows } = await this.#select('rows', which, order, this.#selectView)
    return this.#view.toEntities(rows) as E[]
  }

  async pluck<Field extends Plain<Name>>(
    field: Field,
    which: Where<Name> | Refine<Name> = {},
    ...order: Order<Name>[]
  ): Promise<Stored<Name>[Field][]> {
    const column = this.#table.toColumn(field)
    const { rows } = await this.#select(`of ${field}`, which, order, (all) => all.select(column))
    return rows.map((row) => row[column] as Stored<Name>[Field])
  }

  async has(which: Where<Name> | Refine<Name>): Promise<boolean> {
    return (await this.count(which)) > 0
  }

  async count(which: Where<Name> | Refine<Name>): Promise<number> {
    const { rows } = await this.#select('count', which, [], (all) =>
      all.select((e) => e.fn.countAll().as('count')),
    )
    return (rows[0]?.count ?? 0) as number
  }

  async insert(entity: E): Promise<void> {
    await this.#insert(entity, 'fail')
  }

  /** Inserts those whose keys are new. Returns their number. */
  insertMissing(entities: E | readonly E[]): Promise<number> {
    return this.#insert(entities, 'keep')
  }

  /** Inserts rows, or replaces those with their keys. */
  async put(entities: E | readonly E[]): Promise<void> {
    await this.#insert(entities, 'replace')
  }

  /** Fields that are absent stay. Returns whether there was a row. */
  async update(which: Where<Name> | Filter<Name>, change: Partial<Stored<Name>>): Promise<boolean> {
    const set = (db: Kysely<AnySchema>, [row]: readonly Values[]) => db.updateTable(this.#name).set(row!)
    return (await this.#change('update', which, [this.#table.toRow(change)], set)) > 0
  }

  async increase(which: Where<Name>, field: Plain<Name>, by = 1): Promise<void> {
    const column = this.#table.toColumn(field)
    const sum = sql`${sql.ref(column)} + ${sql.lit(by)}`
    await this.#change(`add ${by} to ${field}`, which, [], (db) =>
      db.updateTable(this.#name).set({ [column]: sum }),
    )
  }

  /** Returns the number of rows. */
  remove(which: Where<Name> | Filter<Name>): Promise<number> {
    return this.#change('remove', which, [], (db) => db.deleteFrom(this.#name))
  }

  /** Removes up to `limit` rows, the first ones in the order of a field. Returns their number. */
  removeFirst(limit: number, which: Filter<Name>, order?: Plain<Name>): Promise<number> {
    const { key } = this.#table
    let first = this.#db.selectFrom(this.#name).select(key).limit(limit)
    if (order !== undefined) first = first.orderBy(this.#table.toColumn(order))
    const keys = sql`(${sql.join(key.map((column) => sql.ref(column)))})`
    // The condition twice: another statement may have changed a row since the subselect.
    return this.remove((rows) => which(rows).where(keys, 'in', which(first as never) as never))
  }

  readonly #selectView = (all: Select): Select =>
    this.#view === this.#table ? all.selectAll() : all.select(this.#view.columns)

  #select(
    kind: string,
    which: Where<Name> | Refine<Name>,
    order: readonly string[],
    select: (all: Select) => Select,
  ): MaybePromise<QueryResult<Values>> {
    if (typeof which === 'function') {
      const rows = which(select(this.#db.selectFrom(this.#name)) as never) as object
      return this.#db.executeQuery(rows as Compilable<Values>)
    }
    return this.#execute(`${kind} ${order}`, which, [], (db, matches) => {
      let rows = select(db.selectFrom(this.#name)).where(matches)
      for (const [field, direction] of order.map((one) => one.split(' ')))
        rows = rows.orderBy(this.#table.toColumn(field!), direction as 'desc' | undefined)
      return rows
    })
  }

  async #insert(entities: E | readonly E[], onConflict: 'fail' | 'keep' | 'replace'): Promise<number> {
    const { key } = this.#table
    let inserted = 0
    for (const batch of toBatches(([entities].flat() as E[]).map((entity) => this.#table.toRow(entity)))) {
      const { numAffectedRows } = await this.#execute(`insert ${onConflict}`, {}, batch, (db, _, rows) => {
        const insert = db.insertInto(this.#name).values(rows)
        if (onConflict === 'fail') return insert
        const others = Object.keys(rows[0]!).filter((column) => !key.includes(column))
        const excluded = others.map((column) => [column, sql.ref(`excluded.${column}`)])
        return insert.onConflict((c) =>
          onConflict === 'keep'
            ? c.columns(key).doNothing()
            : c.columns(key).doUpdateSet(Object.fromEntries(excluded)),
        )
      })
      inserted += Number(numAffectedRows)
    }
    return inserted
  }

  async #change(
    kind: string,
    which: Where<Name> | Filter<Name>,
    rows: readonly Values[],
    build: (
      db: Kysely<AnySchema>,
      rows: readonly Values[],
    ) => Compilable & { where(matches: Matches): Compilable },
  ): Promise<number> {
    const long = Object.entries(which).find(([, value]) => Array.isArray(value) && value.length > MAX_VALUES)
    if (long) {
      let changed = 0
      for (const batch of toBatches(long[1] as unknown[], MAX_VALUES))
        changed += await this.#change(kind, { ...which, [long[0]]: batch }, rows, build)
      return changed
    }
    const { numAffectedRows } =
      typeof which === 'function'
        ? await this.#db.executeQuery(which(build(this.#db, rows) as never) as object as Compilable)
        : await this.#execute(kind, which, rows, (db, matches, rows) => build(db, rows).where(matches))
    return Number(numAffectedRows)
  }

  #execute(
    kind: string,
    where: Where<Name>,
    rows: readonly Values[],
    build: (db: Kysely<AnySchema>, matches: Matches, rows: readonly Values[]) => Compilable,
  ): MaybePromise<QueryResult<Values>> {
    const conditions = where as Values
    const values: unknown[] = []
    let shape = kind
    for (const field in conditions) {
      const value = conditions[field]
      if (value === undefined) throw new Error(`A condition on ${this.#name} has no value`)
      shape += value === null ? ` ${field}?` : ` ${field}`
      if (value !== null) values.push(value)
    }
    const lists = values.filter(Array.isArray)
    if (lists.some((list) => list.length === 0)) return { rows: [], numAffectedRows: 0n }
    if (lists.length > 0 || rows.length > MAX_COMPILED_ROWS)
      return this.#db.executeQuery(build(this.#db, this.#match(conditions), rows) as Compilable<Values>)
    for (const row of rows) {
      const names = Object.keys(row)
      shape += names.length === this.#table.columns.length ? ' *' : ` ${names}`
      values.push(...Object.values(row))
    }
    let known = this.#compiled.get(shape)
    if (!known) {
      // Without the values of this call, which would stay in memory.
      const names = Object.entries(conditions).map(([name, value]) => ({ name, isNull: value === null }))
      const columns = rows.map((row) => Object.keys(row))
      known = compile((db, next) => {
        const matches = this.#match(
          Object.fromEntries(names.map(({ name, isNull }) => [name, isNull ? null : next()])),
        )
        const parameters = columns.map((row) => Object.fromEntries(row.map((name) => [name, next()])))
        return build(db as object as Kysely<AnySchema>, matches, parameters)
      })
      this.#compiled.set(shape, known)
    }
    return known(this.#db as object as Kysely<Schema>, values) as MaybePromise<QueryResult<Values>>
  }

  #match(conditions: Values): Matches {
    const operator = (value: unknown) => (value === null ? 'is' : Array.isArray(value) ? 'in' : '=')
    return (e) =>
      e.and(
        Object.entries(conditions).map(([field, value]) =>
          e(this.#table.toColumn(field), operator(value), value),
        ),
      )
  }
}

export function beginsWith(column: string, prefix: string): RawBuilder<SqlBool> {
  const text = sql.ref(column)
  // Follows every text with the same beginning.
  return sql`(${text} >= ${prefix} and ${text} < ${`${prefix}\u{10ffff}`})`
}

export function isPostgres(db: Kysely<Schema>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** Queries about one subject, of a transaction or for reads. */
export class QueryGroup {
  protected readonly db: Kysely<Schema>

  constructor(db: Kysely<Schema>) {
    this.db = db
  }

  /** The entities of a table, or of a view of it. */
  protected rows<Name extends TableName>(name: Name): Rows<Name, Stored<Name>>
  protected rows<Name extends TableName, F extends Fields>(name: Name, view: Table<F>): Rows<Name, Entity<F>>
  protected rows(name: TableName, view?: object): unknown {
    return new Rows(this.db, name, view)
  }
}

/** Tables whose rows do not leave alone: slugs are retired, and the contents of versions are referenced and counted. */
type Retained = 'sites' | 'versions' | 'blobs'

/** The time by which rows of a table are deleted. Each has an index. */
export const DELETED_BY = {
  accepted_scans: 'acceptedAt',
  acme_challenges: 'expiresAt',
  audit_log: 'at',
  certificates: 'unusedSince',
  counters: 'windowStart',
  device_sign_ins: 'expiresAt',
  held_domains: 'until',
  invitations: 'expiresAt',
  notices: 'createdAt',
  reports: 'lastAt',
  review_links: 'expiresAt',
  used_tokens: 'expiresAt',
  visit_hours: 'hour',
  visit_names: 'day',
  visit_salts: 'day',
  visitors: 'day',
} as const

/** Writes of single rows that need no more than their table. */
export class RowQueries extends QueryGroup {
  /** Rejects when a row has the key. */
  insert<Name extends TableName>(name: Name, entity: Stored<Name>): Promise<void> {
    return this.rows(name).insert(entity)
  }

  /** Inserts rows, or replaces those with their keys. */
  put<Name extends TableName>(name: Name, entities: Stored<Name> | readonly Stored<Name>[]): Promise<void> {
    return this.rows(name).put(entities)
  }

  /** Idempotent. Returns whether there was a row with the key. */
  async remove<Name extends Exclude<TableName, Retained>>(
    name: Name,
    key: KeyOf<(typeof TABLES)[Name]>,
  ): Promise<boolean> {
    return (await this.rows(name).remove(key as Where<Name>)) > 0
  }

  /** Removes up to `limit` rows, the oldest ones of those before `time`. Returns their number. */
  removeBefore(name: keyof typeof DELETED_BY, time: number, limit: number): Promise<number> {
    const field = DELETED_BY[name] as Plain<typeof name>
    const isOld = sql<SqlBool>`${sql.ref((TABLES[name] as object as Table<Fields>).toColumn(field))} < ${time}`
    return this.rows(name).removeFirst(limit, (all) => all.where(isOld), field)
  }
}

/** The base of a group about a table whose key is one field, which finds and updates rows by it. */
export function keyedQueries<Name extends TableName, Key extends Plain<Name>>(name: Name, key: Key) {
  type E = Stored<Name>
  const hasKey = (value: E[Key]) => ({ [key]: value }) as object as Where<Name>
  return class extends QueryGroup {
    protected readonly table = this.rows(name)

    find(value: E[Key]): Promise<E | undefined> {
      return this.table.find(hasKey(value))
    }

    /** Properties that are absent stay; an absent row stays absent. */
    async update(value: E[Key], change: Partial<Omit<E, Key>>): Promise<void> {
      await this.table.update(hasKey(value), change as Partial<E>)
    }
  }
}
