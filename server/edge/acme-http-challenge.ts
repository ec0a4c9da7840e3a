import { hostName } from '../lib/host-name.ts'
import { LoadingCache } from '../lib/loading-cache.ts'
import type { HttpRequest } from '../net/http-handler.ts'
import type { EdgeOptions } from './edge-options.ts'
import { canonicalize } from './paths.ts'
import type { EdgeResponse } from './response.ts'

/** RFC 8555, 8.1: base64url; no CA sends a longer one. */
const TOKEN = /^[\w-]{1,200}$/

const PREFIX = '/.well-known/acme-challenge/'

/** Whether the request may be an ACME HTTP-01 validation (RFC 8555, 8.3). */
export function isChallenge(path: string): boolean {
  return path.startsWith(PREFIX)
}

const VALIDATION = /^\/\.well-known\/(?:acme-challenge|pki-validation)(?:\/|$)/
const [DOT, PERCENT] = [0x2e, 0x25] as const

/**
 * Whether a CA accepts the content of this path as proof of control over the host (RFC 8555, 8.3; CA/Browser Forum
 * Baseline Requirements, 3.2.2.4.18). Publishers control their custom domains, but no host of the service.
 */
export function isValidation(path: string): boolean {
  const first = path.charCodeAt(1)
  if (first !== DOT && first !== PERCENT) return false
  return VALIDATION.test(canonicalize(path) ?? '')
}

type ChallengesOptions = Pick<
  EdgeOptions,
  'breaker' | 'budget' | 'clientIp' | 'clock' | 'missLimiter' | 'store'
>

/** A cached lookup. */
interface CachedChallenge {
  keyAuthorization: string | undefined
}

/**
 * The pending challenges. Results are cached for a second by host and token: only the CA knows a token before its
 * challenge is stored, so that no other client can cause a negative result.
 */
export class AcmeHttpChallenges {
  readonly #options: ChallengesOptions
  readonly #cache: LoadingCache<CachedChallenge>

  constructor(options: ChallengesOptions) {
    this.#options = options
    this.#cache = new LoadingCache({
      load: (key) => this.#load(key),
      bytes: () => 0,
      isNegative: () => true,
      budget: options.budget,
      breaker: options.breaker,
    })
  }

  /** The response to the validation; undefined when no such challenge is pending for the name. */
  async findResponse(request: HttpRequest): Promise<EdgeResponse | undefined> {
    const token = request.target.path.slice(PREFIX.length)
    if (!TOKEN.test(token)) return undefined
    const { keyAuthorization } = await this.#find(`${hostName(request.host)} ${token}`, request)
    if (keyAuthorization === undefined) return undefined
    const body = Buffer.from(keyAuthorization)
    const headers = ['Content-Type', 'application/octet-stream', 'Content-Length', String(body.length)]
    return { status: 200, headers: [...headers, 'Cache-Control', 'no-store'], body }
  }

  async #find(key: string, request: HttpRequest): Promise<CachedChallenge> {
    const cached = this.#cache.peek(key)
    if (cached) return cached
    const { missLimiter, clientIp } = this.#options
    const isMiss = ({ keyAuthorization }: CachedChallenge) => keyAuthorization === undefined
    return missLimiter.run(key, clientIp(request), () => this.#cache.get(key), isMiss)
  }

  async #load(key: string): Promise<CachedChallenge> {
    const [name = '', token] = key.split(' ')
    const { store, clock } = this.#options
    const challenges = await store.read.acme.challenges('http-01', name, clock())
    return { keyAuthorization: challenges.find((one) => one.token === token)?.keyAuthorization }
  }
}
