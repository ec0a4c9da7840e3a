import { hashToken } from '../../server/lib/tokens.ts'
import { accountRow, keyRow } from '../store/rows.ts'
import { openStore } from '../store/test-database.ts'

/** Adds an account with a key of scope `admin` or without limits to a database; returns the key. */
export async function insertAccount(
  databaseUrl: string,
  id: string,
  change: Parameters<typeof accountRow>[1] = {},
): Promise<string> {
  const key = `sl_live_${hashToken(id).slice(0, 32)}`
  await using store = await openStore(databaseUrl)
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow(id, change))
    const scope = change?.administratorSince ? 'admin' : 'manage'
    await tx.rows.insert('named_keys', keyRow(hashToken(key), { accountId: id, scope }))
  })
  return key
}
