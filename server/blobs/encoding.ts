import type { BlobLocation, Blobs } from './blobs.ts'

/** Precompressed content codings (RFC 9110, 8.4.1; RFC 7932; RFC 8878), best first. */
export const ENCODINGS = ['br', 'zstd', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]

/** Smaller files fit into a packet or two. */
const MIN_BYTES = 256

/** For larger files the highest level takes minutes and hundreds of megabytes. */
const MAX_BYTES = 16 * 2 ** 20

/** Beside `text/*`, `+json`, `+xml` and `+text`: those of mime-db, and others whose files are text or uncompressed. */
const COMPRESSIBLE_SUBTYPES = new Set([
  ...[
    ...['json', 'json5', 'jsonl', 'ndjson', 'x-ndjson', 'xml', 'xml-dtd', 'x-www-form-urlencoded'],
    ...['javascript', 'x-javascript', 'ecmascript', 'typescript', 'x-typescript', 'dart', 'vnd.dart', 'wasm'],
    ...['yaml', 'x-yaml', 'raml+yaml', 'toml', 'graphql', 'sql', 'x-sh', 'x-tex', 'x-httpd-php', 'rtf'],
    ...['postscript', 'octet-stream', 'tar', 'x-tar', 'x-ns-proxy-autoconfig', 'x-font-opentype'],
    ...['vnd.ms-fontobject', 'vnd.ms-opentype', 'font-sfnt', 'x-font-ttf', 'x-font-truetype', 'x-font-otf'],
    ...['hdd', 'ova', 'ovf', 'vbox', 'vdi', 'vhd', 'vmdk'].map((name) => `x-virtualbox-${name}`),
  ].map((name) => `application/${name}`),
  ...['ttf', 'otf', 'sfnt', 'collection'].map((name) => `font/${name}`),
  ...['bmp', 'x-bmp', 'x-ms-bmp', 'x-icon', 'vnd.microsoft.icon', 'vnd.adobe.photoshop', 'vnd.ms-dds'].map(
    (name) => `image/${name}`,
  ),
  ...['obj', 'mtl', 'stl', 'gltf-binary'].map((name) => `model/${name}`),
  'message/rfc822',
  ...['fragment', 'vertex'].map((name) => `x-shader/x-${name}`),
])

/** Whether files of this declared type may be compressible: not whether their bytes are. Types that are not listed are not. */
export function isCompressible(contentType: string): boolean {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type.startsWith('text/') || /\+(?:json|xml|text)$/.test(type) || COMPRESSIBLE_SUBTYPES.has(type)
}

export function shouldPrecompress({ contentType, size }: { contentType: string; size: number }): boolean {
  return size >= MIN_BYTES && size <= MAX_BYTES && isCompressible(contentType)
}

export function isWorthKeeping(before: number, after: number): boolean {
  return before - after >= Math.max(32, before * 0.02)
}

/** All in one object. */
export async function storeEncodings(
  blobs: Pick<Blobs, 'putTogether'>,
  contents: ReadonlyMap<Encoding, Buffer>,
): Promise<Record<Encoding, BlobLocation | null>> {
  const locations: Record<Encoding, BlobLocation | null> = { br: null, zstd: null, gzip: null }
  const stored = contents.size === 0 ? [] : await blobs.putTogether([...contents.values()])
  for (const [index, encoding] of [...contents.keys()].entries()) locations[encoding] = stored[index]!
  return locations
}
