/** The content codings that are prepared ahead (RFC 9110, 8.4.1; RFC 7932; RFC 8878), best first. */
export const ENCODINGS = ['br', 'zstd', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]

/** Files below this many bytes fit into a packet or two as they are. */
const SMALLEST = 256

/** Above this many bytes the best level would take minutes and hundreds of megabytes. */
const LARGEST = 16 * 2 ** 20

/** Types that are not compressed in themselves, beside all of `text/` and what ends in `+json`, `+xml` or `+text`. */
const SHRINKING = new Set([
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

/** Whether files of this type, as a manifest declares it, are made smaller by an encoding. Unknown types are not. */
export function shrinks(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type.startsWith('text/') || /\+(?:json|xml|text)$/.test(type) || SHRINKING.has(type)
}

/** Whether the encodings of a file are prepared ahead: it may shrink, and is neither tiny nor huge. */
export function isPrepared({ contentType, size }: { contentType: string; size: number }): boolean {
  return size >= SMALLEST && size <= LARGEST && shrinks(contentType)
}

/** Whether bytes that an encoding took from one length to another are worth keeping: fewer by 32, and by 2 %. */
export function isSmaller(before: number, after: number): boolean {
  return before - after >= Math.max(32, before * 0.02)
}
