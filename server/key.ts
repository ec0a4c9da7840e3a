import { createHmac, hash, hkdfSync, randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'

/** No 0 O 1 I: 32 characters that nobody confuses, so a code of eight has 40 bits (contract, "Sign-in"). */
const CODE_CHARACTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Crockford's alphabet in lower case; sorts as the numbers it stands for. */
const ID_CHARACTERS = '0123456789abcdefghjkmnpqrstvwxyz'

/** An API key: `sl_live_` and 32 hex characters (spec 2.5). */
export function newApiKey(): string {
  return `sl_live_${randomBytes(16).toString('hex')}`
}

/** A claim token in UUID format (spec 2.4). */
export function newClaimToken(): string {
  return randomUUID()
}

/** A session's cookie value: 256 random bits. */
export function newSessionToken(): string {
  return randomBytes(32).toString('base64url')
}

/** A verification code of form `XXXX-XXXX` (spec 2.6). */
export function newCode(): string {
  const characters = Array.from({ length: 8 }, () => CODE_CHARACTERS[randomInt(32)])
  return `${characters.slice(0, 4).join('')}-${characters.slice(4).join('')}`
}

/** A code as a person typed it, in the form that was sent; undefined when it cannot be one. */
export function readCode(typed: string): string | undefined {
  const bare = typed.toUpperCase().replace(/[\s-]/g, '')
  if (bare.length !== 8 || [...bare].some((character) => !CODE_CHARACTERS.includes(character)))
    return undefined
  return `${bare.slice(0, 4)}-${bare.slice(4)}`
}

/**
 * An id of 26 characters, fit for a host name: the time in milliseconds and 80 random bits. Later ids sort
 * after earlier ones, so that rows of one time lie together; nobody can guess one.
 */
export function newId(now: number): string {
  let id = firstIdOf(now)
  for (const byte of randomBytes(16)) id += ID_CHARACTERS[byte & 31]
  return id
}

/** Sorts before every id of this time and after all earlier ones. */
export function firstIdOf(time: number): string {
  let id = ''
  for (let rest = time, index = 0; index < 10; index++, rest = Math.floor(rest / 32)) {
    id = ID_CHARACTERS[rest % 32]! + id
  }
  return id
}

/** What is stored of a secret with enough randomness of its own: its SHA-256 in hex. */
export function hashOfSecret(secret: string): string {
  return hash('sha256', secret)
}

/** Compares two texts in a time that tells nothing about where they differ. */
export function sameSecret(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Makes and checks codes of authenticity for one purpose, with a key derived from the service's secret (RFC 5869). */
export class Signer {
  readonly #key: Buffer
  /** Names the key without telling it, so that a change of secret is told from a forgery. */
  readonly keyId: string

  constructor(secret: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, 'slipway', purpose, 32))
    this.keyId = createHmac('sha256', this.#key).update('key id').digest('hex').slice(0, 8)
  }

  /** HMAC-SHA-256 over the parts, which may hold any characters, as base64url. */
  sign(parts: readonly (string | number)[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url')
  }

  verify(parts: readonly (string | number)[], signature: string): boolean {
    return sameSecret(this.sign(parts), signature)
  }
}
