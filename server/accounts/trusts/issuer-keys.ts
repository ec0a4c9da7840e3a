import type { JWTVerifyGetKey } from 'jose'
import { DEADLINES } from '../../lib/deadlines.ts'
import { ApiError } from '../../lib/errors.ts'
import { fetchJson } from '../../lib/fetch-json.ts'
import type { Log } from '../../lib/log.ts'
import { shareResult } from '../../lib/share-result.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../lib/time.ts'

const MAX_RESPONSE_BYTES = 256 * 1024

/** Minimum interval between loads, whatever tokens arrive. */
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
export class IssuerKeys {
  readonly #clock: () => number
  readonly #load: () => Promise<JWTVerifyGetKey>
  #loaded: { find: JWTVerifyGetKey; at: number } | undefined

  constructor({
    issuer,
    clock,
    log,
    timeout = () => AbortSignal.timeout(DEADLINES.issuerKeys),
  }: IssuerKeysOptions) {
    this.#clock = clock
    const load = async () => {
      try {
        const find = await loadKeySet(issuer, timeout())
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
    this.#load = shareResult(load, { lifetimeMs: LOAD_INTERVAL_MS, clock })
  }

  /**
   * Loads the key set again when it lacks the key, at most once a minute. UNAVAILABLE when the issuer cannot be
   * reached; an error of `jose` when it has no such key.
   */
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

  async #known(): Promise<JWTVerifyGetKey> {
    const age = this.#loaded ? this.#clock() - this.#loaded.at : Number.POSITIVE_INFINITY
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
