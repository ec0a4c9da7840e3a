import type { Order } from './acme.ts'
import { type Json, objectOf, textOf, textsOf } from './json.ts'
import { readProblem } from './problem.ts'
import { away, type Reply } from './transport.ts'

const STATUSES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const

const MOST_NAMES = 100

/** The order that a CA has answered (RFC 8555, 7.1.3). */
export function readOrder(reply: Reply, url: string): Order {
  const object = objectOf(reply)
  const status = STATUSES.find((one) => one === object.status)
  if (status === undefined) throw away('answered an order without a state that makes sense')
  const problem = readProblem(object.error).detail
  return {
    url,
    status,
    names: namesOf(object),
    authorizations: textsOf(object, 'authorizations', MOST_NAMES),
    finalize: textOf(object, 'finalize'),
    ...(object.certificate === undefined ? {} : { certificate: textOf(object, 'certificate') }),
    ...(problem === '' ? {} : { problem }),
  }
}

function namesOf({ identifiers }: Json): string[] {
  const values = Array.isArray(identifiers) ? identifiers.slice(0, MOST_NAMES) : []
  return values.map((identifier: unknown) => textOf((identifier ?? {}) as Json, 'value').toLowerCase())
}
