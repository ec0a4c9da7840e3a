import { hostName } from '../../packages/http-server/host-name.ts'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { Component } from '../lib/component.ts'
import { Coalesced, READ_INTERVAL_MS } from '../lib/share-result.ts'
import type { StoredChallenge } from '../store/tables/certificates.ts'
import type { EdgeOptions } from './edge-options.ts'
import { canonicalize } from './paths.ts'
import type { EdgeResponse } from './response.ts'

/** RFC 8555, 8.1: base64url; no CA sends a longer one. */
const TOKEN = /^[\w-]{1,200}$/

/** Of requests that may be an ACME HTTP-01 validation (RFC 8555, 8.3). */
export const CHALLENGE_PREFIX = '/.well-known/acme-challenge/'

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

/** Reads unknown tokens outside the limits of other lookups, so that a flood of names delays no validation. */
export class AcmeHttpChallenges extends Component<Pick<EdgeOptions, 'clock' | 'store'>> {
  readonly #read = new Coalesced(async () => {
    const { store, clock } = this.parts
    const stored = await store.read.acme.challenges('http-01', clock())
    this.#pending = new Map(stored.map((challenge) => [`${challenge.name} ${challenge.token}`, challenge]))
  }, READ_INTERVAL_MS)
  #pending = new Map<string, StoredChallenge>()

  /** The response to the validation; undefined when no such challenge is pending for the name. */
  async findResponse(request: HttpRequest): Promise<EdgeResponse | undefined> {
    const token = request.target.path.slice(CHALLENGE_PREFIX.length)
    if (!TOKEN.test(token)) return undefined
    const key = `${hostName(request.host)} ${token}`
    if (!this.#find(key)) await this.#read.run()
    const challenge = this.#find(key)
    if (!challenge) return undefined
    const body = Buffer.from(challenge.keyAuthorization)
    const headers = ['Content-Type', 'application/octet-stream', 'Content-Length', String(body.length)]
    return { status: 200, headers: [...headers, 'Cache-Control', 'no-store'], body }
  }

  #find(key: string): StoredChallenge | undefined {
    const challenge = this.#pending.get(key)
    return challenge && challenge.expiresAt > this.parts.clock() ? challenge : undefined
  }
}
