import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'

/** A request whose response was sent, or whose client disconnected before. */
export interface LoggedRequest extends RequestLike {
  method: string
  host: string
  path: string
  /** With its question mark, or empty. Dropped for the service itself, whose queries have credentials. */
  query: string
  /** 499 when the client disconnected before the response. */
  status: number
  /** Length of the body of the response, also when the client disconnected before its end. */
  bytes: number
  /** From the request to the end of the response, where that is measured. */
  milliseconds?: number
}

export interface RequestLog {
  add(request: LoggedRequest): void
}
