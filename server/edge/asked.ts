import type { IncomingHttpHeaders } from 'node:http'
import type { Target } from './target.ts'

/** The headers that an answer may depend on. A request that has one of them twice is read by Node's parser. */
export type VisitHeaders = Pick<
  IncomingHttpHeaders,
  | 'accept'
  | 'accept-encoding'
  | 'cookie'
  | 'if-match'
  | 'if-modified-since'
  | 'if-none-match'
  | 'if-range'
  | 'if-unmodified-since'
  | 'range'
  | 'sec-fetch-mode'
>

/** A GET or HEAD as far as its answer depends on it: whichever lane it came by, the answer is the same. */
export interface Asked {
  host: string
  target: Target
  headers: VisitHeaders
}
