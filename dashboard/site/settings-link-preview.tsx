import { formatNumber } from '../../protocol/format.ts'
import { useResource } from '../api/resource.ts'
import { TextArea, TextField } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { EMPTY_METADATA, hasRootDocument, readDocumentMetadata } from './document-metadata.ts'
import { Card } from './settings-card.tsx'
import { PictureChoice } from './settings-picture.tsx'
import { countRemainingCharacters, MAX_LENGTHS, type SettingsProps } from './use-settings.ts'

interface LinkPreviewProps extends SettingsProps {
  /** Called when a version with an uploaded image is live. */
  onPublished: () => void
}

/** Title, description and image of browser tabs and link previews. */
export function LinkPreview({ site, settings, onPublished }: LinkPreviewProps) {
  const { values: metadata, errors, change } = settings
  const { slug, currentVersionId } = site
  const document =
    hasRootDocument(site) && currentVersionId ? `site/${slug}/document/${currentVersionId}` : undefined
  const own = useResource(document, () => readDocumentMetadata(slug)).value ?? EMPTY_METADATA
  return (
    <Panel
      title="Link preview"
      lead="Shown in browser tabs and link previews. Leave blank to use what's in your HTML."
    >
      <div class="beside">
        <div class="stack">
          <TextField
            label="Title"
            value={metadata.title ?? ''}
            placeholder={own.title ?? undefined}
            hint={formatRemaining('title', metadata.title)}
            error={errors.title}
            onWrite={(text) => change({ title: text || null })}
          />
          <TextArea
            label="Description"
            value={metadata.description ?? ''}
            placeholder={own.description ?? undefined}
            hint={formatRemaining('description', metadata.description)}
            error={errors.description}
            onWrite={(text) => change({ description: text || null })}
          />
          <PictureChoice
            site={site}
            value={metadata.ogImagePath}
            hasOwn={own.image !== null}
            onChange={(path) => change({ ogImagePath: path })}
            onPublished={onPublished}
          />
        </div>
        <Card site={site} metadata={metadata} own={own} />
      </div>
    </Panel>
  )
}

function formatRemaining(field: 'title' | 'description', text: string | null): string {
  const left = Math.max(0, countRemainingCharacters(field, text))
  return `${formatNumber(left)} of ${MAX_LENGTHS[field].maxLength} characters left`
}
