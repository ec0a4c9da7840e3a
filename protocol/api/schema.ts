/**
 * The shapes of the API as JSON Schema 2020-12. A schema validates requests, serializes responses and documents both;
 * `Static` is the type of its values. Rules that a schema cannot express, such as colliding paths, are with the code that
 * checks them. Only the server runs these modules; the client and the dashboard import types from them.
 */

declare const type: unique symbol

export type Schema<T = unknown> = Readonly<Record<string, unknown>> & { readonly [type]?: T }

/** The type of the values of a schema. */
export type Static<S> = S extends Schema<infer T> ? T : never

type Keywords = Readonly<Record<string, unknown>>
type Fields = Readonly<Record<string, Schema>>
type Values<Required extends Fields, Optional extends Fields> = Flat<
  { -readonly [K in keyof Required]: Static<Required[K]> } & {
    -readonly [K in keyof Optional]?: Static<Optional[K]>
  }
>
type Flat<T> = { [K in keyof T]: T[K] }

/** The type of an object with these fields, all of them required. */
export type StaticFields<Required extends Fields> = Values<Required, Record<never, never>>

/** Text; with `enum`, one of these words. */
export function text<const Word extends string = string>(
  description: string,
  more: Keywords & { enum?: readonly Word[] } = {},
): Schema<Word> {
  return { type: 'string', description, ...more }
}

export function time(description: string): Schema<string> {
  return text(`${description} (ISO 8601 UTC)`)
}

export function integer(description: string, more: Keywords = {}): Schema<number> {
  return { type: 'integer', description, ...more }
}

export function number(description: string): Schema<number> {
  return { type: 'number', description }
}

export function bool(description: string): Schema<boolean> {
  return { type: 'boolean', description }
}

/** A field that always has this value. */
export function constant<const Value extends string | boolean>(
  value: Value,
  description: string,
): Schema<Value> {
  return { type: typeof value, const: value, description }
}

export function list<T>(items: Schema<T>, description: string, more: Keywords = {}): Schema<T[]> {
  return { type: 'array', description, items, ...more }
}

/** Any names, each with a value. */
export function map<T>(values: Schema<T>, description: string): Schema<Record<string, T>> {
  return { type: 'object', description, additionalProperties: values }
}

/** An object with required fields, then optional ones. Unknown fields are ignored. */
export function object<Required extends Fields, Optional extends Fields = Record<never, never>>(
  required: Required,
  optional?: Optional,
  more: Keywords = {},
): Schema<Values<Required, Optional>> {
  return {
    type: 'object',
    required: Object.keys(required),
    properties: { ...required, ...optional },
    ...more,
  }
}

/** A value or null, without the name of the schema, which has another type. */
export function nullable<T>(schema: Schema<T>, description = schema.description): Schema<T | null> {
  const { title: _, ...keywords }: Keywords = schema
  const words = keywords.enum as readonly unknown[] | undefined
  return { ...keywords, type: [keywords.type, 'null'], ...(words && { enum: [...words, null] }), description }
}

/** The same fields, each a value or null. */
export function nullables<F extends Fields>(fields: F): { [K in keyof F]: Schema<Static<F[K]> | null> } {
  const entries = Object.entries(fields).map(([name, schema]) => [name, nullable(schema)])
  return Object.fromEntries(entries) as { [K in keyof F]: Schema<Static<F[K]> | null> }
}

/** An object that the OpenAPI document defines once, under this name. */
export function named<Required extends Fields, Optional extends Fields = Record<never, never>>(
  title: string,
  required: Required,
  optional?: Optional,
  more: Keywords = {},
): Schema<Values<Required, Optional>> {
  return { title, ...object(required, optional), ...more }
}

interface ObjectKeywords {
  required: string[]
  properties: Record<string, Schema>
}

/**
 * One of two objects. Responses are serialized with the fields of both, without a search for the right one; the OpenAPI
 * document has `variants`.
 */
export function either<A, B>(title: string, first: Schema<A>, second: Schema<B>): Schema<A | B> {
  const [a, b] = [first, second] as unknown as [ObjectKeywords, ObjectKeywords]
  const properties = { ...a.properties, ...b.properties }
  for (const [name, schema] of Object.entries(a.properties)) {
    const { const: value, ...others } = properties[name]!
    if (value !== schema.const) properties[name] = schema.const === undefined ? schema : others
  }
  const required = a.required.filter((name) => b.required.includes(name))
  return { title, type: 'object', required, properties, variants: [first, second] }
}
