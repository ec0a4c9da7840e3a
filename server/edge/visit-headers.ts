/** Request headers that affect a response or the visit statistics, in lower case. */
export const RELEVANT_HEADERS = [
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

export type RequestHeaders = { readonly [K in (typeof RELEVANT_HEADERS)[number]]?: string | undefined }
