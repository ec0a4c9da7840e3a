/** Precompressed content codings (RFC 9110, 8.4.1; RFC 7932; RFC 8878), best first. */
export const ENCODINGS = ['br', 'zstd', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]

/** Smaller files fit into a packet or two. */
const MIN_BYTES = 256

/** For larger files the highest level takes minutes and hundreds of megabytes. */
const MAX_BYTES = 16 * 2 ** 20

/** Compressible types beside `text/*` and those ending in `+json`, `+xml` or `+text`. */
const COMPRESSIBLE_SUBTYPES = new Set([
  ...[
    ...['json', 'ld+json', 'json5', 'jsonl', 'ndjson', 'x-ndjson', 'geo+json', 'xml', 'xml-dtd'],
    ...['javascript', 'x-javascript', 'ecmascript', 'typescript', 'x-typescript', 'wasm'],
    ...['yaml', 'x-yaml', 'toml', 'graphql', 'sql', 'x-sh', 'x-tex', 'rtf', 'postscript'],
    ...['vnd.ms-fontobject', 'font-sfnt', 'x-font-ttf', 'x-font-truetype', 'x-font-otf', 'x-font-opentype'],
  ].map((name) => `application/${name}`),
  ...['ttf', 'otf', 'sfnt', 'collection'].map((name) => `font/${name}`),
  ...['bmp', 'x-bmp', 'x-ms-bmp', 'x-icon', 'vnd.microsoft.icon'].map((name) => `image/${name}`),
  ...['obj', 'mtl', 'stl'].map((name) => `model/${name}`),
])

/** Whether files of this declared type are compressible. Unknown types are not. */
export function isCompressible(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type.startsWith('text/') || /\+(?:json|xml|text)$/.test(type) || COMPRESSIBLE_SUBTYPES.has(type)
}

/** Whether the encodings of a file are prepared: it is compressible, and neither tiny nor huge. */
export function shouldPrecompress({ contentType, size }: { contentType: string; size: number }): boolean {
  return size >= MIN_BYTES && size <= MAX_BYTES && isCompressible(contentType)
}

/** Whether an encoding is worth keeping: smaller by 32 bytes and by 2 %. */
export function isWorthKeeping(before: number, after: number): boolean {
  return before - after >= Math.max(32, before * 0.02)
}
