import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { useNow } from '../kit/time.tsx'
import { UNCHANGED_EXPIRY } from './expiry-choice.ts'
import { describeDeletion } from './settings-expiry.tsx'
import type { Settings } from './use-settings.ts'

interface SaveBarProps {
  settings: Settings
  canSave: boolean
  onSave: () => void
}

/** Saves or discards all unsaved changes; stays in view while there are any. */
export function SaveBar({ settings, canSave, onSave }: SaveBarProps) {
  const { draft, errors, save, discard } = settings
  const now = useNow(10_000)
  const [first] = Object.values(errors)
  const isEmpty = isOfEmptyField(settings)
  const deletion = describeDeletion(draft.expiry ?? UNCHANGED_EXPIRY, now)
  return (
    <section class="save-bar" aria-label="Unsaved changes">
      <ErrorNotice error={save.error} />
      <div class="panel-head">
        <div>
          {/* What is still to be entered is no error. */}
          <p class={first && !isEmpty ? 'wrong' : 'title'} role="status">
            {/* The field announces its own error; one that was not filled in shows none. */}
            <span aria-hidden={first !== undefined && !isEmpty}>{first ?? 'Unsaved changes'}</span>
          </p>
          {!first && deletion && <p class="warn small">{deletion}</p>}
        </div>
        <div class="choices">
          <Button disabled={save.busy} onClick={discard}>
            Discard
          </Button>
          <Button variant="main" busy={save.busy} disabled={!canSave} onClick={onSave}>
            Save changes
          </Button>
        </div>
      </div>
    </section>
  )
}

/** Whether the first error is that of an empty field. */
function isOfEmptyField({ draft, errors }: Settings): boolean {
  const [field] = Object.keys(errors)
  if (field === 'password') return draft.password === ''
  return field === 'expiry' && draft.expiry?.date === ''
}
