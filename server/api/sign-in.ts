import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { SignIn, SignInClient } from '../accounts/account.ts'
import { SESSION_TTL_SECONDS } from '../accounts/session.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { newSessionToken } from '../lib/tokens.ts'
import { isSameOrigin } from './auth.ts'
import { readCookie, setCookie } from './cookies.ts'
import type { ApiServices } from './services.ts'

const BROWSER_SECONDS = 180 * DAY_SECONDS

/**
 * Spec 4.1. A browser gets a cookie by which it is recognized as one that signed in before (contract, "Sign-in"),
 * whether the address is known or not.
 */
export function requestCode({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  const origin = new URL(baseUrl).origin
  return async (request, reply) => {
    const { email } = request.body as { email: string }
    const client = toSignInClient(request, baseUrl)
    const answer = await accounts.requestCode(email, client)
    if (request.headers.origin === origin && !readCookie(request, baseUrl, 'browser'))
      setCookie(reply, baseUrl, { kind: 'browser', value: newSessionToken(), seconds: BROWSER_SECONDS })
    return answer
  }
}

/** Spec 4.2. */
export function verifyCode({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  return (request) =>
    accounts.verifyCode(request.body as SignIn & { keyName?: string }, toSignInClient(request, baseUrl))
}

/** Contract, "Sign-in": sets a cookie that scripts cannot read and other sites cannot use. */
export function openSession({
  accounts,
  baseUrl,
}: Pick<ApiServices, 'accounts' | 'baseUrl'>): RouteHandlerMethod {
  return async (request, reply) => {
    const userAgent = request.headers['user-agent']
    const client = { ...toSignInClient(request, baseUrl), userAgent }
    const { token, ...answer } = await accounts.openSession(request.body as SignIn, client)
    setCookie(reply, baseUrl, { kind: 'session', value: token, seconds: SESSION_TTL_SECONDS })
    return answer
  }
}

export function closeSession({
  sessions,
  baseUrl,
}: Pick<ApiServices, 'sessions' | 'baseUrl'>): RouteHandlerMethod {
  return async (request, reply) => {
    if (request.sessionToken) await sessions.close(request.sessionToken)
    endCookie(reply, baseUrl)
    return { success: true }
  }
}

/** Deletes the session cookie. */
export function endCookie(reply: FastifyReply, baseUrl: string): void {
  setCookie(reply, baseUrl, { kind: 'session', value: '', seconds: 0 })
}

/** Cookies count for calls of the service's own pages only. */
function toSignInClient(request: FastifyRequest, baseUrl: string): SignInClient {
  const { address } = request.caller
  if (!isSameOrigin(request, new URL(baseUrl).origin)) return { address, browserTokens: [] }
  const tokens = (['browser', 'session'] as const).map((kind) => readCookie(request, baseUrl, kind))
  return { address, browserTokens: tokens.filter((token) => token !== undefined) }
}
