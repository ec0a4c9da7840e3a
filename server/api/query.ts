import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { Schema } from '../../protocol/api/schema.ts'

interface QuerySchema {
  properties?: Record<string, { type?: string }>
}

/**
 * The parameters with numbers and flags in place of their text, and what is wrong: a parameter that is set twice, or a
 * flag with another word. A query that has passed its schema has no problems.
 */
export function readQuery(
  schema: Schema | undefined,
  query: unknown,
): { values: Record<string, unknown>; problems: FieldError[] } {
  const { properties = {} } = (schema ?? {}) as QuerySchema
  const values: Record<string, unknown> = {}
  const problems: FieldError[] = []
  for (const [field, text] of Object.entries(query as Record<string, unknown>)) {
    if (typeof text !== 'string') {
      problems.push({ field, message: 'must be set only once' })
      continue
    }
    if (!Object.hasOwn(properties, field)) continue
    const { type } = properties[field]!
    if (type === 'integer') values[field] = Number(text)
    else if (type !== 'boolean') values[field] = text
    else if (text === 'true' || text === 'false') values[field] = text === 'true'
    else problems.push({ field, message: 'must be true or false' })
  }
  return { values, problems }
}
