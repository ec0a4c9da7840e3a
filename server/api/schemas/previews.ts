import { bool, list, named, object, text } from './schema.ts'
import { slug } from './site.ts'
import { addressFields, versionFields } from './versions.ts'

const name = text('Its name')

export const preview = named('Preview', object({ ...addressFields, ...versionFields }))
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
