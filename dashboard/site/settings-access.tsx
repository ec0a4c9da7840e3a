import { useState } from 'preact/hooks'
import type { ApprovalRule } from '../../protocol/api/sites.schema.ts'
import { Button } from '../kit/button.tsx'
import { Choice, Switch, TextField } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import type { SettingsProps } from './use-settings.ts'

const APPROVAL_RULES: { value: ApprovalRule; name: string }[] = [
  { value: 'off', name: 'Off' },
  { value: 'anyone', name: 'From any reviewer' },
  { value: 'collaborators', name: 'From a collaborator' },
]

/** Who can view the site, and whose approval a change of it needs. */
export function Access({ site: { hasPassword }, settings }: SettingsProps) {
  const { values, errors, change } = settings
  const { password } = values
  return (
    <Panel title="Access">
      <Switch
        label="Password protection"
        hint={
          password === null
            ? 'Anyone with the link can view this site. Add a password to restrict access.'
            : 'Visitors enter the password once every 30 days. A new password applies to all visitors.'
        }
        on={password !== null}
        onSwitch={(on) => change({ password: on ? '' : null })}
      />
      {password !== null && (
        <PasswordField
          label={hasPassword ? 'New password' : 'Password'}
          hint={
            hasPassword ? 'Leave blank to keep the current password.' : "Save it now: we can't show it again."
          }
          value={password}
          error={password === '' ? undefined : errors.password}
          onWrite={(text) => change({ password: text })}
        />
      )}
      <Choice
        label="Require approval"
        hint="A preview is promoted only when exactly its content was approved, and no changes were requested since."
        value={values.requireApproval}
        choices={APPROVAL_RULES}
        onChoose={(value) => change({ requireApproval: value as ApprovalRule })}
      />
    </Panel>
  )
}

interface PasswordFieldProps {
  label: string
  hint: string
  value: string
  error: string | undefined
  onWrite: (text: string) => void
}

function PasswordField(props: PasswordFieldProps) {
  const [isShown, show] = useState(false)
  return (
    <div class="choices password">
      <TextField type={isShown ? 'text' : 'password'} autocomplete="new-password" {...props} />
      {props.value !== '' && (
        <Button variant="link" onClick={() => show(!isShown)}>
          {isShown ? 'Hide password' : 'Show password'}
        </Button>
      )}
    </div>
  )
}
