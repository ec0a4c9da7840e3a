import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import type { Settings } from './use-settings.ts'

interface SaveBarProps {
  settings: Settings
  canSave: boolean
  onSave: () => void
}

/** Saves or discards all unsaved changes; stays in view while there are any. */
export function SaveBar({ settings, canSave, onSave }: SaveBarProps) {
  const { errors, save, discard } = settings
  const [first] = Object.values(errors)
  return (
    <section class="save-bar" aria-label="Unsaved changes">
      <ErrorNotice error={save.error} />
      <div class="panel-head">
        <p class={first ? 'wrong' : 'title'} role="status">
          {first ?? 'Unsaved changes'}
        </p>
        <div class="choices">
          <Button onClick={discard}>Discard</Button>
          <Button variant="main" busy={save.busy} disabled={!canSave} onClick={onSave}>
            Save changes
          </Button>
        </div>
      </div>
    </section>
  )
}
