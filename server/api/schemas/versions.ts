import { bool, integer, list, named, nullable, object, text, time } from './schema.ts'
import { publishedFile, slug, versionId } from './site.ts'

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

export const previewAddress = object(addressFields, {}, { title: 'PreviewAddress' })

export const versionFields = {
  versionId,
  createdAt: time('Creation'),
  publishedAt: nullable(time('When it first went live; null for a draft')),
  publishedBy: nullable(
    text('The address of its author; null before the site had an owner, and when the account was deleted'),
  ),
  publishedWith: {
    type: ['string', 'null'],
    enum: ['key', 'dashboard', 'anonymous', null],
    description: 'The credential of its author; null when it was not recorded',
  },
  publishedClient: nullable(
    text('The program of its author, as it names itself in X-Slipway-Client; null when it did not'),
  ),
  fileCount: integer('Files'),
  totalBytes: integer('Bytes'),
  current: bool('Whether it is live'),
  previewUrl: text('Its own URL'),
  message: nullable(text('The note of its publisher')),
  thumbnailUrl: nullable(text('URL of its thumbnail; null without one')),
  changes: {
    ...nullable(fileChanges),
    description: 'Number of files that differ from the version that it replaced; null when none is kept',
  },
}

const summary = {
  ...versionFields,
  preview: { ...nullable(previewAddress), description: 'The preview that shows it; null for none' },
}

const paths = (description: string) => list({ type: 'string' }, description)

export const versionList = named(
  'VersionList',
  object({ versions: list(named('Version', object(summary)), 'Newest first') }),
)
export const versionDetails = named(
  'VersionDetails',
  object({
    ...summary,
    files: list(publishedFile, 'Its files'),
    comparedWith: nullable(
      text('The version with which it is compared: the one that it replaced, a draft with the live one'),
    ),
    added: paths('Paths that only this version has'),
    changed: paths('Paths whose bytes differ'),
    removed: paths('Paths that only the compared version has'),
  }),
)
export const thumbnailResponse = named(
  'Thumbnail',
  object({ slug, versionId, thumbnailUrl: text('Its URL; a new picture has another one') }),
)
export const previewLink = named(
  'PreviewLink',
  object({ url: text('Works in frames, too'), expiresAt: time('When it ends') }),
)
export const thumbnailQuery = object({}, { v: text('Part of thumbnailUrl; a new picture has another one') })
export const deleteVersionResponse = named(
  'DeletedVersion',
  object({ slug, versionId, deleted: bool('Always true') }),
)
export const archiveQuery = object(
  {},
  {
    versionId: text('A kept version; the live one by default'),
    format: text('zip; default tar.gz', { enum: ['zip'] }),
  },
)
export const versionQuery = object({}, { versionId: text('A kept version; the live one by default') })
