import { ApiError, validationError } from '../lib/errors.ts'
import type { NamedKey } from '../store/contract/accounts.ts'
import type { WriteTransaction } from '../store/store.ts'

/** Maximum number of named keys of one account (contract, "Keys"). */
export const MAX_NAMED_KEYS = 50

/** A name without surrounding spaces. VALIDATION_ERROR when it is empty or contains control characters. */
export function readKeyName(typed: string): string {
  const name = typed.trim()
  if (name !== '' && !/[\p{Cc}\p{Cs}]/u.test(name)) return name
  throw validationError([
    { field: 'keyName', message: 'must be 1 to 64 characters, without control characters' },
  ])
}

/**
 * Adds a key to an account; the earlier key of the same name ends. KEY_LIMIT_REACHED beyond the limit. The key of spec
 * 2.5 stays as it is.
 */
export async function addNamedKey(tx: WriteTransaction, key: NamedKey): Promise<void> {
  await tx.accounts.deleteNamedKey(key.accountId, key.name)
  if ((await tx.accounts.countNamedKeys(key.accountId)) >= MAX_NAMED_KEYS) {
    const sentence = `This account has ${MAX_NAMED_KEYS} named keys, which is the limit`
    throw new ApiError('KEY_LIMIT_REACHED', sentence)
  }
  await tx.accounts.addNamedKey(key)
}
