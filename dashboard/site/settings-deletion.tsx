import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../client/wire.ts'
import { count } from '../../client/words.ts'
import { useAction } from '../api/action.ts'
import { forget } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useWayOn } from '../app/use-way-on.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { say } from '../kit/toast.tsx'

/** The end of a site. */
export function Deletion({ site }: { site: SiteDetails }) {
  const { slug, files } = site
  const [asking, ask] = useState(false)
  const [typed, type] = useState('')
  const wayOn = useWayOn()
  const remove = useAction(async () => {
    await slipway.delete(slug)
    forget('sites', `site/${slug}`, 'domains')
    wayOn('/sites', true)
    say(`${slug} is deleted.`)
  })
  const close = () => {
    ask(false)
    type('')
    remove.clear()
  }
  return (
    <Panel title="Delete the site" lead="It is gone for visitors at once, and there is no way back.">
      <div class="choices">
        <Button look="danger" onClick={() => ask(true)}>
          Delete the site
        </Button>
      </div>
      {asking && (
        <Confirm
          title={`Delete ${slug}?`}
          verb="Delete for good"
          action={remove}
          ready={typed.trim() === slug}
          onClose={close}
        >
          <p>
            Its {count(files.length, 'file')}, all its versions, its counted visits and its domains go with
            it. Its address is never given out again.
          </p>
          <TextField
            label={`Type ${slug} to delete it`}
            autocapitalize="none"
            autocomplete="off"
            value={typed}
            onWrite={type}
          />
        </Confirm>
      )}
    </Panel>
  )
}
