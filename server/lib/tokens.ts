import { createHmac, hash, hkdfSync, randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'

/** 32 unambiguous characters without 0 O 1 I, so a code of eight has 40 bits (contract, "Sign-in"). */
const CODE_CHARACTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Crockford's alphabet in lower case; sorts like the numbers it encodes. */
const ID_CHARACTERS = '0123456789abcdefghjkmnpqrstvwxyz'

/** An API key: `sl_live_` and 32 hex characters (spec 2.5). */
export function newApiKey(): string {
  return `sl_live_${randomBytes(16).toString('hex')}`
}

export function isApiKey(text: string): boolean {
  return /^sl_live_[0-9a-f]{32}$/.test(text)
}

/** A claim token in UUID format (spec 2.4). */
export function newClaimToken(): string {
  return randomUUID()
}

/** A session's cookie value: 256 random bits. */
export function newSessionToken(): string {
  return randomBytes(32).toString('base64url')
}

/** The token of an attempt to sign in, from the request for a code to its use: 128 random bits. */
export function newAttempt(): string {
  return randomBytes(16).toString('base64url')
}

/** A verification code of form `XXXX-XXXX` (spec 2.6). */
export function newCode(): string {
  const characters = Array.from({ length: 8 }, () => CODE_CHARACTERS[randomInt(32)])
  return `${characters.slice(0, 4).join('')}-${characters.slice(4).join('')}`
}

/** Normalizes a typed code, also in the full-width characters of an input method; undefined when it is invalid. */
export function parseCode(typed: string): string | undefined {
  const bare = typed.normalize('NFKC').toUpperCase().replace(/[\s-]/g, '')
  if (bare.length !== 8 || [...bare].some((character) => !CODE_CHARACTERS.includes(character)))
    return undefined
  return `${bare.slice(0, 4)}-${bare.slice(4)}`
}

/** The time in milliseconds and 80 random bits, valid in a host name: ids sort by time and cannot be guessed. */
export function newId(now: number): string {
  return minIdAt(now) + encodeBits(randomBytes(16), 16)
}

/** `length` characters of ids, from 5 bits of each byte. */
export function encodeBits(bytes: Buffer, length: number): string {
  return Array.from(bytes.subarray(0, length), (byte) => ID_CHARACTERS[byte & 31]).join('')
}

/** A whole number of less than `length` * 5 bits as characters of ids; sorts like the numbers. */
export function encodeTime(time: number, length: number): string {
  let text = ''
  for (let rest = time; text.length < length; rest = Math.floor(rest / 32))
    text = ID_CHARACTERS[rest % 32]! + text
  return text
}

export function decodeTime(text: string): number {
  return [...text].reduce((number, character) => number * 32 + ID_CHARACTERS.indexOf(character), 0)
}

/** Sorts before every id of this time and after all earlier ones. */
export function minIdAt(time: number): string {
  return encodeTime(time, 10)
}

const ID = /^[0-9a-hjkmnp-tv-z]{26}$/

export function isId(text: string): boolean {
  return ID.test(text)
}

/** The stored form of a high-entropy secret: its SHA-256 in hex. */
export function hashToken(secret: string): string {
  return hash('sha256', secret)
}

export function constantTimeEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The encoding of all that is signed or hashed with a secret; injective (docs/decisions/014-signed-fields.md). */
export function encodeFields(fields: readonly (string | number)[]): string {
  if (fields.some((field) => typeof field === 'number' && !Number.isFinite(field)))
    throw new TypeError('A signed field must be text or a finite number')
  return JSON.stringify(fields)
}

/** HMAC-SHA-256 over the encoded fields. Pass each value as a field of its own, never joined with another. */
export function computeMac(key: string | Buffer, fields: readonly (string | number)[]): Buffer {
  return createHmac('sha256', key).update(encodeFields(fields)).digest()
}

/** While the service's secret is replaced, the first one signs and encrypts, and all of them verify and decrypt. */
export type Secrets = string | readonly [current: string, ...accepted: string[]]

/** The keys for one purpose (RFC 5869), in the order of the secrets. */
export function deriveKeys(secrets: Secrets, purpose: string): [Buffer, ...Buffer[]] {
  const derive = (secret: string) => Buffer.from(hkdfSync('sha256', secret, 'slipway', purpose, 32))
  const [current, ...accepted] = typeof secrets === 'string' ? [secrets] : secrets
  return [derive(current!), ...accepted.map(derive)]
}

export class Signer {
  readonly #keys: readonly [Buffer, ...Buffer[]]
  /** Identifies each key without revealing it, so that a changed secret and a forgery can be distinguished. */
  readonly #keyIds: readonly string[]

  constructor(secrets: Secrets, purpose: string) {
    this.#keys = deriveKeys(secrets, purpose)
    const identify = (key: Buffer) => createHmac('sha256', key).update('key id').digest('hex').slice(0, 8)
    this.#keyIds = this.#keys.map(identify)
  }

  get keyId(): string {
    return this.#keyIds[0]!
  }

  hasKey(id: string): boolean {
    return this.#keyIds.includes(id)
  }

  sign(fields: readonly (string | number)[]): string {
    return computeMac(this.#keys[0], fields).toString('base64url')
  }

  /** The signatures of all keys, that of the current one first, to find what an earlier secret signed. */
  signAll(fields: readonly (string | number)[]): [string, ...string[]] {
    const signatures = this.#keys.map((key) => computeMac(key, fields).toString('base64url'))
    return signatures as [string, ...string[]]
  }

  verify(fields: readonly (string | number)[], signature: string): boolean {
    return this.signAll(fields).some((signed) => constantTimeEqual(signed, signature))
  }
}

const MIN_SECRET_LENGTH = 32

/** Why a secret must not be used, as the end of a sentence about it; undefined when it is long enough. */
export function findSecretProblem(secret: string): string | undefined {
  if (secret.length >= MIN_SECRET_LENGTH) return undefined
  return `it must have at least ${MIN_SECRET_LENGTH} characters`
}
