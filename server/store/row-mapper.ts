/** Translates between rows of a table and domain objects; a property corresponds to one column. */
export class RowMapper<Entity extends object, Row extends object> {
  /** The columns of all properties. */
  readonly columns: readonly (keyof Row & string)[]
  readonly #fields: readonly [string, Codec][]

  constructor(fields: Fields<Entity, Row>) {
    this.#fields = Object.entries<string | Codec>(fields as Record<string, string | Codec>).map(
      ([property, field]) => [property, typeof field === 'string' ? plainColumn(field) : field],
    )
    this.columns = this.#fields.map(([, { column }]) => column as keyof Row & string)
  }

  /** Lazy properties are decoded when they are read first. */
  readonly toEntity = (row: Row): Entity => {
    const entity: Record<string, unknown> = {}
    const stored = row as Record<string, unknown>
    for (const [property, { column, decode, isLazy }] of this.#fields) {
      if (isLazy) defineLazily(entity, property, () => decode(stored[column]))
      else entity[property] = decode(stored[column])
    }
    return entity as Entity
  }

  readonly toEntityIfFound = (row: Row | undefined): Entity | undefined => row && this.toEntity(row)

  readonly toEntities = (rows: readonly Row[]): Entity[] => rows.map(this.toEntity)

  /** The columns of the properties that are given. */
  toRow(entity: Entity): Row
  toRow(change: Partial<Entity>): Partial<Row>
  toRow(change: Partial<Entity>): Partial<Row> {
    const row: Record<string, unknown> = {}
    for (const [property, { column, encode }] of this.#fields) {
      const value = (change as Record<string, unknown>)[property]
      if (value !== undefined) row[column] = encode(value)
    }
    return row as Partial<Row>
  }
}

/** A column, or how a property is stored in one. */
export type Fields<Entity, Row> = {
  [Property in keyof Entity]-?: ColumnOf<Entity[Property], Row> | Codec<keyof Row & string>
}

/** Columns of exactly this type. */
type ColumnOf<Value, Row> = {
  [Column in keyof Row]: [Value, Row[Column]] extends [Row[Column], Value] ? Column : never
}[keyof Row]

interface Codec<Column extends string = string> {
  column: Column
  decode(stored: unknown): unknown
  encode(value: unknown): unknown
  isLazy?: boolean
}

/** A boolean in a column of 0 or 1. */
export function flag<Column extends string>(column: Column): Codec<Column> {
  return { column, decode: (stored) => stored === 1, encode: Number }
}

/** A value in a column of JSON, which is parsed when the property is read first; NULL stands for `absent`. */
export function json<Column extends string>(column: Column, absent: unknown = null): Codec<Column> {
  const absentText = JSON.stringify(absent)
  return {
    column,
    isLazy: true,
    decode: (stored) => JSON.parse((stored as string | null) ?? absentText),
    encode(value) {
      const text = JSON.stringify(value)
      return text === absentText ? null : text
    },
  }
}

function plainColumn(column: string): Codec {
  return { column, decode: (stored) => stored, encode: (value) => value }
}

function defineLazily(entity: object, property: string, read: () => unknown): void {
  const define = (descriptor: PropertyDescriptor) =>
    Object.defineProperty(entity, property, { ...descriptor, configurable: true, enumerable: true })
  define({
    get() {
      const value = read()
      define({ value, writable: true })
      return value
    },
  })
}
