// Limits of what a publish may set (spec 2.2; contract, "Publishing").

/** Maximum lengths in characters. */
export const MAX_TITLE_LENGTH = 200
export const MAX_MESSAGE_LENGTH = 200

/** Texts about a site that the head of its pages shows, with their maximum lengths in characters. */
const HEAD_TEXTS = {
  title: { maxLength: MAX_TITLE_LENGTH, words: 'Page title' },
  description: { maxLength: 500, words: 'Description for link previews' },
}

/** Texts about a site that a publisher sets. */
export const METADATA_TEXTS = { ...HEAD_TEXTS }

/** What the head of a page shows of a site. */
export const HEAD_FIELDS = [
  ...(Object.keys(HEAD_TEXTS) as (keyof typeof HEAD_TEXTS)[]),
  'ogImagePath',
] as const

/** What a publisher sets of a site, beside its files. */
export const METADATA_FIELDS = [
  ...new Set([...HEAD_FIELDS, ...(Object.keys(METADATA_TEXTS) as (keyof typeof METADATA_TEXTS)[])]),
  'spaMode',
  'ttlSeconds',
] as const
export type MetadataField = (typeof METADATA_FIELDS)[number]

/** Bounds of `ttlSeconds`. */
export const TTL_SECONDS = { min: 60, max: 31_536_000 }

/** Takes the place of `claimToken` in a body or query: proxies log addresses, but not headers. */
export const CLAIM_TOKEN_HEADER = 'x-slipway-claim-token'

/** Media types that a publish accepts beside JSON. */
export const ARCHIVE_TYPES = ['application/zip', 'application/x-tar', 'application/gzip', 'text/html']

/** The largest number of files that a server can allow for a site; the default is spec 8.2. */
export const MAX_FILES = 5000

/** Of a document, where its title, description and image are read: visitors wait for the parser. */
export const MAX_HEAD_BYTES = 256 * 1024

export const MAX_TYPE_LENGTH = 255
