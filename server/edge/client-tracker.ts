import type { RequestLike } from '../../packages/http-server/clients/client-ip.ts'
import type { RequestHeaders } from '../../packages/http-server/http-handler.ts'
import type { NamedCount, SiteStats } from '../analytics/stats-buffer.ts'

/** Characters of the User-Agent that distinguish visitors. */
const MAX_USER_AGENT_LENGTH = 300

/** The client of a connection. Repeated requests to the same site with the same headers compute nothing. */
export class ClientTracker {
  site: SiteStats | undefined
  headers: RequestHeaders | undefined
  isCounted = false
  referrer: NamedCount | undefined
  readonly #socket: RequestLike['socket']
  #fingerprint: string | undefined

  constructor(socket: RequestLike['socket']) {
    this.#socket = socket
  }

  switchTo(counts: SiteStats, headers: RequestHeaders): void {
    if (headers === this.headers && counts === this.site) return
    if (headers !== this.headers) this.#fingerprint = undefined
    this.site = counts
    this.headers = headers
    this.isCounted = false
    this.referrer = undefined
  }

  /** Kept in memory only, until it is hashed. */
  fingerprint(addressOf: (call: RequestLike) => string): string {
    const headers = this.headers ?? {}
    this.#fingerprint ??= `${addressOf({ socket: this.#socket, headers })}\n${headers['user-agent']?.slice(0, MAX_USER_AGENT_LENGTH) ?? ''}`
    return this.#fingerprint
  }
}
