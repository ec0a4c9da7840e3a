import type { Order } from './acme.ts'
import { type Json, parseObject, readString, readStrings } from './json.ts'
import { parseProblem } from './problem.ts'
import { type HttpResponse, unreachable } from './transport.ts'

const STATUSES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const

const MAX_NAMES = 100

/** Parses an order (RFC 8555, 7.1.3). */
export function parseOrder(reply: HttpResponse, url: string): Order {
  const object = parseObject(reply)
  const status = STATUSES.find((one) => one === object.status)
  if (status === undefined) throw unreachable('answered an order without a state that makes sense')
  const problem = parseProblem(object.error).detail
  return {
    url,
    status,
    names: parseIdentifiers(object),
    authorizations: readStrings(object, 'authorizations', MAX_NAMES),
    finalize: readString(object, 'finalize'),
    ...(object.certificate === undefined ? {} : { certificate: readString(object, 'certificate') }),
    ...(problem === '' ? {} : { problem }),
  }
}

function parseIdentifiers({ identifiers }: Json): string[] {
  const values = Array.isArray(identifiers) ? identifiers.slice(0, MAX_NAMES) : []
  return values.map((identifier: unknown) => readString((identifier ?? {}) as Json, 'value').toLowerCase())
}
