import { attempt } from './attempt.ts'

/** The object of a JSON text; undefined when it is something else. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  const value: unknown = attempt(() => JSON.parse(text))
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}
