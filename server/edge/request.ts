import type { RequestTarget } from './resolve/target.ts'
import type { RequestHeaders } from './visit-headers.ts'

/** The parts of a GET or HEAD that determine its response, whatever the protocol. */
export interface EdgeRequest {
  host: string
  /** Whether it arrived over TLS that this process terminates. */
  isSecure: boolean
  target: RequestTarget
  headers: RequestHeaders
  /** Whether it is a HEAD. */
  isHead?: boolean
}
