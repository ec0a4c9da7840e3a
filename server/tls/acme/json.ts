import { away, type Reply } from './transport.ts'

export type Json = Record<string, unknown>

/** The JSON object that a CA has answered; throws `AcmeFailure` when it is something else. */
export function objectOf(reply: Reply): Json {
  const type = reply.headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) throw away('answered something that is no JSON')
  try {
    const value: unknown = JSON.parse(reply.body)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  } catch {}
  throw away('answered JSON that makes no sense')
}

/** A text of the object; throws `AcmeFailure` when it has none of that name. */
export function textOf(object: Json, name: string): string {
  const value = object[name]
  if (typeof value !== 'string') throw away(`answered without a ${name} that makes sense`)
  return value
}

/** Texts of the object, or none; throws `AcmeFailure` when there are more than `most` or others. */
export function textsOf(object: Json, name: string, most: number): string[] {
  const value = object[name] ?? []
  if (!Array.isArray(value) || value.length > most || !value.every((one) => typeof one === 'string'))
    throw away(`answered ${name} that make no sense`)
  return value
}
