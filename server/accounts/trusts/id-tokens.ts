import type { JWTPayload } from 'jose'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { ApiError } from '../../lib/errors.ts'
import { SECOND_MS } from '../../lib/time.ts'
import { encodeFields, hashToken } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import { IssuerKeys } from './issuer-keys.ts'
import { type Job, readJob } from './job.ts'

export interface Issuer {
  forge: Forge
  url: string
}

/** Asymmetric algorithms only, so that a public key is never the key of an HMAC. */
const ALGORITHMS = ['RS256', 'PS256', 'ES256']

const CLOCK_TOLERANCE_SECONDS = 30

/** Whatever its expiry. GitLab issues tokens for the duration of a job. */
const MAX_AGE_SECONDS = 24 * 60 * 60

export interface IdToken {
  issuer: string
  job: Job
  hash: string
  /** Includes the tolerance. */
  expiresAt: number
}

type IdTokensParts = Pick<Parts, 'clock' | 'log'> & {
  issuers: readonly Issuer[]
  /** The audience that tokens must have: the base URL of the service. */
  audience: string
  /** Milliseconds, never decreasing. */
  monotonicClock: () => number
  keysTimeoutMs: number
}

/** OpenID Connect Core 1.0, section 2. */
export class IdTokens {
  readonly #parts: IdTokensParts
  readonly #issuers: ReadonlyMap<unknown, { forge: Forge; keys: IssuerKeys }>

  constructor(parts: IdTokensParts) {
    this.#parts = parts
    const { issuers, log, monotonicClock: clock, keysTimeoutMs } = parts
    const timeout = () => AbortSignal.timeout(keysTimeoutMs)
    this.#issuers = new Map(
      issuers.map(({ forge, url }) => [
        url,
        { forge, keys: new IssuerKeys({ issuer: url, clock, log, timeout }) },
      ]),
    )
  }

  /** INVALID_ID_TOKEN for any other token, UNAVAILABLE when the keys of its issuer cannot be loaded. */
  async verify(token: string): Promise<IdToken> {
    const { decodeJwt, jwtVerify } = await import('jose')
    const { audience, clock } = this.#parts
    try {
      const issuer = decodeJwt(token).iss
      const known = this.#issuers.get(issuer)
      if (issuer === undefined || !known) throw invalidToken('its issuer is not one of this service')
      const { payload } = await jwtVerify(token, known.keys.find, {
        ...{ issuer, audience, algorithms: ALGORITHMS },
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(clock()),
        maxTokenAge: MAX_AGE_SECONDS,
        requiredClaims: ['exp', 'iat', 'jti'],
      })
      return toIdToken(issuer, known.forge, payload)
    } catch (error) {
      throw error instanceof ApiError ? error : invalidToken(describeFailure(error), error)
    }
  }
}

export function invalidToken(reason: string, cause?: unknown): ApiError {
  return new ApiError('INVALID_ID_TOKEN', `The token of the job was refused: ${reason}`, { cause })
}

function toIdToken(issuer: string, forge: Forge, payload: JWTPayload): IdToken {
  const { jti, exp, iat } = payload
  if (typeof jti !== 'string' || jti === '') throw invalidToken('it has no identifier')
  const job = readJob(forge, payload)
  if (!job) throw invalidToken('it does not name a repository, its id and an event')
  return {
    issuer,
    job,
    hash: hashToken(encodeFields([issuer, jti])),
    expiresAt: (Math.min(exp!, iat! + MAX_AGE_SECONDS) + CLOCK_TOLERANCE_SECONDS) * SECOND_MS,
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'it has expired',
  ERR_JWKS_NO_MATCHING_KEY: 'its issuer has no such key',
  ERR_JOSE_ALG_NOT_ALLOWED: 'its algorithm is not accepted',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'its signature is invalid',
}

function describeFailure(error: unknown): string {
  const { code, claim } = error as { code?: string; claim?: string }
  if (claim === 'aud') return 'it has another audience'
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') return `its claim ${claim} is invalid`
  return REASONS[code ?? ''] ?? 'it is malformed'
}
