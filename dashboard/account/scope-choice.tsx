import { KEY_SCOPES, type KeyScope } from '../../protocol/api/keys.ts'
import { Choice } from '../kit/field.tsx'

const NAMES: Record<KeyScope, string> = {
  read: 'Read: see sites and visits',
  preview: 'Preview: also update previews of sites',
  publish: 'Publish: also update sites',
  manage: 'Manage: everything',
}

const CHOICES = KEY_SCOPES.map((value) => ({ value, name: NAMES[value] }))

interface ScopeChoiceProps {
  value: KeyScope
  onChoose: (scope: KeyScope) => void
}

/** What a key permits. */
export function ScopeChoice({ value, onChoose }: ScopeChoiceProps) {
  return (
    <Choice
      label="Permission"
      value={value}
      onChoose={(scope) => onChoose(scope as KeyScope)}
      choices={CHOICES}
    />
  )
}
