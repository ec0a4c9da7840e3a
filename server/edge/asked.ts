import type { Site } from './memory/places.ts'
import type { Target } from './target.ts'

/** The headers that an answer or the count of visits may depend on, by their lower-case names. */
export const VISIT_HEADERS = [
  'accept',
  'accept-encoding',
  'cookie',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'referer',
  'sec-fetch-mode',
  'user-agent',
  'x-forwarded-for',
] as const

export type VisitHeaders = { readonly [K in (typeof VISIT_HEADERS)[number]]?: string | undefined }

/** A GET or HEAD as far as its answer depends on it: whichever lane it came by, the answer is the same. */
export interface Asked {
  host: string
  /** Whether it came over TLS that ends here. */
  secure: boolean
  target: Target
  headers: VisitHeaders
  /** Whether only the head of the answer is wanted. */
  head?: boolean
  /** Whose visit it is, once it is answered, if it counts as one. */
  site?: Site | undefined
}
