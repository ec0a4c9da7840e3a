import { repeatUntilEmpty } from '../../lib/repeat-until-empty.ts'
import { DAY_SECONDS, MINUTE_MS } from '../../lib/time.ts'
import { encodeFields, hashToken } from '../../lib/tokens.ts'
import { INDEPENDENT, type Store } from '../../store/store.ts'
import type { OAuthRecord } from '../../store/tables/keys.ts'

/** The library's record of an access is a Grant. */
export const GRANT_LIFETIME_SECONDS = 90 * DAY_SECONDS

/** Time from the permission of the user to the first tokens. */
export const UNUSED_GRANT_LIFETIME_MS = 10 * MINUTE_MS

/** Beyond it the oldest access ends. */
const MAX_PROGRAMS = 50

/** Records per statement, so that none holds the store for long. */
const RECORDS_PER_STATEMENT = 100

/** Ids of codes and tokens are secrets. */
export function oauthIdHash(kind: string, id: string): string {
  return hashToken(encodeFields([kind, id]))
}

/** An access without tokens is not listed, and ends within minutes. */
export function hasStarted({ payload }: OAuthRecord): boolean {
  return payload.hasStarted === true
}

/**
 * Makes an access and its program last when the program gets its first tokens; ends the oldest access of the account
 * beyond the limit. Does nothing when the access has ended.
 */
export async function startAccess(
  store: Store,
  { grantHash, accountId }: { grantHash: string; accountId: string },
  now: number,
): Promise<void> {
  const expiresAt = now + GRANT_LIFETIME_SECONDS * 1000
  const ended = await store.write('durable', { account: accountId }, async ({ oauth }) => {
    const grant = await oauth.find(grantHash, now)
    if (!grant || hasStarted(grant)) return []
    const oldest = (await oauth.list(accountId, 'Grant', now)).filter(hasStarted).slice(MAX_PROGRAMS - 1)
    for (const { idHash } of oldest) await oauth.delete(idHash)
    await oauth.save({ ...grant, payload: { ...grant.payload, hasStarted: true }, expiresAt })
    const client = await oauth.find(oauthIdHash('Client', String(grant.payload.clientId)), now)
    if (client && client.expiresAt < expiresAt) await oauth.save({ ...client, expiresAt })
    return oldest
  })
  for (const { idHash } of ended) await deleteTokens(store, idHash)
}

export async function deleteTokens(store: Store, grantHash: string): Promise<void> {
  await repeatUntilEmpty(() =>
    store.write('relaxed', INDEPENDENT, ({ oauth }) => oauth.deleteOfGrant(grantHash, RECORDS_PER_STATEMENT)),
  )
}
