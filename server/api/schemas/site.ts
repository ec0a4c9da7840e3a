import { MAX_TYPE_LENGTH } from '../../../protocol/manifest/manifest.ts'
import { MAX_PATH_LENGTH } from '../../../protocol/manifest/paths.ts'
import { integer, object, text } from './schema.ts'

// Fields of a site that several responses share.

export const slug = text('The site’s name, for example amber-harbor-k7x3m2')
export const siteUrl = text('Where the site is served')
export const versionId = text('Identifier of a version')

export const fileEntry = object(
  {
    path: text('Relative path, unique in the manifest', { minLength: 1, maxLength: MAX_PATH_LENGTH }),
    size: integer('Bytes', { minimum: 1 }),
    contentType: text('MIME type', { maxLength: MAX_TYPE_LENGTH }),
  },
  {
    hash: text('SHA-256, 64 lowercase hex characters; enables deduplication', { pattern: '^[0-9a-f]{64}$' }),
  },
)

export const kind = {
  type: ['string', 'null'],
  enum: ['page', 'image', 'video', 'audio', 'document', 'files', null],
  description: 'What the live version mostly is; null when that was not noted',
}
