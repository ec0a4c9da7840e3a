import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Accounts } from '../account.ts'
import { Failure } from '../failure.ts'
import type { LimitKind, RateLimits, Standing } from '../limits/limits.ts'
import { type Caller, signedIn } from '../ownership.ts'
import type { Sessions } from '../session.ts'
import type { AccountRow } from '../store/schema.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** The session cookie's value when the caller signed in with it. */
    sessionToken: string | undefined
  }
  interface FastifyContextConfig {
    /** What a request is charged to; `handler` leaves it to the route. Default `api`. */
    charge?: LimitKind | 'none' | 'handler'
    /** Whether a key or session is needed, welcome, or not looked at. Default `required`. */
    auth?: 'required' | 'optional' | 'none'
  }
}

interface AdmissionOptions {
  accounts: Accounts
  sessions: Sessions
  limits: RateLimits
  baseUrl: string
  addressOf: (request: IncomingMessage) => string
}

export const SESSION_COOKIE = '__Host-slipway'

/**
 * Says who calls and charges the call to a rate limit, before anything of the body is read. Every answer
 * under /api/ carries the three headers of spec 8.1.
 */
export function admit(app: FastifyInstance, options: AdmissionOptions): void {
  const { accounts, sessions, limits, addressOf } = options
  const origin = new URL(options.baseUrl).origin
  app.decorateRequest('caller')
  app.decorateRequest('sessionToken')

  app.addHook('onRequest', async (request, reply) => {
    reply.header('Access-Control-Allow-Origin', '*').header('Access-Control-Expose-Headers', EXPOSED)
    const { charge = 'api', auth = 'required' } = request.routeOptions.config
    const caller: Caller = {
      account: undefined,
      address: addressOf(request.raw),
      signedInWith: 'anonymous',
    }
    request.caller = caller
    request.sessionToken = undefined
    const kind = charge === 'sign-in' ? charge : 'api'
    tell(reply, limits.unknown(caller, kind))
    const credential = auth === 'none' ? undefined : credentialOf(request, origin)
    const refused = () => credential?.kind === 'key' && !caller.account
    try {
      if (credential?.kind === 'key') caller.account = await accounts.byKey(credential.value)
      if (credential?.kind === 'session') {
        caller.account = await sessions.account(credential.value)
        request.sessionToken = caller.account && credential.value
      }
      if (credential && caller.account) caller.signedInWith = credential.kind === 'key' ? 'key' : 'dashboard'
    } finally {
      const free = charge === 'none' || (charge === 'handler' && !refused())
      if (free) tell(reply, await limits.look(caller, kind))
      else await charged(reply, limits.charge(caller, kind), caller)
    }
    if (refused()) throw new Failure('UNAUTHORIZED', 'The API key is not valid; sign in again for a new one')
    if (auth === 'required') signedIn(caller)
  })
}

/** Charges a request whose route has `charge: 'handler'`. RATE_LIMITED when it is one too many. */
export async function charge(
  limits: RateLimits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await charged(reply, limits.charge(request.caller, 'api'), request.caller)
}

/** The account of a route that needs one. */
export function accountOf(request: FastifyRequest): AccountRow {
  return signedIn(request.caller)
}

const EXPOSED = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After'

function tell(reply: FastifyReply, { limit, remaining, reset }: Standing): void {
  reply
    .header('X-RateLimit-Limit', limit)
    .header('X-RateLimit-Remaining', remaining)
    .header('X-RateLimit-Reset', reset)
}

async function charged(reply: FastifyReply, charging: Promise<Standing>, { account }: Caller): Promise<void> {
  const standing = await charging
  tell(reply, standing)
  const { limit, reset, secondsLeft, admitted } = standing
  if (admitted) return
  const at = new Date(reset * 1000).toISOString()
  throw new Failure(
    'RATE_LIMITED',
    `The limit of ${limit} requests an hour is reached; it starts again at ${at}`,
    {
      retryAfterSeconds: secondsLeft,
      details: { countedBy: account ? 'account' : 'address' },
    },
  )
}

type Credential = { kind: 'key' | 'session'; value: string }

/** A bearer key from anywhere, or the dashboard's cookie from its own origin. */
function credentialOf(request: FastifyRequest, origin: string): Credential | undefined {
  const { authorization, cookie } = request.headers
  if (authorization !== undefined) {
    return { kind: 'key', value: /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '' }
  }
  const value = cookie && new RegExp(`(?:^|;\\s*)${SESSION_COOKIE}=([\\w-]{1,100})(?:;|$)`).exec(cookie)?.[1]
  return value && isSameOrigin(request, origin) ? { kind: 'session', value } : undefined
}

/**
 * Browsers say where a request comes from; one that changes something must come from the service's own pages, and
 * none may come from others.
 */
function isSameOrigin({ method, headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (headers.origin === undefined) return method === 'GET' || method === 'HEAD'
  return headers.origin === origin
}
