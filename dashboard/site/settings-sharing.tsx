import { useState } from 'preact/hooks'
import { formatNumber } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { TextArea, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import { hasRootDocument, NO_METADATA, readDocumentMetadata } from './document-metadata.ts'
import { Card, type MetadataDraft } from './settings-card.tsx'
import { PictureChoice } from './settings-picture.tsx'
import type { SettingsProps } from './settings-props.ts'

/** Characters, as the server counts them. */
const MAX_LENGTHS = { title: 200, description: 500 }

/** Title, description and image of browser tabs and link previews. */
export function Sharing({ site, onChanged }: SettingsProps) {
  const [draft, write] = useState<Partial<MetadataDraft>>({})
  const { slug, currentVersionId, title, description, ogImagePath } = site
  const metadata = { title, description, ogImagePath, ...draft }
  const document =
    hasRootDocument(site) && currentVersionId ? `site/${slug}/document/${currentVersionId}` : undefined
  const known = useResource(document, () => readDocumentMetadata(slug))
  const own = known.value ?? NO_METADATA
  const change = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => value !== site[name as keyof MetadataDraft]),
  )
  const isChanged = Object.keys(change).length > 0
  const isTooLong = charactersOver(metadata, 'title') > 0 || charactersOver(metadata, 'description') > 0
  const save = useAction(async () => {
    onChanged(await slipway.setMetadata(slug, change))
    write((now) => Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== change[name])))
    showToast('Saved. Visitors see it from now on.')
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (isChanged && !isTooLong) void save()
  }
  const wrong = save.error?.fields ?? {}
  return (
    <Panel
      title="When it is shared"
      lead="For the tab of a browser, and for the card that messengers make of a link. What is empty here, the document says itself."
    >
      <div class="beside">
        <form class="stack" onSubmit={submit}>
          <TextField
            label="Title"
            value={metadata.title ?? ''}
            placeholder={own.title ?? undefined}
            hint={formatRemainingCharacters(metadata, 'title')}
            error={lengthError(metadata, 'title') ?? wrong.title}
            onWrite={(text) => write({ ...draft, title: text || null })}
          />
          <TextArea
            label="Description"
            value={metadata.description ?? ''}
            placeholder={own.description ?? undefined}
            hint={formatRemainingCharacters(metadata, 'description')}
            error={lengthError(metadata, 'description') ?? wrong.description}
            onWrite={(text) => write({ ...draft, description: text || null })}
          />
          <PictureChoice
            site={site}
            value={metadata.ogImagePath}
            onChange={(path) => write({ ...draft, ogImagePath: path })}
          />
          <ErrorNotice error={save.error} />
          <div class="choices">
            <Button variant="main" busy={save.busy || !isChanged || isTooLong}>
              Save
            </Button>
            {isChanged && (
              <Button variant="link" onClick={() => write({})}>
                Discard changes
              </Button>
            )}
          </div>
        </form>
        <Card site={site} metadata={metadata} own={own} />
      </div>
    </Panel>
  )
}

type LimitedField = keyof typeof MAX_LENGTHS

function charactersOver(metadata: MetadataDraft, name: LimitedField): number {
  return [...(metadata[name] ?? '')].length - MAX_LENGTHS[name]
}

function formatRemainingCharacters(metadata: MetadataDraft, name: LimitedField): string {
  return `${formatNumber(Math.max(0, -charactersOver(metadata, name)))} of ${MAX_LENGTHS[name]} characters left`
}

function lengthError(metadata: MetadataDraft, name: LimitedField): string | undefined {
  const more = charactersOver(metadata, name)
  return more > 0
    ? `This is longer than ${MAX_LENGTHS[name]} characters by ${formatNumber(more)}.`
    : undefined
}
