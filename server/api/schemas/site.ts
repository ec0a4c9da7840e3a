import { MOST_PATH_CHARACTERS, MOST_TYPE_CHARACTERS } from '../../file.ts'
import { object, text, whole } from './schema.ts'

// What is said of a site in more than one answer.

export const slug = text('The site’s name, for example amber-harbor-k7x3m2')
export const siteUrl = text('Where the site is served')
export const versionId = text('Identifier of a version')

export const fileEntry = object(
  {
    path: text('Relative path, unique in the manifest', { minLength: 1, maxLength: MOST_PATH_CHARACTERS }),
    size: whole('Bytes', { minimum: 1 }),
    contentType: text('MIME type', { maxLength: MOST_TYPE_CHARACTERS }),
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
