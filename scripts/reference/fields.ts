import { type Html, html } from '../../server/lib/html.ts'

/** The supported part of JSON Schema. */
export interface FieldSchema {
  type?: string | string[]
  description?: string
  properties?: Record<string, FieldSchema>
  required?: string[]
  items?: FieldSchema
  additionalProperties?: FieldSchema | boolean
  anyOf?: FieldSchema[]
  oneOf?: FieldSchema[]
  const?: unknown
  enum?: unknown[]
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

interface FieldEntry {
  name: string
  schema: FieldSchema
  required: boolean
}

/** Lists the fields of an object at every depth: `files`, `files[].path`. Empty for other types. */
export function fieldList(schema: FieldSchema, mark: 'required' | 'optional'): Html {
  const fields = listFields(schema, '')
  return fields.length === 0
    ? html``
    : html`<dl class="fields">${fields.map((field) => row(field, mark))}</dl>`
}

/** One field: name, type, description, limits. Marks required or optional fields. */
export function row({ name, schema, required }: FieldEntry, mark: 'required' | 'optional'): Html {
  const marked = required === (mark === 'required') ? html` <em>${mark}</em>` : undefined
  const meaning = [schema.description, ...limits(schema)].filter((part) => part !== undefined)
  return html`<div><dt><code>${name}</code> <span>${typeName(schema)}</span>${marked}</dt><dd>${meaning.join('; ')}</dd></div>`
}

/** The types that a schema allows, as text. Variants are objects. */
export function typeName(schema: FieldSchema): string {
  if (schema.oneOf ?? schema.anyOf) return 'object'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const types = [schema.type ?? []].flat()
  return types.length === 0 ? 'any value' : types.map((type) => kind(type, schema)).join(' or ')
}

function kind(type: string, { items, additionalProperties }: FieldSchema): string {
  if (type === 'array' && items) return `list of ${plural(typeName(items))}`
  if (type === 'object' && typeof additionalProperties === 'object') {
    return `object of ${plural(typeName(additionalProperties))}`
  }
  return type
}

function plural(type: string): string {
  return type.includes(' ') ? type : `${type}s`
}

function listFields(schema: FieldSchema, prefix: string): FieldEntry[] {
  const { properties = {}, required = [], items, anyOf = [], oneOf = [] } = schema
  const own = Object.entries(properties).flatMap(([key, inner]) => {
    const name = prefix + key
    return [{ name, schema: inner, required: required.includes(key) }, ...listFields(inner, `${name}.`)]
  })
  const inItems = items ? listFields(items, prefix === '' ? '[].' : `${prefix.slice(0, -1)}[].`) : []
  const inVariants = mergeVariants(oneOf.map((one) => listFields(one, prefix)))
  return [...own, ...inItems, ...anyOf.flatMap((one) => listFields(one, prefix)), ...inVariants]
}

/** Each field once; those that only some variants have, or require, are optional. */
function mergeVariants(variants: FieldEntry[][]): FieldEntry[] {
  const byName = Map.groupBy(variants.flat(), ({ name }) => name)
  return [...byName.values()].map((same) => ({
    ...same.at(-1)!,
    required: same.length === variants.length && same.every(({ required }) => required),
  }))
}

function limits(schema: FieldSchema): string[] {
  return [
    schema.enum && `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`,
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' entries'),
    schema.pattern && `matches ${schema.pattern}`,
  ].filter((limit) => typeof limit === 'string')
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const [from, to] = [least?.toLocaleString('en'), most?.toLocaleString('en')]
  if (from === undefined) return to && `at most ${to}${unit}`
  return to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`
}
