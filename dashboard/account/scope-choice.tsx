import { ACCOUNT_SCOPES, type AccountScope } from '../../protocol/api/keys.ts'
import { Choice } from '../kit/field.tsx'

const NAMES: Record<AccountScope, string> = {
  read: 'Read: see sites and visits',
  preview: 'Preview: also update previews of sites',
  publish: 'Publish: also update sites',
  manage: 'Manage: everything',
}

const CHOICES = ACCOUNT_SCOPES.map((value) => ({ value, name: NAMES[value] }))

interface ScopeChoiceProps {
  value: AccountScope
  onChoose: (scope: AccountScope) => void
}

/** What a key permits. */
export function ScopeChoice({ value, onChoose }: ScopeChoiceProps) {
  return (
    <Choice
      label="Permission"
      value={value}
      onChoose={(scope) => onChoose(scope as AccountScope)}
      choices={CHOICES}
    />
  )
}
