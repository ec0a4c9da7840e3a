import type { Adapter, AdapterPayload } from 'oidc-provider'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time.ts'
import type { Durability, Store } from '../../store/store.ts'
import type { OAuthRecord } from '../../store/tables/keys.ts'
import { deleteTokens, oauthIdHash, startAccess, UNUSED_GRANT_LIFETIME_MS } from './access.ts'
import type { RefreshTokens } from './refresh-tokens.ts'

/** Lifetime of a program without an authorization: registrations need no credential. */
const CLIENT_LIFETIME_MS = DAY_MS

/**
 * A second use of a refresh token within this time shows that it was stolen, and ends the access. An active program
 * uses its token after an hour, when its access token expires. Later, the token names its grant.
 */
const CONSUMED_LIFETIME_MS = 2 * HOUR_MS

/** A refresh token gives its successor again for this time after its use (docs/decisions/044-refresh-tokens.md). */
const REPEAT_MS = MINUTE_MS

/** Kinds that a power cut must not take back; others are requested again. */
const DURABLE_KINDS: ReadonlySet<string> = new Set(['Client', 'Grant', 'RefreshToken'])

interface OAuthRecordsOptions {
  store: Store
  clock: () => number
  refreshTokens: RefreshTokens
  alreadyUsed: () => Error
}

/**
 * Over all processes, a record with `consume` is used once: a second use rejects with `alreadyUsed`. For a minute after
 * the first use, a refresh token counts as unused.
 */
export function oauthAdapter(
  kind: string,
  { store, clock, refreshTokens, alreadyUsed }: OAuthRecordsOptions,
): Adapter {
  const durability: Durability = DURABLE_KINDS.has(kind) ? 'durable' : 'relaxed'
  // A browser stays signed in to the dashboard only, so that each authorization is confirmed there.
  const isStored = kind !== 'Session'
  const mayRepeat = ({ consumedAt }: OAuthRecord) =>
    kind === 'RefreshToken' && consumedAt !== null && clock() < consumedAt + REPEAT_MS
  const find = (id: string) => store.read.oauth.find(oauthIdHash(kind, id), clock())
  return {
    async upsert(id, payload, expiresIn) {
      if (!isStored) return
      const now = clock()
      const { jti: _, ...rest } = payload
      const { accountId } = payload
      const grantId = kind === 'Grant' ? id : payload.grantId
      const grantHash = grantId === undefined ? null : oauthIdHash('Grant', grantId)
      const isFirstToken = kind === 'RefreshToken' && !payload.rotations
      if (isFirstToken && grantHash && accountId) await startAccess(store, { grantHash, accountId }, now)
      const record: OAuthRecord = {
        idHash: oauthIdHash(kind, id),
        kind,
        grantHash,
        accountId: accountId ?? null,
        payload: rest,
        createdAt: now,
        expiresAt: now + lifetimeMs(kind, expiresIn),
        consumedAt: null,
      }
      await store.execute(durability, ({ oauth }) => oauth.save(record))
    },
    async find(id) {
      if (!isStored) return undefined
      const record = await find(id)
      if (!record && kind === 'RefreshToken') await endAccess(store, refreshTokens.findGrant(id), clock())
      return record && toPayload(mayRepeat(record) ? { ...record, consumedAt: null } : record, id)
    },
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    async consume(id) {
      const now = clock()
      const isFirst = await store.execute('durable', ({ oauth }) =>
        oauth.consume(oauthIdHash(kind, id), now, now + CONSUMED_LIFETIME_MS),
      )
      if (isFirst) return
      const record = await find(id)
      if (record && mayRepeat(record)) return
      await endAccess(store, record?.grantHash, now)
      throw alreadyUsed()
    },
    async destroy(id) {
      await store.execute(durability, ({ oauth }) => oauth.delete(oauthIdHash(kind, id)))
    },
    revokeByGrantId: (grantId) => endAccess(store, oauthIdHash('Grant', grantId), clock()),
  }
}

/** The lock is that of the first tokens, which otherwise could make the access last. */
async function endAccess(store: Store, grantHash: string | null | undefined, now: number): Promise<void> {
  const grant = grantHash ? await store.read.oauth.find(grantHash, now) : undefined
  if (!grant) return
  await store.write('durable', { account: grant.accountId! }, ({ oauth }) => oauth.delete(grant.idHash))
  await deleteTokens(store, grant.idHash)
}

function lifetimeMs(kind: string, expiresIn: number | undefined): number {
  if (kind === 'Grant') return UNUSED_GRANT_LIFETIME_MS
  return expiresIn === undefined ? CLIENT_LIFETIME_MS : expiresIn * 1000
}

function toPayload({ payload, consumedAt }: OAuthRecord, id: string): AdapterPayload {
  return { ...payload, jti: id, ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt / 1000) }) }
}
