import type { Call } from '../caller-address.ts'
import type { Name, SiteCounts } from '../visits/batch.ts'
import type { VisitHeaders } from './asked.ts'

/** Characters of what a browser says of itself that visitors are told apart by. */
const MOST_AGENT = 300

/**
 * Who asks on a connection, as far as was looked: a client says mostly the same again and again, at the same site, and
 * then there is nothing to be looked at.
 */
export class Visitor {
  /** Where its visits were counted last, and what it said of itself then. */
  counts: SiteCounts | undefined
  headers: VisitHeaders | undefined
  /** Whether it was counted there as a visitor. */
  isMet = false
  /** Where the page is counted that led it there. */
  referrer: Name | undefined
  readonly #socket: Call['socket']
  #self: string | undefined

  constructor(socket: Call['socket']) {
    this.#socket = socket
  }

  /** It says this at that site. */
  turn(counts: SiteCounts, headers: VisitHeaders): void {
    if (headers === this.headers && counts === this.counts) return
    if (headers !== this.headers) this.#self = undefined
    this.counts = counts
    this.headers = headers
    this.isMet = false
    this.referrer = undefined
  }

  /** What it is told from others by: kept in memory only, until it was hashed. */
  self(addressOf: (call: Call) => string): string {
    const headers = this.headers ?? {}
    this.#self ??= `${addressOf({ socket: this.#socket, headers })}\n${headers['user-agent']?.slice(0, MOST_AGENT) ?? ''}`
    return this.#self
  }
}
