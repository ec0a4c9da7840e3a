import { bool, integer, list, nullable, object, text, time } from './schema.ts'
import { fileEntry, slug, versionId } from './site.ts'

const summary = {
  versionId,
  createdAt: time('Creation'),
  publishedAt: nullable(time('When it first went live; null for a draft')),
  publishedBy: nullable(text('Who made it: the owner’s address; null before the site had an owner')),
  publishedWith: {
    type: ['string', 'null'],
    enum: ['key', 'dashboard', 'anonymous', null],
    description: 'With what it was made; null when that was not noted',
  },
  fileCount: integer('Files'),
  totalBytes: integer('Bytes'),
  current: bool('It is live'),
  previewUrl: text('Its own address'),
  changes: {
    ...nullable(
      object({
        added: integer('New paths'),
        changed: integer('Paths with other bytes'),
        removed: integer('Paths that are gone'),
      }),
    ),
    description: 'How many files differ from the version made before it; null when none is kept',
  },
}

const paths = (description: string) => list({ type: 'string' }, description)

export const versionList = object({ versions: list(object(summary), 'Newest first') })
export const versionDetails = object({
  ...summary,
  files: list(fileEntry, 'Its files'),
  comparedWith: nullable(text('The version made before it that is still kept')),
  added: paths('What it has and that one has not'),
  changed: paths('What has other bytes in that one'),
  removed: paths('What that one has and it has not'),
})
export const deleteVersionResponse = object({ slug, versionId, deleted: bool('true') })
export const versionQuery = object({}, { versionId: text('Another kept version than the live one') })
