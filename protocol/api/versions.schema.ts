import { fileChanges, previewAddress, publishedFile, slug, versionId } from './fields.schema.ts'
import { bool, constant, integer, list, named, nullable, object, type Static, text, time } from './schema.ts'

const publishedWith = text('The credential of its author; null when it was not recorded', {
  enum: ['key', 'dashboard', 'anonymous'],
})
export type PublishedWith = Static<typeof publishedWith>

export const versionFields = {
  versionId,
  createdAt: time('Creation'),
  publishedAt: nullable(time('When it first went live; null for a draft')),
  publishedBy: nullable(
    text('The address of its author; null before the site had an owner, and when the account was deleted'),
  ),
  publishedWith: nullable(publishedWith),
  publishedClient: nullable(
    text('The program of its author, as it names itself in X-Slipway-Client; null when it did not'),
  ),
  fileCount: integer('Files'),
  totalBytes: integer('Bytes'),
  current: bool('Whether it is live'),
  previewUrl: text('Its own URL'),
  message: nullable(text('The note of its publisher')),
  thumbnailUrl: nullable(text('URL of its thumbnail; null without one')),
  changes: nullable(
    fileChanges,
    'Number of files that differ from the version that it replaced; null when none is kept',
  ),
}

const summary = {
  ...versionFields,
  preview: nullable(previewAddress, 'The preview that shows it; null for none'),
}
const version = named('Version', summary)
export type VersionSummary = Static<typeof version>

export const versionList = named('VersionList', {
  slug,
  versions: list(version, 'Newest first'),
})
export type VersionList = Static<typeof versionList>

export const versionDetails = named('VersionDetails', {
  slug,
  ...summary,
  files: list(publishedFile, 'Its files'),
  comparedWith: nullable(
    text('The version with which it is compared: the one that it replaced, a draft with the live one'),
  ),
  added: list(text('A path'), 'Paths that only this version has'),
  changed: list(text('A path'), 'Paths whose bytes differ'),
  removed: list(text('A path'), 'Paths that only the compared version has'),
})
export type VersionDetails = Static<typeof versionDetails>

export const thumbnailResponse = named('Thumbnail', {
  slug,
  versionId,
  thumbnailUrl: text('Its URL; a new picture has another one'),
})
export type ThumbnailResponse = Static<typeof thumbnailResponse>

/** Shows a site to its owner without its password. */
export const previewLink = named('PreviewLink', {
  url: text('Works in frames, too'),
  expiresAt: time('When it ends'),
})
export type PreviewLink = Static<typeof previewLink>

export const deleteVersionResponse = named('DeletedVersion', {
  slug,
  versionId,
  deleted: constant(true, 'Always true'),
})
export type DeleteVersionResponse = Static<typeof deleteVersionResponse>

export const thumbnailQuery = object({}, { v: text('Part of thumbnailUrl; a new picture has another one') })
export const downloadQuery = object(
  {},
  {
    versionId: text('A kept version; the live one by default'),
    format: text('zip; default tar.gz', { enum: ['zip'] }),
  },
)
export const restoreQuery = object(
  {},
  { baseVersionId: text('Refuse with VERSION_CONFLICT unless this version is live') },
)
export const versionQuery = object({}, { versionId: text('A kept version; the live one by default') })
