import { type HttpResponse, unreachable } from './transport.ts'

export type Json = Record<string, unknown>

/** Parses a response as a JSON object; throws `AcmeError` otherwise. */
export function parseObject(reply: HttpResponse): Json {
  const type = reply.headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\b/i.test(type)) throw unreachable('answered something that is no JSON')
  try {
    const value: unknown = JSON.parse(reply.body)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  } catch {}
  throw unreachable('answered JSON that makes no sense')
}

/** A string property; throws `AcmeError` when it is missing. */
export function readString(object: Json, name: string): string {
  const value = object[name]
  if (typeof value !== 'string') throw unreachable(`answered without a ${name} that makes sense`)
  return value
}

/**
 * An array of strings, possibly absent; throws `AcmeError` when it has more than `most` or other elements.
 */
export function readStrings(object: Json, name: string, most: number): string[] {
  const value = object[name] ?? []
  if (!Array.isArray(value) || value.length > most || !value.every((one) => typeof one === 'string'))
    throw unreachable(`answered ${name} that make no sense`)
  return value
}
