import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorBody } from '../../protocol/api/errors.ts'

/** What came back for one request. */
export interface ApiResponse {
  method: string
  /** Path and query that were asked for. */
  target: string
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  json: any
}

/** The part of an error answer that names its kind. */
export function toError({ status, json }: ApiResponse): Pick<ErrorBody, 'code'> & { status: number } {
  return { status, code: (json as ErrorBody | undefined)?.code ?? ('none' as ErrorBody['code']) }
}
