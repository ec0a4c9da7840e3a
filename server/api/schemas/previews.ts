import { bool, list, named, object, text, time } from './schema.ts'
import { slug } from './site.ts'
import { versionSummary } from './versions.ts'

const name = text('Its name')

const address = {
  name,
  url: text('Shows the newest version of this name; never indexed'),
  expiresAt: time('When it ends, unless it is published again'),
}

export const previewAddress = object(address, {}, { title: 'PreviewAddress' })
export const preview = named('Preview', object({ ...address, ...versionSummary }))
export const previewList = named(
  'PreviewList',
  object({ slug, previews: list(preview, 'The last changed one first') }),
)
export const promoteQuery = object(
  {},
  { versionId: text('Refuse with VERSION_CONFLICT if the preview shows another version') },
)
export const deletePreviewResponse = named(
  'DeletedPreview',
  object({ slug, name, deleted: bool('Always true') }),
)
