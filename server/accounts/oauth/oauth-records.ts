import type { Adapter, AdapterPayload } from 'oidc-provider'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../lib/time.ts'
import type { OAuthRecord } from '../../store/contract/oauth.ts'
import type { Durability, Store } from '../../store/store.ts'
import { deleteTokens, oauthIdHash, startAccess, UNUSED_GRANT_LIFETIME_MS } from './access.ts'

/** How long a registered program is remembered that has no authorization: registrations need no credential. */
const CLIENT_LIFETIME_MS = DAY_MS

/**
 * How long a used refresh token is remembered: a second use of it shows that it was stolen, and ends the access. An
 * active program uses its refresh token when its access token expires, after an hour. Later, it is recognized by its
 * successors.
 */
const CONSUMED_LIFETIME_MS = 2 * HOUR_MS

/** Of an hour each, for as long as the access of a program may last. */
const MAX_SUCCESSORS = 90 * 24
const SUCCESSORS_PER_QUERY = 60

/**
 * How long after its first use a refresh token gives its successor again: two windows of a program may use it at the
 * same time, and a response can be lost (docs/decisions/044-refresh-tokens.md).
 */
const REPEAT_MS = MINUTE_MS

/** Kinds that a power cut must not take back; others are requested again. */
const DURABLE_KINDS: ReadonlySet<string> = new Set(['Client', 'Grant', 'RefreshToken'])

interface OAuthRecordsOptions {
  store: Store
  clock: () => number
  /** The refresh token that replaces one. */
  successorOf: (token: string) => string
  /** The error of a second use. */
  alreadyUsed: () => Error
}

/**
 * The storage of the library of OAuth, for one kind of record. A record with `consume` is used once over all processes:
 * a second use rejects with `alreadyUsed`. For a minute after the first use, a refresh token is as unused.
 */
export function oauthAdapter(
  kind: string,
  { store, clock, successorOf, alreadyUsed }: OAuthRecordsOptions,
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
      if (!record && kind === 'RefreshToken') await endReplayed(id, { store, clock, successorOf })
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
      if (!record || !mayRepeat(record)) throw alreadyUsed()
    },
    async destroy(id) {
      await store.execute(durability, ({ oauth }) => oauth.delete(oauthIdHash(kind, id)))
    },
    revokeByGrantId: (grantId) => endAccess(store, oauthIdHash('Grant', grantId)),
  }
}

async function endAccess(store: Store, grantHash: string): Promise<void> {
  await store.execute('durable', ({ oauth }) => oauth.delete(grantHash))
  await deleteTokens(store, grantHash)
}

/** Ends the access of a refresh token that is no longer remembered, but has successors that are. */
async function endReplayed(
  token: string,
  { store, clock, successorOf }: Pick<OAuthRecordsOptions, 'store' | 'clock' | 'successorOf'>,
): Promise<void> {
  let last = token
  for (let number = 0; number < MAX_SUCCESSORS; number += SUCCESSORS_PER_QUERY) {
    const hashes: string[] = []
    while (hashes.length < SUCCESSORS_PER_QUERY) {
      last = successorOf(last)
      hashes.push(oauthIdHash('RefreshToken', last))
    }
    const [found] = await store.read.oauth.findAll(hashes, clock())
    if (found?.grantHash) return endAccess(store, found.grantHash)
  }
}

function lifetimeMs(kind: string, expiresIn: number | undefined): number {
  if (kind === 'Grant') return UNUSED_GRANT_LIFETIME_MS
  return expiresIn === undefined ? CLIENT_LIFETIME_MS : expiresIn * 1000
}

function toPayload({ payload, consumedAt }: OAuthRecord, id: string): AdapterPayload {
  return { ...payload, jti: id, ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt / 1000) }) }
}
