import { useState } from 'preact/hooks'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'

/** Deletes the site. */
export function Deletion({ site }: { site: SiteDetails }) {
  const { slug, files } = site
  const [isConfirming, setConfirming] = useState(false)
  const [typed, type] = useState('')
  const navigate = useGuardedNavigate()
  const remove = useAction(async () => {
    await slipway.delete(slug)
    invalidate('sites', `site/${slug}`, 'domains')
    navigate('/sites', true)
    showToast(`${slug} is deleted.`)
  })
  const close = () => {
    setConfirming(false)
    type('')
    remove.clear()
  }
  return (
    <Panel title="Delete the site" lead="It is gone for visitors at once, and there is no way back.">
      <div class="choices">
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Delete the site
        </Button>
      </div>
      {isConfirming && (
        <Confirm
          title={`Delete ${slug}?`}
          verb="Delete for good"
          action={remove}
          ready={typed.trim() === slug}
          onClose={close}
        >
          <p>
            Its {pluralize(files.length, 'file')}, all its versions, its counted visits and its domains go
            with it. Its address is never given out again.
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
