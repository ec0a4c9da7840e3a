import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorBody } from '../../protocol/api/errors.ts'

/** A response and its request. */
export interface ApiResponse {
  method: string
  /** Path and query of the request. */
  target: string
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check its fields
  json: any
}

/** Status and code of an error response. */
export function toError({ status, json }: ApiResponse): Pick<ErrorBody, 'code'> & { status: number } {
  return { status, code: (json as ErrorBody | undefined)?.code ?? ('none' as ErrorBody['code']) }
}
