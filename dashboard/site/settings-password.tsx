import { useState } from 'preact/hooks'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'
import type { SettingsProps } from './settings-props.ts'

/** Maximum length in characters. */
const MAX_PASSWORD_LENGTH = 200

/** Sets and removes the site's password. */
export function Password({ site, onChanged }: SettingsProps) {
  const { slug, hasPassword } = site
  const [password, write] = useState('')
  const [isShown, show] = useState(false)
  const [opening, open] = useState(false)
  const set = useAction(async () => {
    onChanged(await slipway.setMetadata(slug, { password }))
    write((now) => (now === password ? '' : now))
    show(false)
    showToast('Visitors are asked for the password from now on.')
  })
  const remove = useAction(async () => {
    onChanged(await slipway.setMetadata(slug, { password: null }))
    open(false)
    showToast('Everybody can see the site now.')
  })
  const tooLong =
    [...password].length > MAX_PASSWORD_LENGTH ? `At most ${MAX_PASSWORD_LENGTH} characters.` : undefined
  const ready = password !== '' && !tooLong
  const submit = (event: Event) => {
    event.preventDefault()
    if (ready) void set()
  }
  return (
    <Panel
      title="Password"
      lead={hasPassword ? WITH : WITHOUT}
      actions={hasPassword ? <Badge tone="good">Asked for</Badge> : undefined}
    >
      <form class="stack" onSubmit={submit}>
        <TextField
          label={hasPassword ? 'New password' : 'Password for visitors'}
          hint="Tell it to whoever should see the site: it cannot be shown again."
          type={isShown ? 'text' : 'password'}
          autocomplete="new-password"
          autocapitalize="none"
          value={password}
          onWrite={write}
          error={tooLong ?? set.error?.fields.password}
        />
        <ErrorNotice error={set.error} />
        <div class="choices">
          <Button busy={set.busy || !ready}>{hasPassword ? 'Change password' : 'Set password'}</Button>
          {password !== '' && (
            <Button variant="link" onClick={() => show(!isShown)}>
              {isShown ? 'Hide what is written' : 'Show what is written'}
            </Button>
          )}
          {hasPassword && (
            <Button variant="danger" onClick={() => open(true)}>
              Remove password
            </Button>
          )}
        </div>
      </form>
      {opening && (
        <Confirm
          title="Open the site to everybody?"
          verb="Remove password"
          action={remove}
          onClose={() => open(false)}
        >
          <p>Whoever has the address sees the site then, and search engines may find it.</p>
        </Confirm>
      )}
    </Panel>
  )
}

const WITHOUT =
  'Everybody who has the address sees the site. With a password, visitors are asked for it first.'
const WITH =
  'Visitors are asked for it on every page; a browser that gave it once is not asked again for 30 days. A new one asks everybody again.'
