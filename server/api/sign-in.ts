import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { SignIn, SignInClient } from '../accounts/account.ts'
import { SESSION_TTL_SECONDS } from '../accounts/session.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { newSessionToken } from '../lib/tokens.ts'
import { isSameOrigin, readCookie, SESSION_COOKIE } from './auth.ts'
import type { ApiServices } from './services.ts'

/** Identifies a browser at sign-in; it grants nothing by itself. */
const BROWSER_COOKIE = '__Host-slipway-browser'

const BROWSER_SECONDS = 180 * DAY_SECONDS

/**
 * Spec 4.1. A browser gets a cookie by which it is recognised as one that signed in before (contract, "Sign-in"),
 * whether the address is known or not.
 */
export function requestCode({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  const origin = new URL(baseUrl).origin
  return async (request, reply) => {
    const { email } = request.body as { email: string }
    const client = toSignInClient(request, origin)
    const answer = await accounts.requestCode(email, client)
    if (request.headers.origin === origin && !readCookie(request, BROWSER_COOKIE))
      reply.header('Set-Cookie', cookie(BROWSER_COOKIE, newSessionToken(), BROWSER_SECONDS))
    return answer
  }
}

/** Spec 4.2. */
export function verifyCode({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  const { origin } = new URL(baseUrl)
  return (request) => accounts.verifyCode(request.body as SignIn, toSignInClient(request, origin))
}

/** Contract, "Sign-in": sets a cookie that scripts cannot read and other sites cannot use. */
export function openSession({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  const { origin } = new URL(baseUrl)
  return async (request, reply) => {
    const userAgent = request.headers['user-agent']
    const client = { ...toSignInClient(request, origin), userAgent }
    const { token, ...answer } = await accounts.openSession(request.body as SignIn, client)
    reply.header('Set-Cookie', cookie(SESSION_COOKIE, token, SESSION_TTL_SECONDS))
    return answer
  }
}

export function closeSession({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return async (request, reply) => {
    if (request.sessionToken) await sessions.close(request.sessionToken)
    endCookie(reply)
    return { success: true }
  }
}

/** Deletes the session cookie. */
export function endCookie(reply: FastifyReply): void {
  reply.header('Set-Cookie', cookie(SESSION_COOKIE, '', 0))
}

/** Cookies count for calls of the service's own pages only. */
function toSignInClient(request: FastifyRequest, origin: string): SignInClient {
  const { address } = request.caller
  if (!isSameOrigin(request, origin)) return { address, browserTokens: [] }
  const tokens = [BROWSER_COOKIE, SESSION_COOKIE].map((name) => readCookie(request, name))
  return { address, browserTokens: tokens.filter((token) => token !== undefined) }
}

function cookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=${seconds}`
}
