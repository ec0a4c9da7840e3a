import { hash } from 'node:crypto'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { DAY_MS } from '../../lib/time.ts'
import { encodeFields } from '../../lib/tokens.ts'
import type { OAuthRecord } from '../../store/contract/oauth.ts'
import type { Durability, Store } from '../../store/store.ts'

/** How long a registered program is remembered that has no authorization. */
const CLIENT_LIFETIME_MS = 90 * DAY_MS

/** Kinds that a power cut must not take back; others are requested again. */
const DURABLE_KINDS: ReadonlySet<string> = new Set(['Client', 'Grant', 'RefreshToken'])

interface OAuthRecordsOptions {
  store: Store
  clock: () => number
}

/** The stored id of a record: ids of codes and tokens are secrets. */
export function oauthIdHash(kind: string, id: string): string {
  return hash('sha256', encodeFields([kind, id]))
}

/**
 * The storage of the library of OAuth, for one kind of record. A record with `consume` is used once over all processes:
 * a second use rejects with what `alreadyUsed` makes.
 */
export function oauthAdapter(
  kind: string,
  { store, clock }: OAuthRecordsOptions,
  alreadyUsed: () => Error,
): Adapter {
  const durability: Durability = DURABLE_KINDS.has(kind) ? 'durable' : 'relaxed'
  // A browser stays signed in to the dashboard only, so that each authorization is confirmed there.
  const isStored = kind !== 'Session'
  return {
    async upsert(id, payload, expiresIn) {
      if (!isStored) return
      const now = clock()
      const { jti: _, ...rest } = payload
      const grantId = kind === 'Grant' ? id : payload.grantId
      const record: OAuthRecord = {
        idHash: oauthIdHash(kind, id),
        kind,
        grantHash: grantId === undefined ? null : oauthIdHash('Grant', grantId),
        accountId: payload.accountId ?? null,
        payload: rest,
        createdAt: now,
        expiresAt: now + (expiresIn === undefined ? CLIENT_LIFETIME_MS : expiresIn * 1000),
        consumedAt: null,
      }
      await store.execute(durability, ({ oauth }) => oauth.save(record))
    },
    async find(id) {
      if (!isStored) return undefined
      const record = await store.read.oauth.find(oauthIdHash(kind, id), clock())
      return record && toPayload(record, id)
    },
    findByUserCode: async () => undefined,
    findByUid: async () => undefined,
    async consume(id) {
      const isFirst = await store.execute('durable', ({ oauth }) =>
        oauth.consume(oauthIdHash(kind, id), clock()),
      )
      if (!isFirst) throw alreadyUsed()
    },
    async destroy(id) {
      await store.execute(durability, ({ oauth }) => oauth.delete(oauthIdHash(kind, id)))
    },
    async revokeByGrantId(grantId) {
      await store.execute('durable', ({ oauth }) => oauth.deleteGrant(oauthIdHash('Grant', grantId)))
    },
  }
}

function toPayload({ payload, consumedAt }: OAuthRecord, id: string): AdapterPayload {
  return { ...payload, jti: id, ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt / 1000) }) }
}
