import { MAX_PATH_LENGTH } from '../manifest/paths.ts'
import { MAX_TYPE_LENGTH } from './publish.ts'
import { integer, named, object, type Static, text, time } from './schema.ts'

// Fields that several resources share. Sizes are bytes and times are ISO 8601 UTC with milliseconds, unless a name says
// seconds.

export const email = text('Email address', { maxLength: 254 })
export const slug = text('The name of the site, such as amber-harbor-k7x3m2')
export const siteUrl = text('The URL of the site')
export const versionId = text('Identifier of a version')
/** In place of a version to restore: the one that the live version replaced. */
export const PREVIOUS_VERSION = 'previous'
/** Of a site. */
export const status = text('`pending` before the first version is live', { enum: ['pending', 'active'] })

const path = text('Relative path, unique in the manifest', { minLength: 1, maxLength: MAX_PATH_LENGTH })
const mimeType = text('MIME type', { maxLength: MAX_TYPE_LENGTH })
const hash = text('SHA-256, 64 lowercase hex characters; enables deduplication', {
  pattern: '^[0-9a-f]{64}$',
})

/** A manifest entry (spec 2.2). */
export const fileEntry = named(
  'File',
  { path, size: integer('Bytes', { minimum: 1 }), contentType: mimeType },
  { hash },
)
/** A file of a version, which may be empty. */
export const publishedFile = named(
  'PublishedFile',
  { path, size: integer('Bytes', { minimum: 0 }), contentType: mimeType },
  { hash },
)

const contentType = text('MIME type; by default that of the extension', { maxLength: MAX_TYPE_LENGTH })
/** A file whose bytes are in the request. */
export const textFile = named(
  'TextFile',
  {
    path,
    content: text('The text of the file. The contents of a request have at most 2 MB together, in UTF-8'),
  },
  { contentType },
)
/** A file whose bytes are in the request. */
export const base64File = named(
  'Base64File',
  { path, contentBase64: text('The bytes of the file in base64') },
  { contentType },
)

/** Why the operator has taken a site, or all sites of an account, offline. */
export const suspension = named(
  'Suspension',
  { reason: text('What the operator says about it, for the owner'), since: time('When it was suspended') },
  {},
  { description: 'Present while the operator has suspended it' },
)

export const fileChanges = object({
  added: integer('New paths'),
  changed: integer('Paths with other bytes'),
  removed: integer('Removed paths'),
})

/** Of a preview. */
export const addressFields = {
  name: text('Its name'),
  url: text('Shows the newest version of this name; never indexed'),
  expiresAt: time('When it ends, unless it is published again'),
}
export const previewAddress = named('PreviewAddress', addressFields)

export type FileEntry = Static<typeof fileEntry>
export type FileContent = Static<typeof textFile> | Static<typeof base64File>
export type SuspensionNotice = Static<typeof suspension>
export type FileChanges = Static<typeof fileChanges>
export type PreviewAddress = Static<typeof previewAddress>
