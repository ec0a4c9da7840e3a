import { addressFields, slug } from './fields.schema.ts'
import { constant, list, named, object, type Static, text } from './schema.ts'
import { versionFields } from './versions.schema.ts'

/** A preview with the version that it shows, compared with the live one. */
export const preview = named('Preview', { ...addressFields, ...versionFields })
export type Preview = Static<typeof preview>

export const previewList = named('PreviewList', {
  slug,
  previews: list(preview, 'The last changed one first'),
})
export type PreviewList = Static<typeof previewList>

export const promoteQuery = object(
  {},
  { versionId: text('Refuse with VERSION_CONFLICT if the preview shows another version') },
)

export const deletePreviewResponse = named('DeletedPreview', {
  slug,
  name: addressFields.name,
  deleted: constant(true, 'Always true'),
})
export type DeletePreviewResponse = Static<typeof deletePreviewResponse>
