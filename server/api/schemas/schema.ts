/**
 * The API's shapes as JSON Schema 2020-12: they validate requests, serialize responses and generate the
 * OpenAPI document. Rules that schemas cannot express (limits of a plan, colliding paths) are in `file.ts`
 * and `viewer.ts`.
 */
export type Schema = Readonly<Record<string, unknown>>

export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
})
export const integer = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  description,
  ...more,
})
export const bool = (description: string): Schema => ({ type: 'boolean', description })
export const list = (items: Schema, description: string, more: Schema = {}): Schema => ({
  type: 'array',
  description,
  items,
  ...more,
})
/** Without the name of the schema, which has another type. */
export const nullable = ({ title: _, ...schema }: Schema): Schema => ({
  ...schema,
  type: [schema.type, 'null'],
})
/** A schema that the OpenAPI document defines once, under this name. */
export const named = (title: string, schema: Schema): Schema => ({ title, ...schema })
export const time = (description: string) => text(`${description} (ISO 8601 UTC)`)

/** An object with required fields, then optional ones. Unknown fields are ignored. */
export function object(
  required: Record<string, Schema>,
  optional: Record<string, Schema> = {},
  more: Schema = {},
): Schema {
  return {
    type: 'object',
    required: Object.keys(required),
    properties: { ...required, ...optional },
    ...more,
  }
}
