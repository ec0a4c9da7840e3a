import { KEY_SCOPES, type KeyScope } from '../../protocol/api/keys.ts'

const NAMES: Record<KeyScope, string> = {
  read: 'Read: see sites and visits',
  preview: 'Preview: also update previews of sites',
  publish: 'Publish: also update sites',
  manage: 'Manage: everything',
}

/** The choices of what a key permits. */
export const SCOPE_CHOICES = KEY_SCOPES.map((value) => ({ value, name: NAMES[value] }))
