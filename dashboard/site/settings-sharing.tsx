import { useState } from 'preact/hooks'
import { figure } from '../../client/words.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { TextArea, TextField } from '../kit/field.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { say } from '../kit/toast.tsx'
import { hasRootDocument, ownWords, SILENT } from './own-words.ts'
import { Card, type Wish } from './settings-card.tsx'
import { PictureChoice } from './settings-picture.tsx'
import type { SettingsProps } from './settings-view.tsx'

/** Characters, as the server counts them. */
const MOST = { title: 200, description: 500 }

/** Title, description and picture: what the tab of a browser and the card of a messenger show. */
export function Sharing({ site, onChanged }: SettingsProps) {
  const [draft, write] = useState<Partial<Wish>>({})
  const { slug, currentVersionId, title, description, ogImagePath } = site
  const wish = { title, description, ogImagePath, ...draft }
  const document =
    hasRootDocument(site) && currentVersionId ? `site/${slug}/document/${currentVersionId}` : undefined
  const known = useResource(document, () => ownWords(slug))
  const own = known.value ?? SILENT
  const change = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => value !== site[name as keyof Wish]),
  )
  const isChanged = Object.keys(change).length > 0
  const isTooLong = beyond(wish, 'title') > 0 || beyond(wish, 'description') > 0
  const save = useAction(async () => {
    onChanged(await slipway.setMetadata(slug, change))
    write((now) => Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== change[name])))
    say('Saved. Visitors see it from now on.')
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (isChanged && !isTooLong) void save()
  }
  const wrong = save.failing?.fields ?? {}
  return (
    <Panel
      title="When it is shared"
      lead="For the tab of a browser, and for the card that messengers make of a link. What is empty here, the document says itself."
    >
      <div class="beside">
        <form class="stack" onSubmit={submit}>
          <TextField
            label="Title"
            value={wish.title ?? ''}
            placeholder={own.title ?? undefined}
            hint={room(wish, 'title')}
            wrong={tooLong(wish, 'title') ?? wrong.title}
            onWrite={(text) => write({ ...draft, title: text || null })}
          />
          <TextArea
            label="Description"
            value={wish.description ?? ''}
            placeholder={own.description ?? undefined}
            hint={room(wish, 'description')}
            wrong={tooLong(wish, 'description') ?? wrong.description}
            onWrite={(text) => write({ ...draft, description: text || null })}
          />
          <PictureChoice
            site={site}
            value={wish.ogImagePath}
            onChange={(path) => write({ ...draft, ogImagePath: path })}
          />
          <Trouble failing={save.failing} />
          <div class="choices">
            <Button look="main" busy={save.busy || !isChanged || isTooLong}>
              Save
            </Button>
            {isChanged && (
              <Button look="link" onClick={() => write({})}>
                Discard changes
              </Button>
            )}
          </div>
        </form>
        <Card site={site} wish={wish} own={own} />
      </div>
    </Panel>
  )
}

type Text = keyof typeof MOST

function beyond(wish: Wish, name: Text): number {
  return [...(wish[name] ?? '')].length - MOST[name]
}

function room(wish: Wish, name: Text): string {
  return `${figure(Math.max(0, -beyond(wish, name)))} of ${MOST[name]} characters left`
}

function tooLong(wish: Wish, name: Text): string | undefined {
  const more = beyond(wish, name)
  return more > 0 ? `This is longer than ${MOST[name]} characters by ${figure(more)}.` : undefined
}
