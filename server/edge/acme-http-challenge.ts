import { hostName } from '../lib/host-name.ts'
import type { HttpRequest } from '../net/http-handler.ts'
import type { Store } from '../store/store.ts'
import { canonicalize } from './paths.ts'
import type { EdgeResponse } from './response.ts'

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

/** The response to the validation; undefined when no such challenge is pending for the name. */
export async function findChallengeResponse(
  { read }: Store,
  { host, target }: HttpRequest,
  now: number,
): Promise<EdgeResponse | undefined> {
  const token = target.path.slice(PREFIX.length)
  const challenges = await read.acme.challenges('http-01', hostName(host), now)
  const challenge = challenges.find((one) => one.token === token)
  if (!challenge) return undefined
  const body = Buffer.from(challenge.keyAuthorization)
  const headers = ['Content-Type', 'application/octet-stream', 'Content-Length', String(body.length)]
  return { status: 200, headers: [...headers, 'Cache-Control', 'no-store'], body }
}
