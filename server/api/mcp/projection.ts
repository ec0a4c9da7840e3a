import { object, type Schema } from '../../../protocol/api/schema.ts'

export interface Projection {
  schema: Schema
  /** Fields without a value are left out, so that a result is short. */
  of(response: object): Record<string, unknown>
}

/** The fields that a result always has, then those that it may have. */
export function project(
  shape: Schema,
  required: readonly string[],
  optional: readonly string[] = [],
): Projection {
  return {
    schema: object(pick(shape, ...required), pick(shape, ...optional)),
    of: (response) =>
      Object.fromEntries(
        [...required, ...optional]
          .map((name) => [name, (response as Record<string, unknown>)[name]] as const)
          .filter(([name, value]) => required.includes(name) || !isEmpty(value)),
      ),
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

/** Without descriptions, which are in the reference of the API: a list of tools fills a context. */
export function brief(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (isDescription(key, value) ? undefined : value)))
}

/** Some clients translate a schema to a dialect without lists of types, and refuse the tool otherwise. */
export function withSingleTypes(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => {
    if (!Array.isArray(value?.type)) return value
    const { type: types, description, ...rest } = value
    const anyOf = types.map((type: string) => (type === 'null' ? { type } : { type, ...rest }))
    return { description, anyOf }
  })
}

/** Whether an entry of a schema describes it. A property of this name has a schema, not a text. */
function isDescription(key: string, value: unknown): boolean {
  return (key === 'description' || key === 'title') && typeof value === 'string'
}

/** Throws for a property that the schema does not have. */
export function pick(shape: Schema, ...names: string[]): Record<string, Schema> {
  const known = properties(shape)
  return Object.fromEntries(
    names.map((name) => {
      const schema = known[name]
      if (!schema) throw new TypeError(`The schema has no property ${name}`)
      return [name, schema]
    }),
  )
}

export function properties(shape: Schema): Record<string, Schema> {
  return shape.properties as Record<string, Schema>
}

export function itemOf(shape: Schema, name: string): Schema {
  return pick(shape, name)[name]!.items as Schema
}
