import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SignInClient } from '../accounts/account.ts'
import { SESSION_TTL_SECONDS } from '../accounts/session.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { newSessionToken } from '../lib/tokens.ts'
import type { Services } from '../services.ts'
import { isSameOrigin } from './auth.ts'
import { readCookie, setCookie } from './cookies.ts'
import type { Handlers } from './route.ts'

const BROWSER_SECONDS = 180 * DAY_SECONDS

/** Spec 4.1 and 4.2; contract, "Sign-in". */
export function signInHandlers({
  accounts,
  sessions,
  baseUrl,
}: Pick<Services, 'accounts' | 'sessions' | 'baseUrl'>) {
  const { origin } = new URL(baseUrl)
  return {
    requestCode: async ({ request, reply, body }) => {
      const answer = await accounts.requestCode(body.email, toSignInClient(request, baseUrl))
      // By this cookie a browser is recognized as one that signed in before, whether the address is known or not.
      if (request.headers.origin === origin && !readCookie(request, baseUrl, 'browser'))
        setCookie(reply, baseUrl, { kind: 'browser', value: newSessionToken(), seconds: BROWSER_SECONDS })
      return answer
    },
    verifyCode: ({ request, body }) => accounts.verifyCode(body, toSignInClient(request, baseUrl)),
    openSession: async ({ request, reply, body }) => {
      const userAgent = request.headers['user-agent']
      const client = { ...toSignInClient(request, baseUrl), userAgent }
      const { token, ...answer } = await accounts.openSession(body, client)
      setCookie(reply, baseUrl, { kind: 'session', value: token, seconds: SESSION_TTL_SECONDS })
      return answer
    },
    closeSession: async ({ request, reply }) => {
      if (request.sessionToken) await sessions.close(request.sessionToken)
      endCookie(reply, baseUrl)
      return { success: true }
    },
  } satisfies Partial<Handlers>
}

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
