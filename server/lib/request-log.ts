import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import type { RequestTarget } from '../../packages/http-server/http-handler.ts'

/** Whose response was sent, or whose client disconnected before. Without the query of the service itself, which has credentials. */
export interface LoggedRequest extends RequestLike, RequestTarget {
  method: string
  host: string
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
