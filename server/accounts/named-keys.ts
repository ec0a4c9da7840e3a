import type {
  CreatedKey,
  CreateKeyRequest,
  KeyList,
  KeyRevokedResponse,
  KeySummary,
} from '../../protocol/api/keys.schema.ts'
import { MAX_KEY_NAME_LENGTH } from '../../protocol/api/keys.ts'
import { pluralize } from '../../protocol/format.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { isVisible } from '../lib/plain-line.ts'
import { MINUTE_MS, toIso, toIsoOrNull } from '../lib/time.ts'
import { hashToken, newApiKey } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { WriteScope, WriteTransaction } from '../store/store.ts'
import type { Account } from '../store/tables/accounts.ts'
import type { NamedKey } from '../store/tables/keys.ts'
import { assertMayCreateAdminKey } from './administrators.ts'
import {
  assertNotBeingDeleted,
  type Caller,
  FULL_GRANT,
  type Grant,
  requireAccess,
  requireAccount,
} from './authorization.ts'
import { endLinksOfEndedKeys } from './review-frames.ts'

export const MAX_NAMED_KEYS = 50

const MAX_ISSUED_KEYS = 500

/** Bounds how often requests write. */
const USE_RESOLUTION_MS = 5 * MINUTE_MS

/** Writes of last uses at a time; further ones are dropped, and recorded by a later request. */
const MAX_CONCURRENT_USES = 16

/** The id of a key: useless for signing in. */
const KEY_ID_LENGTH = 16

export const NAMED_KEY_WARNING = 'Save this key now: it is shown only once.'

export interface KeyCaller {
  account: Account
  keyHash: string
  grant: Grant
}

export interface NewKey {
  accountId: string
  name: string
  grant: Grant
  /** Such a key, for example of a program, is not in the account's list of keys. */
  issuedBy?: string
}

/** Contract, "Keys". Stores only hashes. */
export class NamedKeys extends Component<Pick<Parts, 'store' | 'clock'>> {
  #uses = 0

  /** Undefined when the key is invalid. UNAUTHORIZED when it has expired. */
  async find(apiKey: string, queries = this.parts.store.read): Promise<KeyCaller | undefined> {
    const found = await queries.keys.find(hashToken(apiKey))
    if (!found) return undefined
    const { account, key } = found
    if (key === null) return { account, keyHash: account.keyHash!, grant: FULL_GRANT }
    const now = this.parts.clock()
    if (key.expiresAt !== null && key.expiresAt <= now) throw expired(key.expiresAt)
    if (key.lastUsedAt === null || key.lastUsedAt <= now - USE_RESOLUTION_MS)
      this.#recordUse(key.keyHash, now)
    const { keyHash, scope, sites, expiresAt } = key
    return { account, keyHash, grant: { scope, sites, expiresAt } }
  }

  /** Keys that the account created by name, newest first. */
  async list({ id }: Account, keyHash: string | undefined): Promise<KeyList> {
    const { read } = this.parts.store
    const keys = await read.keys.list(id)
    const slugs = await read.sites.currentSlugs(keys.flatMap(({ sites }) => sites ?? []))
    return { keys: keys.map((key) => summarize(key, slugs, keyHash)) }
  }

  /** VALIDATION_ERROR, NOT_FOUND without access to a site, NAME_TAKEN, KEY_LIMIT_REACHED; `assertMayCreateAdminKey`. */
  async create(caller: Caller, request: CreateKeyRequest): Promise<CreatedKey> {
    const account = requireAccount(caller)
    const name = readKeyName(request.name, 'name')
    const { scope, sites: slugs, expiresInSeconds } = request
    const now = this.parts.clock()
    const expiresAt = expiresInSeconds ? now + expiresInSeconds * 1000 : null
    return this.parts.store.write('durable', keyScope(account), async (tx) => {
      await assertNotBeingDeleted(tx, account)
      if (scope === 'admin') {
        assertMayCreateAdminKey({ ...caller, account: await tx.accounts.find(account.id) }, now)
        if (slugs) throw invalidField('sites', 'must be null with the scope admin')
      }
      const keys = await tx.keys.list(account.id)
      if (keys.some((key) => key.name === name)) throw nameTaken(name)
      const sites = slugs ? await findSites(tx, { account, slugs, now }) : null
      const grant = { scope, sites, expiresAt }
      const { apiKey, key } = await mintKey(tx, { accountId: account.id, name, grant }, now)
      return {
        ...summarize(key, await tx.sites.currentSlugs(key.sites ?? []), undefined),
        apiKey,
        warning: NAMED_KEY_WARNING,
      }
    })
  }

  /** NOT_FOUND without a key of this id. */
  async revoke(account: Account, id: string): Promise<KeyRevokedResponse> {
    await this.parts.store.write('durable', keyScope(account), async (tx) => {
      const found = (await tx.keys.list(account.id)).find((key) => keyId(key) === id)
      if (!found) throw new ApiError('NOT_FOUND', 'Key not found. It may have been revoked or replaced.')
      await tx.keys.delete(found.keyHash)
      await endLinksOfEndedKeys(tx, account.id, this.parts.clock())
    })
    return { id, revoked: true }
  }

  /** Undefined for a credential that is no named key. */
  async describe({ account, keyHash }: Caller): Promise<KeySummary | undefined> {
    if (!account || keyHash === undefined) return undefined
    const { read } = this.parts.store
    const key = (await read.keys.find(keyHash))?.key
    return key ? summarize(key, await read.sites.currentSlugs(key.sites ?? []), keyHash) : undefined
  }

  /** Never delays or fails the request that uses the key. */
  #recordUse(keyHash: string, now: number): void {
    if (this.#uses >= MAX_CONCURRENT_USES) return
    this.#uses++
    this.parts.store
      .execute('unread', ({ keys }) => keys.recordUse(keyHash, now, now - USE_RESOLUTION_MS))
      .catch(() => undefined)
      .finally(() => this.#uses--)
  }
}

export const NAME_RULE = `must be 1 to ${MAX_KEY_NAME_LENGTH} characters, without control characters`

/** Trims the name. VALIDATION_ERROR when it is too long, invisible, or has control or direction characters. */
export function readKeyName(typed: string, field = 'keyName'): string {
  const name = typed.trim()
  const isPlain = !/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(name)
  if (isVisible(name) && isPlain && [...name].length <= MAX_KEY_NAME_LENGTH) return name
  throw invalidField(field, NAME_RULE)
}

/** Signing in by email creates and ends keys under the address. */
export function keyScope({ id, email }: Account): WriteScope {
  return { account: id, address: email }
}

/** Within a write of `keyScope`. Replaces a key of the same name, but not that of spec 2.5. KEY_LIMIT_REACHED. */
export async function mintKey(
  tx: WriteTransaction,
  { accountId, name, grant, issuedBy }: NewKey,
  now: number,
): Promise<{ apiKey: string; key: NamedKey }> {
  const apiKey = newApiKey()
  const keyHash = hashToken(apiKey)
  const key: NamedKey = {
    ...{ ...grant, keyHash, accountId, createdAt: now, lastUsedAt: null },
    name: issuedBy === undefined ? name : `${name} ${keyHash.slice(0, KEY_ID_LENGTH)}`,
    issuedBy: issuedBy ?? null,
  }
  if (issuedBy === undefined) await makeRoom(tx, key, now)
  else if ((await tx.keys.countIssued(accountId)) >= MAX_ISSUED_KEYS)
    throw limitReached(MAX_ISSUED_KEYS, 'issued key')
  await tx.rows.insert('named_keys', key)
  return { apiKey, key }
}

/** Ends the earlier key of the same name; beyond the limit, expired keys. */
async function makeRoom(tx: WriteTransaction, key: NamedKey, now: number): Promise<void> {
  const ended = await findReplaced(tx, key, now)
  for (const { keyHash } of ended) await tx.keys.delete(keyHash)
  if (ended.length > 0) await endLinksOfEndedKeys(tx, key.accountId, now)
}

/** What a new key of this name ends. KEY_LIMIT_REACHED when that leaves no room for it. */
export async function findReplaced(
  queries: Queries,
  { accountId, name }: Pick<NamedKey, 'accountId' | 'name'>,
  now: number,
): Promise<NamedKey[]> {
  const keys = await queries.keys.list(accountId)
  const isFull = keys.filter((key) => key.name !== name).length >= MAX_NAMED_KEYS
  const ended = keys.filter((key) => key.name === name || (isFull && (key.expiresAt ?? Infinity) <= now))
  if (keys.length - ended.length >= MAX_NAMED_KEYS) throw limitReached(MAX_NAMED_KEYS, 'named key')
  return ended
}

function keyId({ keyHash }: NamedKey): string {
  return keyHash.slice(0, KEY_ID_LENGTH)
}

function summarize(
  key: NamedKey,
  slugs: ReadonlyMap<string, string>,
  current: string | undefined,
): KeySummary {
  const { name, scope, sites, createdAt, expiresAt, lastUsedAt, keyHash } = key
  return {
    id: keyId(key),
    name,
    scope,
    sites: sites?.map((site) => slugs.get(site) ?? site) ?? null,
    current: keyHash === current,
    createdAt: toIso(createdAt),
    expiresAt: toIsoOrNull(expiresAt),
    lastUsedAt: toIsoOrNull(lastUsedAt),
  }
}

async function findSites(
  tx: WriteTransaction,
  { account, slugs, now }: { account: Account; slugs: readonly string[]; now: number },
): Promise<string[]> {
  const found = new Set<string>()
  for (const [index, typed] of slugs.entries()) {
    const slug = await tx.sites.currentName(typed)
    const site = await requireAccess(tx, 'read', { slug, account, now }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
      throw new ApiError('NOT_FOUND', `${error.message}: '${typed}' in sites[${index}]`)
    })
    found.add(site.visitsKey)
  }
  return [...found]
}

function nameTaken(name: string): ApiError {
  return new ApiError('NAME_TAKEN', `The account has a key with the name '${name}'`, {
    hint: 'Choose another name, or revoke that key first: DELETE /api/v1/me/keys/{id}.',
  })
}

function limitReached(max: number, kind: string): ApiError {
  return new ApiError('KEY_LIMIT_REACHED', `This account has ${pluralize(max, kind)}, which is the limit`)
}

function expired(at: number): ApiError {
  return new ApiError('UNAUTHORIZED', `The API key expired at ${toIso(at)}`, {
    hint: 'Create a key: in the dashboard under Account, with slipway keys create, or with POST /api/v1/me/keys.',
  })
}
