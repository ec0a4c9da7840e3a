import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import type { Forge } from '../../../protocol/api/trusts.ts'
import { Component } from '../../lib/component.ts'
import { DEADLINES } from '../../lib/deadlines.ts'
import { ApiError } from '../../lib/errors.ts'
import { fetchJson } from '../../lib/fetch-json.ts'
import type { Log } from '../../lib/log.ts'
import { shareResult } from '../../lib/share-result.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import { encodeFields, hashToken } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
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
export class IdTokens extends Component<IdTokensParts> {
  readonly #issuers = new Map<unknown, { forge: Forge; keys: IssuerKeys }>(
    this.parts.issuers.map(({ forge, url }) => [url, { forge, keys: this.#keysOf(url) }]),
  )

  /** INVALID_ID_TOKEN for any other token, UNAVAILABLE when the keys of its issuer cannot be loaded. */
  async verify(token: string): Promise<IdToken> {
    const { decodeJwt, jwtVerify } = await import('jose')
    const { audience, clock } = this.parts
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

  #keysOf(issuer: string): IssuerKeys {
    const { log, monotonicClock: clock, keysTimeoutMs } = this.parts
    return new IssuerKeys({ issuer, clock, log, timeout: () => AbortSignal.timeout(keysTimeoutMs) })
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

const MAX_RESPONSE_BYTES = 256 * 1024

const LOAD_INTERVAL_MS = MINUTE_MS

const REFRESH_AFTER_MS = HOUR_MS

/** Maximum age of a key set while the issuer is unreachable. */
const MAX_AGE_MS = DAY_MS

interface IssuerKeysOptions {
  issuer: string
  /** Milliseconds, never decreasing. */
  clock: () => number
  log: Log
  timeout?: () => AbortSignal
}

/** OpenID Connect Discovery 1.0. Loads the keys when a token needs them. */
export class IssuerKeys extends Component<IssuerKeysOptions> {
  readonly #load = shareResult(() => this.#loadNow(), {
    lifetimeMs: LOAD_INTERVAL_MS,
    clock: this.parts.clock,
  })
  #loaded: { find: JWTVerifyGetKey; at: number } | undefined

  /** At most once a minute loads a set that lacks the key again. UNAVAILABLE; an error of `jose` without the key. */
  readonly find: JWTVerifyGetKey = async (...token) => {
    const known = await this.#known()
    try {
      return await known(...token)
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error
      const loaded = await this.#load()
      if (loaded === known) throw error
      return loaded(...token)
    }
  }

  async #loadNow(): Promise<JWTVerifyGetKey> {
    const { issuer, clock, log, timeout } = this.parts
    try {
      const find = await loadKeySet(issuer, timeout?.() ?? AbortSignal.timeout(DEADLINES.issuerKeys))
      this.#loaded = { find, at: clock() }
      return find
    } catch (cause) {
      log.warn('the key set of an issuer could not be loaded', { issuer, error: String(cause) })
      throw new ApiError('UNAVAILABLE', `The keys of ${issuer} could not be loaded`, {
        cause,
        retryAfterSeconds: LOAD_INTERVAL_MS / SECOND_MS,
      })
    }
  }

  async #known(): Promise<JWTVerifyGetKey> {
    const age = this.#loaded ? this.parts.clock() - this.#loaded.at : Number.POSITIVE_INFINITY
    if (age < REFRESH_AFTER_MS) return this.#loaded!.find
    if (age >= MAX_AGE_MS) return this.#load()
    return this.#load().catch(() => this.#loaded!.find)
  }
}

async function loadKeySet(issuer: string, signal: AbortSignal): Promise<JWTVerifyGetKey> {
  const configuration = await fetchJson(`${issuer}/.well-known/openid-configuration`, {
    signal,
    maxBytes: MAX_RESPONSE_BYTES,
  })
  const { issuer: named, jwks_uri: address } = configuration as Record<string, unknown>
  if (named !== issuer) throw new Error('its configuration names another issuer')
  const url = typeof address === 'string' ? URL.parse(address) : null
  if (url?.origin !== new URL(issuer).origin) throw new Error('its key set has another origin')
  const { createLocalJWKSet } = await import('jose')
  return createLocalJWKSet((await fetchJson(url.href, { signal, maxBytes: MAX_RESPONSE_BYTES })) as never)
}
