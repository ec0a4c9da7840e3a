import { Slipway } from '../../client/sdk/slipway.ts'
import { fetchTransport, type HttpRequest, type HttpResponse } from '../../client/sdk/transport.ts'
import { recordRateLimit } from './rate-limit.ts'
import { setClock } from './server-clock.ts'
import { confirmSignedIn, isSignInLost, rememberSignedIn, signedInAs, signIns } from './session.ts'
import { settings } from './settings.ts'

/** Time-out of an API call in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000

/** Calls charged to the account's hour; sign-in has a counter of its own. */
const RATE_LIMITED_ROUTES = /^\/api\/(?:v1|admin)\/(?!_upload\/|publish\/[^/]+\/claim\/preview)/

/** In a rate limit error: which counter was charged. */
const COUNTED_BY_ADDRESS = /"countedBy":"address"/

/** Calls without a time-out. */
const NO_TIMEOUT = /^\/api\/v1\/(_upload\/|domains\/[^/]+\/events$)/

/** In the error of a change that needs a more recent sign-in. */
const NEEDS_RECENT_SIGN_IN = /"code":"SIGN_IN_AGAIN"/

/** Why a call needs a sign-in: the session has expired, or it is too old for a change of an administrator. */
export type SignInReason = 'expired' | 'too-old'

/** Opens the sign-in dialog; resolves to whether the user signed in. Set by the page frame. */
let promptSignIn: (reason: SignInReason) => Promise<boolean> = async () => false

export function setSignInPrompt(prompt: (reason: SignInReason) => Promise<boolean>): void {
  promptSignIn = prompt
}

/**
 * The SDK over this page's session. When the session has expired, the user is asked to sign in, and the call
 * is repeated.
 */
export const slipway = new Slipway({ baseUrl: '', send: transport })

/** The transport of API calls; exported for uploads with a transport of their own. */
export async function transport(request: HttpRequest): Promise<HttpResponse> {
  const [email, before] = [signedInAs.value, signIns.value]
  const incoming = await sendOnce(request)
  if (!incoming.requiresSignIn || email === null) return incoming
  if (signIns.value === before) {
    const isExpired = incoming.requiresSignIn === 'expired'
    if ((isExpired && isSignInLost()) || typeof (request.body ?? '') !== 'string') return incoming
    if (!(await promptSignIn(incoming.requiresSignIn))) {
      if (isExpired && signedInAs.value === email) rememberSignedIn(null)
      return incoming
    }
  }
  if (signedInAs.value !== email) return incoming
  const again = await sendOnce(request)
  if (again.requiresSignIn === 'expired') isSignInLost()
  return again
}

interface AuthenticatedResponse extends HttpResponse {
  /** Whether a signed-in caller would not have got this error. */
  requiresSignIn: SignInReason | undefined
}

async function sendOnce(request: HttpRequest): Promise<AuthenticatedResponse> {
  const url = toSameOrigin(request.url)
  const incoming = await fetchTransport({ ...request, url, ...withTimeout(request) })
  setClock(incoming.header)
  if (RATE_LIMITED_ROUTES.test(url)) {
    recordRateLimit(incoming.header)
    if (incoming.status < 400) confirmSignedIn()
    // A caller with an expired session is charged to its address, and may be refused before authentication fails.
    if (incoming.status === 429) return withReason(incoming, COUNTED_BY_ADDRESS, 'expired')
  }
  if (incoming.status === 403) return withReason(incoming, NEEDS_RECENT_SIGN_IN, 'too-old')
  return { ...incoming, requiresSignIn: incoming.status === 401 ? 'expired' : undefined }
}

/** The response with the reason, if its body matches. */
async function withReason(
  incoming: HttpResponse,
  pattern: RegExp,
  reason: SignInReason,
): Promise<AuthenticatedResponse> {
  const body = await incoming.text()
  const requiresSignIn = pattern.test(body) ? reason : undefined
  return { ...incoming, text: async () => body, requiresSignIn }
}

/** A URL of this service under the page's own origin. */
export function toSameOrigin(url: string): string {
  return url.startsWith(`${settings.baseUrl}/`) ? url.slice(settings.baseUrl.length) : url
}

function withTimeout({ url, signal }: HttpRequest): Pick<HttpRequest, 'signal'> {
  if (NO_TIMEOUT.test(toSameOrigin(url))) return signal ? { signal } : {}
  const late = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  return { signal: signal ? AbortSignal.any([signal, late]) : late }
}
