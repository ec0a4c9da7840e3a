import type { Generated } from 'kysely'

/** How a field is stored in its column. Without functions it is stored as it is. */
export interface Column<Value = unknown, Stored = unknown> {
  decode?(stored: Stored): Value
  encode?(value: Value): Stored
  /** A long value is decoded when the field is read first. */
  isLazy?: true
  isNullable?: true
  isKey?: true
}

type KeyColumn<Value, Stored> = Column<Value, Stored> & { isKey: true }

export const text: Column<string, string> = {}

export const integer: Column<number, number> = {}

/** A number that an insert may leave to its default in the schema. */
export const generated: Column<number, Generated<number>> = {}

export const flag: Column<boolean, 0 | 1> = {
  decode: (stored) => stored === 1,
  encode: (value) => (value ? 1 : 0),
}

export function oneOf<Value extends string>(): Column<Value, Value> {
  return {}
}

export function json<Value>(): Column<Value, string> {
  return { decode: (stored) => JSON.parse(stored), encode: (value) => JSON.stringify(value), isLazy: true }
}

/** A list as JSON; NULL when it is empty. */
export function jsonList<Item>(): Column<readonly Item[], string | null> {
  return {
    decode: (stored) => (stored === null ? [] : JSON.parse(stored)),
    encode: (list) => (list.length === 0 ? null : JSON.stringify(list)),
    isLazy: true,
  }
}

export function nullable<Value, Stored>(column: Column<Value, Stored>): Column<Value | null, Stored | null> {
  const { decode, encode, ...others } = column
  return {
    ...(decode && { decode: (stored) => (stored === null ? null : decode(stored)) }),
    ...(encode && { encode: (value) => (value === null ? null : encode(value)) }),
    ...others,
    isNullable: true,
  }
}

/** A column of the primary key, whose columns have the order of the fields. */
export function key<Value, Stored>(column: Column<Value, Stored>): KeyColumn<Value, Stored> {
  return { ...column, isKey: true }
}

export type Fields = Readonly<Record<string, Column>>

type ColumnName<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? Rest extends Uncapitalize<Rest>
    ? `${Lowercase<First>}${ColumnName<Rest>}`
    : `${Lowercase<First>}_${ColumnName<Rest>}`
  : Field

export type Entity<F extends Fields> = {
  -readonly [Field in keyof F]: F[Field] extends Column<infer Value> ? Value : never
}

type Row<F extends Fields> = {
  [Field in keyof F & string as ColumnName<Field>]: F[Field] extends Column<unknown, infer Stored>
    ? Stored
    : never
}

type NullsOf<E> = { [Field in keyof E as null extends E[Field] ? Field : never]: null }

export type EntityOf<T> = T extends Table<infer F> ? Entity<F> : never

export type KeyOf<T> =
  T extends Table<infer F>
    ? { [Field in keyof F as F[Field] extends { isKey: true } ? Field : never]: Entity<F>[Field] }
    : never

export type RowOf<T> = T extends Table<infer F> ? Row<F> : never

/** The types of rows and entities, and the translation between both, follow from the fields. */
export class Table<F extends Fields> {
  readonly columns: readonly (keyof Row<F> & string)[]
  readonly key: readonly (keyof Row<F> & string)[]
  readonly nulls: NullsOf<Entity<F>>
  readonly #fields: F
  /** Copies of an object have its layout from the beginning. */
  readonly #blank: Record<string, unknown>
  readonly #blankRow: Record<string, unknown>
  readonly #columns: readonly { field: string; name: string; column: Column }[]

  constructor(fields: F) {
    this.#fields = fields
    this.#blank = toBlank(Object.keys(fields))
    this.#columns = Object.entries(fields).map(([field, column]) => ({
      field,
      name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      column,
    }))
    const nullable = Object.entries(fields).filter(([, { isNullable }]) => isNullable)
    this.nulls = Object.fromEntries(nullable.map(([field]) => [field, null])) as NullsOf<Entity<F>>
    this.columns = this.#columns.map(({ name }) => name as keyof Row<F> & string)
    this.#blankRow = toBlank(this.columns)
    this.key = this.columns.filter((_, at) => this.#columns[at]!.column.isKey)
  }

  readonly toEntity = (row: Row<F>): Entity<F> => {
    const entity: Record<string, unknown> = { ...this.#blank }
    for (const { field, name, column } of this.#columns) {
      const stored = (row as Record<string, unknown>)[name]
      if (column.isLazy && typeof stored === 'string' && stored.length > LONG_TEXT)
        defineLazily(entity, field, () => column.decode!(stored))
      else entity[field] = column.decode ? column.decode(stored) : stored
    }
    return entity as Entity<F>
  }

  readonly toEntityIfFound = (row: Row<F> | undefined): Entity<F> | undefined => row && this.toEntity(row)

  readonly toEntities = (rows: readonly Row<F>[]): Entity<F>[] => rows.map(this.toEntity)

  toRow(entity: Entity<F>): Row<F>
  toRow(change: Partial<Entity<F>>): Partial<Row<F>>
  toRow(change: Partial<Entity<F>>): unknown {
    const isWhole = this.#columns.every(
      ({ field }) => (change as Record<string, unknown>)[field] !== undefined,
    )
    const row: Record<string, unknown> = isWhole ? { ...this.#blankRow } : {}
    for (const { field, name, column } of this.#columns) {
      const value = (change as Record<string, unknown>)[field]
      if (value !== undefined) row[name] = column.encode ? column.encode(value) : value
    }
    return row
  }

  toColumn(field: string): string {
    return this.#columns.find((one) => one.field === field)!.name
  }

  pick<Field extends keyof F & string>(...names: Field[]): Table<Pick<F, Field>> {
    return new Table(Object.fromEntries(names.map((name) => [name, this.#fields[name]])) as Pick<F, Field>)
  }

  omit<Field extends keyof F & string>(...names: Field[]): Table<Omit<F, Field>> {
    const others = Object.entries(this.#fields).filter(([name]) => !names.includes(name as Field))
    return new Table(Object.fromEntries(others) as Omit<F, Field>)
  }
}

function toBlank(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}

/** Of a shorter text, an accessor would cost more than decoding it. */
const LONG_TEXT = 256

function defineLazily(entity: object, field: string, read: () => unknown): void {
  const define = (descriptor: PropertyDescriptor) =>
    Object.defineProperty(entity, field, { ...descriptor, configurable: true, enumerable: true })
  define({
    get() {
      const value = read()
      define({ value, writable: true })
      return value
    },
  })
}
