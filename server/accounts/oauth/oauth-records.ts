import type { Adapter, AdapterPayload } from 'oidc-provider'
import { Component } from '../../lib/component.ts'
import { DAY_MS, DAY_SECONDS, HOUR_MS, MINUTE_MS } from '../../lib/time.ts'
import { encodeFields, hashToken, newSessionToken, Signer } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import { type Durability, deleteInSteps, type Store } from '../../store/store.ts'
import type { OAuthRecord } from '../../store/tables/keys.ts'
import { endLinksOfEndedKeys } from '../review-frames.ts'

/** The library's record of an access is a Grant. */
export const GRANT_LIFETIME_SECONDS = 90 * DAY_SECONDS

/** Time from the permission of the user to the first tokens. */
const UNUSED_GRANT_LIFETIME_MS = 10 * MINUTE_MS

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
 * beyond the limit. Does nothing when the access has ended; returns false when the credential that allowed it has.
 */
async function startAccess(
  store: Store,
  { grantHash, accountId }: { grantHash: string; accountId: string },
  now: number,
): Promise<boolean> {
  const expiresAt = now + GRANT_LIFETIME_SECONDS * 1000
  const ended = await store.write('durable', { account: accountId }, async ({ oauth, keys, rows }) => {
    const grant = await oauth.find(grantHash, now)
    if (!grant || hasStarted(grant)) return []
    if ((await keys.valid([String(grant.payload.allowedBy)], now)).length === 0) return undefined
    const oldest = (await oauth.list(accountId, 'Grant', now)).filter(hasStarted).slice(MAX_PROGRAMS - 1)
    for (const { idHash } of oldest) await rows.remove('oauth_records', { idHash })
    await oauth.save({ ...grant, payload: { ...grant.payload, hasStarted: true }, expiresAt })
    const client = await oauth.find(oauthIdHash('Client', String(grant.payload.clientId)), now)
    if (client && client.expiresAt < expiresAt) await oauth.save({ ...client, expiresAt })
    return oldest
  })
  for (const { idHash } of ended ?? []) await deleteTokens(store, idHash)
  return ended !== undefined
}

export async function deleteTokens(store: Store, grantHash: string): Promise<void> {
  await deleteInSteps(store, ({ oauth }) => oauth.deleteOfGrant(grantHash, RECORDS_PER_STATEMENT))
}

/** The hash of a grant, what distinguishes its tokens, and a MAC over both: 32 bytes each, in base64url. */
const TOKEN = /^([\w-]{43})([\w-]{43})([\w-]{43})$/

/** Used ones are recognized by their grant, with a secret of the service (docs/decisions/044-refresh-tokens.md). */
export class RefreshTokens extends Component<Pick<Parts, 'secret'>> {
  readonly #signer = new Signer(this.parts.secret, 'oauth refresh tokens')

  /** The first token is random. One that replaces another is the same on all nodes. */
  create(grantHash: string, replaced?: string): string {
    const grant = Buffer.from(grantHash, 'hex').toString('base64url')
    const id = replaced === undefined ? newSessionToken() : this.#signer.sign(['successor', replaced])
    return grant + id + this.#signer.sign(['token', grant, id])
  }

  /** Undefined for a text that the service has not made. */
  findGrant(token: string): string | undefined {
    const [, grant, id, mac] = TOKEN.exec(token) ?? []
    if (!grant || !this.#signer.verify(['token', grant, id!], mac!)) return undefined
    return Buffer.from(grant, 'base64url').toString('hex')
  }
}

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
  invalidGrant: (reason: string) => Error
}

/** A second `consume` rejects with `invalidGrant`, over all processes; of a refresh token, only after a minute. */
export function oauthAdapter(
  kind: string,
  { store, clock, refreshTokens, invalidGrant }: OAuthRecordsOptions,
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
      const mayStart =
        !isFirstToken || !grantHash || !accountId || (await startAccess(store, { grantHash, accountId }, now))
      if (!mayStart) throw invalidGrant('the sign-in of the user has ended')
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
      throw invalidGrant('it was used before')
    },
    async destroy(id) {
      const idHash = oauthIdHash(kind, id)
      await store.execute(durability, ({ rows }) => rows.remove('oauth_records', { idHash }))
    },
    revokeByGrantId: (grantId) => endAccess(store, oauthIdHash('Grant', grantId), clock()),
  }
}

/** The lock is that of the first tokens, which otherwise could make the access last. */
async function endAccess(store: Store, grantHash: string | null | undefined, now: number): Promise<void> {
  const grant = grantHash ? await store.read.oauth.find(grantHash, now) : undefined
  if (!grant) return
  await store.write('durable', { account: grant.accountId! }, async (tx) => {
    await tx.rows.remove('oauth_records', { idHash: grant.idHash })
    await endLinksOfEndedKeys(tx, grant.accountId!, now)
  })
  await deleteTokens(store, grant.idHash)
}

function lifetimeMs(kind: string, expiresIn: number | undefined): number {
  if (kind === 'Grant') return UNUSED_GRANT_LIFETIME_MS
  return expiresIn === undefined ? CLIENT_LIFETIME_MS : expiresIn * 1000
}

function toPayload({ payload, consumedAt }: OAuthRecord, id: string): AdapterPayload {
  return { ...payload, jti: id, ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt / 1000) }) }
}
