import { useState } from 'preact/hooks'
import type { CreatedKey } from '../../protocol/api/keys.schema.ts'
import { ACCOUNT_SCOPES, KEY_SCOPES, type KeyScope, MAX_KEY_NAME_LENGTH } from '../../protocol/api/keys.ts'
import { useAction } from '../api/action.ts'
import { atFields } from '../api/display-error.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Confirm } from '../kit/dialog.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { ScopeChoice } from './scope-choice.tsx'

const DAY_SECONDS = 86_400

const LIFETIMES = [
  { value: '', name: 'Never' },
  ...[30, 90, 365].map((days) => ({ value: String(days * DAY_SECONDS), name: `After ${days} days` })),
]

interface CreateKeyProps {
  onCreated: (created: CreatedKey) => void
  onClose: () => void
}

/** The form for a named key. */
export function CreateKey({ onCreated, onClose }: CreateKeyProps) {
  const me = useResource('me', () => slipway.me())
  const [name, setName] = useState('')
  const [scope, setScope] = useState<KeyScope>('publish')
  const [sites, setSites] = useState('')
  const [lifetime, setLifetime] = useState('')
  const create = useAction(async () => {
    const slugs = sites
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean)
    const expiresInSeconds = lifetime === '' ? null : Number(lifetime)
    onCreated(
      await slipway.createKey({ name, scope, sites: slugs.length > 0 ? slugs : null, expiresInSeconds }),
    )
  })
  const wrong = atFields(create.error, ['name', 'sites'], 'sites')
  return (
    <Confirm
      title="Create named key"
      verb="Create key"
      variant="main"
      action={create}
      ready={name.trim() !== ''}
      isAtFields={wrong !== undefined}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="The machine or the purpose, such as “CI of bakery”."
        value={name}
        error={wrong?.name}
        onWrite={setName}
        maxLength={MAX_KEY_NAME_LENGTH}
        autocomplete="off"
      />
      <ScopeChoice<KeyScope>
        scopes={me.value?.administrator ? KEY_SCOPES : ACCOUNT_SCOPES}
        value={scope}
        onChoose={setScope}
      />
      <TextField
        label="Only these sites"
        hint="Names, separated by commas. Empty for all sites and your account."
        value={sites}
        error={wrong?.sites}
        onWrite={setSites}
        autocomplete="off"
        autocapitalize="none"
      />
      <Choice label="Expires" value={lifetime} onChoose={setLifetime} choices={LIFETIMES} />
    </Confirm>
  )
}
