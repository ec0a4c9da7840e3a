import type { KeyScope } from '../../protocol/api/keys.ts'
import { Choice } from '../kit/field.tsx'

const NAMES: Record<KeyScope, string> = {
  read: 'Read: see sites and visits',
  preview: 'Preview: also update previews of sites',
  publish: 'Publish: also update sites',
  manage: 'Manage: everything in your account',
  admin: 'Admin: also administer this service',
}

interface ScopeChoiceProps<Scope extends KeyScope> {
  scopes: readonly Scope[]
  value: Scope
  onChoose: (scope: Scope) => void
}

/** What a key permits. */
export function ScopeChoice<Scope extends KeyScope>({ scopes, value, onChoose }: ScopeChoiceProps<Scope>) {
  return (
    <Choice
      label="Permission"
      value={value}
      onChoose={(scope) => onChoose(scope as Scope)}
      choices={scopes.map((scope) => ({ value: scope, name: NAMES[scope] }))}
    />
  )
}
