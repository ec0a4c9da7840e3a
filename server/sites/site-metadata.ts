import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteMetadata } from '../../protocol/api/publish.schema.ts'
import {
  HEAD_FIELDS,
  MAX_MESSAGE_LENGTH,
  METADATA_FIELDS,
  METADATA_TEXTS,
  type MetadataField,
  TTL_SECONDS,
} from '../../protocol/api/publish.ts'
import type { MetadataRequest } from '../../protocol/api/sites.schema.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import type { SiteRight } from '../accounts/authorization.ts'
import { validationError } from '../lib/errors.ts'
import type { ChangeEffect } from '../lib/loading-cache.ts'
import { METADATA_COLUMNS, NO_METADATA, type Site } from '../store/tables/sites.ts'
import type { Version } from '../store/tables/versions.ts'
import type { HeadTags } from './page-metadata/head-injection.ts'
import type { UrlBuilder } from './urls.ts'

export type HeadMetadata = Pick<Site, (typeof HEAD_FIELDS)[number]>

type Rule = (value: unknown) => string | false

const TEXT_RULES = Object.fromEntries(
  Object.entries(METADATA_TEXTS).map(([field, { maxLength }]): [string, Rule] => [
    field,
    (text) =>
      typeof text !== 'string' || [...text].length > maxLength
        ? `must be a string of at most ${maxLength} characters, or null`
        : !isStorable(text) && UNSTORABLE,
  ]),
) as Record<keyof typeof METADATA_TEXTS, Rule>

const { min: MIN_TTL, max: MAX_TTL } = TTL_SECONDS
const RULES: Record<MetadataField, Rule> = {
  ...TEXT_RULES,
  ogImagePath: (path) => typeof path !== 'string' && 'must be the path of an image in the manifest, or null',
  spaMode: (value) => typeof value !== 'boolean' && 'must be true or false',
  ttlSeconds: (seconds) =>
    !(Number.isInteger(seconds) && Number(seconds) >= MIN_TTL && Number(seconds) <= MAX_TTL) &&
    `must be a whole number of seconds from ${MIN_TTL} to ${MAX_TTL} (a year), or null`,
}

/** `prefix` is 'viewer.' or ''. */
export function validateMetadata(viewer: SiteMetadata, prefix: string): FieldError[] {
  return METADATA_FIELDS.flatMap((field) => {
    const value = viewer[field] ?? undefined
    const message = value !== undefined && RULES[field](value)
    return message ? [{ field: prefix + field, message }] : []
  })
}

export function validateMessage(message: unknown): FieldError[] {
  if (message === undefined) return []
  if (typeof message !== 'string' || [...message].length > MAX_MESSAGE_LENGTH)
    return [{ field: 'message', message: `must be a string of at most ${MAX_MESSAGE_LENGTH} characters` }]
  return isStorable(message) ? [] : [{ field: 'message', message: UNSTORABLE }]
}

const UNSTORABLE = 'must not contain null characters or unpaired surrogates'

/** PostgreSQL stores neither; other engines would replace or keep them. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** VALIDATION_ERROR for texts that PostgreSQL does not store, or not within JSON. */
export function assertStorable(fields: object): void {
  const wrong = Object.entries(fields).filter(([, text]) => typeof text === 'string' && !isStorable(text))
  if (wrong.length === 0) return
  throw validationError(wrong.map(([field]) => ({ field, message: UNSTORABLE })))
}

export function hasImage(files: readonly FileEntry[], path: string): boolean {
  const wanted = normalizeNfc(path)
  return files.some((file) => /^image\//i.test(file.contentType) && normalizeNfc(file.path) === wanted)
}

export function notAnImageError(field: string, path: string): FieldError {
  return { field, message: `must be the path of an image in the manifest; '${path}' is not one` }
}

/** Null leaves a field to the document. */
export function headMetadata(site: HeadMetadata): HeadMetadata {
  return Object.fromEntries(HEAD_FIELDS.map((field) => [field, site[field]])) as HeadMetadata
}

/** What a publisher set of a site. */
export function publisherMetadata(site: typeof NO_METADATA): typeof NO_METADATA {
  return Object.fromEntries(METADATA_COLUMNS.map((field) => [field, site[field]])) as typeof NO_METADATA
}

/** Absent fields are omitted. */
export function metadataChange(viewer: MetadataRequest, now: number): Partial<Site> {
  const { ttlSeconds, requireApproval } = viewer
  const stored = METADATA_COLUMNS.filter((field) => viewer[field] !== undefined)
  return {
    ...Object.fromEntries(stored.map((field) => [field, viewer[field] || NO_METADATA[field]])),
    ...(requireApproval === undefined ? {} : { requireApproval }),
    ...(ttlSeconds === undefined ? {} : { expiresAt: ttlSeconds === null ? null : now + ttlSeconds * 1000 }),
  }
}

/** For visitors: a site as it was could be shown after its new end, which its entry does not have. */
export function expiryEffect({ expiresAt }: Site, change: Partial<Site>): ChangeEffect {
  const end = change.expiresAt ?? Number.POSITIVE_INFINITY
  return change.expiresAt !== undefined && end < (expiresAt ?? Number.POSITIVE_INFINITY)
    ? 'withdrawn'
    : 'outdated'
}

/** The password, the expiry and the rule for approvals of a site are its owner's. */
export function requiredRight({ password, ttlSeconds, requireApproval }: MetadataRequest): SiteRight {
  return [password, ttlSeconds, requireApproval].every((value) => value === undefined) ? 'publish' : 'manage'
}

export interface HeadInjection {
  published: StoredFile & { hash: string }
  tags: HeadTags
}

/** While it is live: its metadata applies when it first goes live, and an image that it does not have is ignored. */
export function effectiveMetadata(
  site: HeadMetadata,
  version: Pick<Version, 'metadata' | 'publishedAt'>,
  files: readonly StoredFile[],
): HeadMetadata {
  const head = chosenMetadata(site, version)
  const isLost = head.ogImagePath !== null && !hasImage(files, head.ogImagePath)
  return isLost ? { ...head, ogImagePath: null } : head
}

/** The same with an image that the version may not contain. */
export function chosenMetadata(
  site: HeadMetadata,
  { metadata, publishedAt }: Pick<Version, 'metadata' | 'publishedAt'>,
): HeadMetadata {
  return headMetadata({ ...site, ...(publishedAt === null ? metadataChange(metadata, 0) : {}) })
}

/** Undefined without metadata, or without a root document in HTML. */
export function findInjection(
  site: HeadMetadata & { slug: string },
  version: Pick<Version, 'files' | 'metadata' | 'publishedAt'>,
  addresses: UrlBuilder,
): HeadInjection | undefined {
  const files = version.files
  const head = effectiveMetadata(site, version, files)
  if (Object.values(head).every((value) => value === null)) return undefined
  const root = files.find((file) => file.path === 'index.html')
  // Bytes with a content coding have no head that could be changed.
  if (!root?.hash || root.coded || !/^text\/html\s*(;|$)/i.test(root.contentType)) return undefined
  const { ogImagePath: path, ...texts } = head
  const image = path === null ? null : addresses.file(site.slug, path)
  return { published: { ...root, hash: root.hash }, tags: { ...texts, image } }
}
