import {
  type ComparisonOperator,
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  PostgresAdapter,
  type QueryResult,
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

/** Conditions that all hold. Unequal to null is what has a value. */
type Comparison<Value> = { readonly [Operator in '<' | '<=' | '>' | '>=' | '!=']?: Value }

/** Values of fields: null selects the rows that have none, a list those with one of its values. */
export type Where<Name extends TableName> = {
  readonly [Field in Plain<Name>]?:
    | Stored<Name>[Field]
    | readonly Stored<Name>[Field][]
    | Comparison<Stored<Name>[Field]>
}

interface Condition {
  field: string
  operator: ComparisonOperator
  operand: unknown
}

type Filter<Name extends TableName> = (rows: WhereInterface<Schema, Name>) => WhereInterface<Schema, Name>

type Refine<Name extends TableName> = <Selected>(
  rows: SelectQueryBuilder<Schema, Name, Selected>,
) => SelectQueryBuilder<Schema, Name, Selected>

type Order<Name extends TableName> = Plain<Name> | `${Plain<Name>} desc` | Page

interface Page {
  limit: number
  offset?: number
}

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

  async take(which: Where<Name>): Promise<E[]> {
    const { rows } = await this.#execute('take', which, [], (db, matches) =>
      db.deleteFrom(this.#name).where(matches).returning(this.#view.columns),
    )
    return this.#view.toEntities(rows) as E[]
  }

  /** Removes up to `limit` rows, the first ones in the order of a field. Returns their number. */
  removeFirst(limit: number, which: Where<Name> | Filter<Name>, order?: Plain<Name>): Promise<number> {
    const { key } = this.#table
    const filter =
      typeof which === 'function'
        ? which
        : (rows: WhereInterface<Schema, Name>) => rows.where(this.#match(toConditions(which)) as never)
    let first = this.#db.selectFrom(this.#name).select(key).limit(limit)
    if (order !== undefined) first = first.orderBy(this.#table.toColumn(order))
    const keys = sql`(${sql.join(key.map((column) => sql.ref(column)))})`
    // The condition twice: another statement may have changed a row since the subselect.
    return this.remove((rows) => filter(rows).where(keys, 'in', filter(first as never) as never))
  }

  readonly #selectView = (all: Select): Select =>
    this.#view === this.#table ? all.selectAll() : all.select(this.#view.columns)

  #select(
    kind: string,
    which: Where<Name> | Refine<Name>,
    order: readonly (string | Page)[],
    select: (all: Select) => Select,
  ): MaybePromise<QueryResult<Values>> {
    if (typeof which === 'function') {
      const rows = which(select(this.#db.selectFrom(this.#name)) as never) as object
      return this.#db.executeQuery(rows as Compilable<Values>)
    }
    const fields = order.filter((one) => typeof one === 'string')
    const pages = order.filter((one) => typeof one === 'object')
    return this.#execute(`${kind} ${fields}`, which, pages as object as Values[], (db, matches, [page]) => {
      let rows = select(db.selectFrom(this.#name)).where(matches)
      for (const [field, direction] of fields.map((one) => one.split(' ')))
        rows = rows.orderBy(this.#table.toColumn(field!), direction as 'desc' | undefined)
      if (page) rows = rows.limit(page.limit as number)
      return page?.offset === undefined ? rows : rows.offset(page.offset as number)
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
    const conditions = toConditions(where as Values)
    const values: unknown[] = []
    let shape = kind
    for (const { field, operator, operand } of conditions) {
      shape += ` ${field} ${operator}`
      if (operand !== null) values.push(operand)
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
      const compared = conditions.map(({ operand, ...one }) => ({ ...one, isNull: operand === null }))
      const columns = rows.map((row) => Object.keys(row))
      known = compile((db, next) => {
        const matches = this.#match(
          compared.map(({ isNull, ...one }) => ({ ...one, operand: isNull ? null : next() })),
        )
        const parameters = columns.map((row) => Object.fromEntries(row.map((name) => [name, next()])))
        return build(db as object as Kysely<AnySchema>, matches, parameters)
      })
      this.#compiled.set(shape, known)
    }
    return known(this.#db as object as Kysely<Schema>, values) as MaybePromise<QueryResult<Values>>
  }

  #match(conditions: readonly Condition[]): Matches {
    return (e) =>
      e.and(
        conditions.map(({ field, operator, operand }) => e(this.#table.toColumn(field), operator, operand)),
      )
  }
}

function toConditions(where: Values): Condition[] {
  const conditions: Condition[] = []
  for (const field in where) {
    const value = where[field]
    if (value === undefined) throw new Error(`A condition on ${field} has no value`)
    if (value === null) conditions.push({ field, operator: 'is', operand: null })
    else if (Array.isArray(value)) conditions.push({ field, operator: 'in', operand: value })
    else if (typeof value !== 'object') conditions.push({ field, operator: '=', operand: value })
    else
      for (const [operator, operand] of Object.entries(value as Comparison<unknown>))
        conditions.push({ field, operator: operand === null ? 'is not' : (operator as '<'), operand })
  }
  return conditions
}

export function startingWith(prefix: string): Comparison<string> {
  // The second text follows all with the same beginning.
  return { '>=': prefix, '<': `${prefix}\u{10ffff}` }
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
  sessions: 'expiresAt',
  sign_in_codes: 'expiresAt',
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
    return this.rows(name).removeFirst(limit, { [field]: { '<': time } }, field)
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
