/** The content codings that are prepared ahead (RFC 9110, 8.4.1; RFC 7932; RFC 8878), best first. */
export const ENCODINGS = ['br', 'zstd', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]
