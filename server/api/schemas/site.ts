import { MAX_TYPE_LENGTH } from '../../../protocol/manifest/manifest.ts'
import { MAX_PATH_LENGTH } from '../../../protocol/manifest/paths.ts'
import { integer, object, text, time } from './schema.ts'

// Fields of a site that several responses share.

export const slug = text('The name of the site, such as amber-harbor-k7x3m2')
export const siteUrl = text('The URL of the site')
export const versionId = text('Identifier of a version')

const path = text('Relative path, unique in the manifest', { minLength: 1, maxLength: MAX_PATH_LENGTH })

export const suspension = object(
  { reason: text('What the operator says about it, for the owner'), since: time('When it was suspended') },
  {},
  { title: 'Suspension', description: 'Present while the operator has suspended it' },
)

const mimeType = text('MIME type', { maxLength: MAX_TYPE_LENGTH })
const hash = text('SHA-256, 64 lowercase hex characters; enables deduplication', {
  pattern: '^[0-9a-f]{64}$',
})

export const fileEntry = object(
  { path, size: integer('Bytes', { minimum: 1 }), contentType: mimeType },
  { hash },
  { title: 'File' },
)

/** A file of a version, which may be empty. */
export const publishedFile = object(
  { path, size: integer('Bytes', { minimum: 0 }), contentType: mimeType },
  { hash },
  { title: 'PublishedFile' },
)

const contentType = text('MIME type; by default that of the extension', { maxLength: MAX_TYPE_LENGTH })

/** A file whose bytes are in the request. */
export const textFile = object(
  {
    path,
    content: text('The text of the file. The contents of a request have at most 2 MB together, in UTF-8'),
  },
  { contentType },
  { title: 'TextFile' },
)
export const base64File = object(
  { path, contentBase64: text('The bytes of the file in base64') },
  { contentType },
  { title: 'Base64File' },
)

export const kind = {
  type: ['string', 'null'],
  enum: ['page', 'image', 'video', 'audio', 'document', 'files', null],
  description: 'The main kind of content of the live version; null when it was not recorded',
}
