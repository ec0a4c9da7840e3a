import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ERROR_CODES } from '../../protocol/api/errors.schema.ts'
import type { OperationAccess } from '../../protocol/api/operations.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { isPrivateUrl } from '../../protocol/private-url.ts'
import { assertRecentSignIn, mayAdminister } from '../accounts/administrators.ts'
import {
  assertAccountNotSuspended,
  assertPermitted as assertKeyPermitted,
  type Caller,
  FULL_GRANT,
  requireAccount,
} from '../accounts/authorization.ts'
import type { LimitKind, RateLimitStatus, RateLimits } from '../accounts/rate-limits.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { SECOND_MS } from '../lib/time.ts'
import { hashToken, isApiKey } from '../lib/tokens.ts'
import type { Services } from '../services.ts'
import type { Queries } from '../store/queries.ts'
import type { Store } from '../store/store.ts'
import { readCookie } from './cookies.ts'
import { unknownEndpoint } from './errors.ts'
import { findInternalRequest } from './internal-requests.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    sessionToken: string | undefined
    /** Whether the request has not been charged yet, and is charged unless its handler runs. */
    isUncharged: boolean
    admission: { credential: Credential; at: number } | undefined
    /** When its caller was admitted, on a clock that is never set. */
    admittedAt: number
    /**
     * Rejects when the credential of the caller has ended, or permits less, since it was checked. For a handler that
     * reads a body itself, before it changes anything.
     */
    confirmCaller(): Promise<void>
  }
  interface FastifyContextConfig {
    /** `handler` leaves the charge to the route. Default `api`. */
    charge?: Exclude<LimitKind, 'report'> | 'none' | 'handler'
    /** Not charged for a caller with this kind of credential, which the request ends and which is valid only once. */
    ends?: Caller['signedInWith'] | undefined
    /** A request of a route without one fails. */
    access?: OperationAccess
    /** Default `required`. */
    auth?: 'required' | 'optional'
    /** Tokens are for one resource only. */
    programs?: true
    /** Whether pages from outside may write without a key on a private service (`recognizeForeignPages`). */
    foreignPages?: true
    /** Content-Types that the route accepts beside JSON. */
    accepts?: readonly string[]
  }
}

/** The name of the program that sends a request, with its version. */
export const CLIENT_HEADER = 'x-slipway-client'

/** A body may take hours, and must not change anything when its key, session or program has ended since it began. */
const CONFIRM_AFTER_MS = SECOND_MS

const MAX_QUERY_CHARACTERS = 4096
const MAX_QUERY_PARAMETERS = 40

export const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

type AdmissionOptions = { clientIp: (request: IncomingMessage) => string } & Pick<
  Services,
  | ('store' | 'namedKeys' | 'sessions' | 'programs' | 'blocklist' | 'limits' | 'publishQueue')
  | ('credentialLookups' | 'uncounted' | 'baseUrl' | 'clock')
>

/**
 * Authenticates, charges and checks permissions before the body is read; checks the credential again when the body took
 * long. Every response under /api/ carries the three headers of spec 8.1, and is not stored by caches unless its
 * handler sets another `Cache-Control`.
 */
export function admit(app: FastifyInstance, options: AdmissionOptions): void {
  const { limits, clientIp } = options
  const isForeignPage = recognizeForeignPages(options.baseUrl)
  for (const name of ['caller', 'sessionToken', 'admission']) app.decorateRequest(name)
  app.decorateRequest('isUncharged', false)
  app.decorateRequest('confirmCaller', function () {
    return confirmCaller(this, options)
  })

  app.addHook('onRequest', async (request, reply) => {
    reply
      .header('Access-Control-Allow-Origin', '*')
      .header('Access-Control-Expose-Headers', EXPOSED)
      .header('Cache-Control', 'no-store')
    const { charge: chargedTo = 'api', access, accepts, ends, foreignPages } = request.routeOptions.config
    if (access === undefined) throw new Error('The route does not declare its access')
    const internal = findInternalRequest(request.raw)
    const caller = internal ? { ...internal.caller } : anonymousCaller(request, clientIp(request.raw))
    request.caller = caller
    request.sessionToken = undefined
    const kind = chargedTo === 'none' || chargedTo === 'handler' ? 'api' : chargedTo
    setRateLimitHeaders(reply, limits.withoutStore(caller, kind))
    if (!SAFE_METHODS.has(request.method)) options.store.assertAnswering()
    const credential = access === 'public' || internal ? undefined : readCredential(request, options.baseUrl)
    if (accepts) {
      options.publishQueue.assertRoom(caller, credential && { hasAccount: true })
      caller.onDisconnect = (listener) => void reply.raw.once('close', listener)
      caller.onUpdateByName = () => void reply.code(200)
    }
    // An administrator in a blocked network can end the block, on pages that first get the account.
    const mayPassBlock = access === 'admin' || access === 'any'
    if (!mayPassBlock) await options.blocklist.assertCaller(caller.address)
    const chargeOne = () => chargeRequest(limits, request, reply, kind)
    const admitCaller = async () => {
      try {
        if (credential) await authenticate(request, credential, options)
      } finally {
        // A request whose lookup failed is charged too, to its address: otherwise its repetitions would have no limit.
        const endsCredential = caller.account !== undefined && caller.signedInWith === ends
        request.isUncharged = chargedTo === 'handler' || endsCredential
        if (chargedTo === 'none' || request.isUncharged) await admitUncounted(request, reply, kind, options)
        else await chargeOne()
      }
      assertQuerySize(request.url)
      if (mayPassBlock && !mayAdminister(caller)) await options.blocklist.assertCaller(caller.address)
      if (credential?.kind === 'key' && !caller.account) throw invalidCredential(request)
      const isOpen = SAFE_METHODS.has(request.method) || access === 'admin' || foreignPages
      if (!isOpen && !caller.account && isForeignPage(request.headers)) throw foreignPage(request)
      await assertPermitted(request, options)
    }
    if (chargedTo !== 'handler') return admitCaller()
    // A refused request is charged here, because the handler will not run; one that may be repeated soon needs no charge.
    await admitCaller().catch(async (error: unknown) => {
      const isDelayed = error instanceof ApiError && error.code === 'UNAVAILABLE'
      if (!isDelayed || !limits.isExhausted(caller, kind)) await chargeOne()
      throw error
    })
  })
  completeAdmission(app, options)
}

/** Has a limit where the database is read although no request counts, or the hourly limit of the caller is used up. */
async function admitUncounted(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: LimitKind,
  { limits, uncounted, store }: AdmissionOptions,
): Promise<void> {
  const {
    caller,
    routeOptions: { config },
  } = request
  const counts = config.charge !== 'none' || caller.account !== undefined
  if (config.access !== 'public' && (!counts || limits.isExhausted(caller, kind)))
    uncounted.count(caller.address)
  setRateLimitHeaders(reply, await limits.peek(caller, kind, queriesFor(request, store)))
}

/** Checks the credential before the handler, and charges a request that does not reach one that would. */
function completeAdmission(app: FastifyInstance, { limits, publishQueue }: AdmissionOptions): void {
  app.decorateRequest('admittedAt', 0)
  app.addHook('onRequest', async (request) => {
    request.admittedAt = performance.now()
  })
  app.addHook('preHandler', async (request) => {
    await request.confirmCaller()
    const { caller, admittedAt, routeOptions } = request
    // Others have come since its head arrived.
    if (routeOptions.config.accepts)
      publishQueue.assertRoom(caller, { sinceAdmittedMs: performance.now() - admittedAt })
    request.isUncharged = false
  })
  // A body that cannot be read does not reach a handler that would charge it, or end the credential.
  app.addHook('onError', async (request, reply) => {
    if (!request.isUncharged) return
    const kind = request.routeOptions.config.charge === 'sign-in' ? 'sign-in' : 'api'
    await chargeRequest(limits, request, reply, kind)
  })
}

async function confirmCaller(request: FastifyRequest, options: AdmissionOptions): Promise<void> {
  const { caller, admission } = request
  if (!caller.account || !admission || options.clock() - admission.at < CONFIRM_AFTER_MS) return
  await authenticate(request, admission.credential, options)
  if (!caller.account) throw invalidCredential(request)
  await assertPermitted(request, options)
}

function anonymousCaller(request: FastifyRequest, address: string): Caller {
  return {
    account: undefined,
    address,
    signedInWith: 'anonymous',
    ofOtherPage: readOtherPage(request),
    ...readClient(request),
  }
}

/** What changes something waits for a connection as long as its write: otherwise a busy moment would refuse it. */
export function queriesFor({ method }: Pick<FastifyRequest, 'method'>, store: Store): Queries {
  return SAFE_METHODS.has(method) ? store.read : store.patient
}

async function assertPermitted(request: FastifyRequest, { clock, store }: AdmissionOptions): Promise<void> {
  const { caller, routeOptions } = request
  const { access, accepts, auth = 'required' } = routeOptions.config
  if (access === 'public') return
  if (access === 'admin') return assertAdministration(request, clock())
  const { slug } = request.params as { slug?: string }
  if (auth === 'required') requireAccount(caller, slug === undefined ? undefined : SITE_HINT)
  if (access === 'any') return
  if (caller.account && !isAllowedWhileSuspended(request)) assertAccountNotSuspended(caller.account)
  // A direct upload may have the name of its file in its path, and that of its site in the query.
  const byName = accepts !== undefined && slug?.includes('.')
  const queries = queriesFor(request, store)
  await assertKeyPermitted(queries, caller, byName ? { ...access!, byName } : access!, slug)
}

/** Some libraries parse a query in quadratic time. */
export function assertQuerySize(target: string): void {
  const start = target.indexOf('?') + 1
  if (start === 0) return
  const [length, parameters] = [target.length - start, target.split('&', MAX_QUERY_PARAMETERS + 1).length]
  if (length <= MAX_QUERY_CHARACTERS && parameters <= MAX_QUERY_PARAMETERS) return
  const limits = `${MAX_QUERY_PARAMETERS} parameters and ${MAX_QUERY_CHARACTERS} characters`
  throw invalidField('query', `must have at most ${limits}`)
}

function foreignPage({ headers: { origin = '' } }: FastifyRequest): ApiError {
  const message = `This service is of a private network: pages of other origins, such as ${origin.slice(0, 100)}, need a key`
  return new ApiError('UNAUTHORIZED', message)
}

function invalidCredential({ routeOptions: { config } }: FastifyRequest): ApiError {
  const message = config.programs
    ? 'The token or API key is invalid or has expired. Sign in again.'
    : 'Invalid API key. Sign in to get a new key.'
  return new ApiError('UNAUTHORIZED', message)
}

/** A suspended account reads, exports and deletes; routes for administrators do not depend on it. */
function isAllowedWhileSuspended({ method }: FastifyRequest): boolean {
  return ['GET', 'HEAD', 'DELETE'].includes(method)
}

function assertAdministration(request: FastifyRequest, now: number): void {
  if (!mayAdminister(request.caller)) throw unknownEndpoint(request)
  if (request.method !== 'GET' && request.method !== 'HEAD') assertRecentSignIn(request.caller, now)
}

function readClient({ headers }: FastifyRequest): Pick<Caller, 'client'> {
  const client = headers[CLIENT_HEADER]
  return typeof client === 'string' && /^[\w][\w ./-]{0,59}$/.test(client) ? { client } : {}
}

async function authenticate(
  request: FastifyRequest,
  credential: Credential,
  options: AdmissionOptions,
): Promise<void> {
  const { caller } = request
  const hash = hashToken(credential.value)
  request.admission = { credential, at: options.clock() }
  caller.account = undefined
  const find = () => findCaller(request, credential, options)
  const found =
    options.limits.findFlooding(hash) ??
    (await options.credentialLookups.run(hash, caller.address, find, (result) => result === undefined))
  if (!found) return
  Object.assign(caller, { signedInWith: 'key' }, found)
  if (credential.kind === 'session') request.sessionToken = credential.value
}

async function findCaller(
  request: FastifyRequest,
  { kind, value }: Credential,
  { namedKeys, programs, sessions, store }: AdmissionOptions,
): Promise<Partial<Caller> | undefined> {
  const { config } = request.routeOptions
  const queries = queriesFor(request, store)
  if (kind === 'key')
    return config.programs && !isApiKey(value)
      ? programs.find(value, queries)
      : namedKeys.find(value, queries)
  const session = await sessions.find(value, queries)
  if (!session) return undefined
  const { account, createdAt: signedInAt } = session
  return { account, signedInAt, signedInWith: 'dashboard', grant: FULL_GRANT }
}

/** For handlers to which their route leaves the charge, and for each further message of a batch. RATE_LIMITED. */
export async function charge(
  limits: RateLimits,
  request: FastifyRequest,
  reply: FastifyReply,
  kind: LimitKind = 'api',
): Promise<void> {
  if (kind !== 'message') assertLeftToHandler(request)
  await chargeRequest(limits, request, reply, kind)
}

async function chargeRequest(
  limits: RateLimits,
  request: FastifyRequest,
  reply: FastifyReply,
  kind: LimitKind,
): Promise<void> {
  request.isUncharged = false
  const { caller } = request
  const status = await limits.charge(caller, kind, kind !== 'sign-in' && !SAFE_METHODS.has(request.method))
  setRateLimitHeaders(reply, status)
  assertAdmitted(caller, kind, status)
}

/** Counts a message of the caller, like those to `/mcp`, of which the headers say nothing. RATE_LIMITED. */
export async function chargeMessage(limits: RateLimits, request: FastifyRequest): Promise<void> {
  assertLeftToHandler(request)
  const { caller } = request
  assertAdmitted(caller, 'message', await limits.charge(caller, 'message'))
}

/** A route that charges before its handler would charge twice. */
function assertLeftToHandler({ routeOptions: { config } }: FastifyRequest): void {
  if (config.charge !== 'handler') throw new Error('The route does not leave the charge to its handler')
}

/** An anonymous site accepts updates with its claim token, and nothing else before it has an owner. */
const SITE_HINT = `${ERROR_CODES.UNAUTHORIZED.hint} Claim an anonymous site with the key first: POST /api/v1/publish/{slug}/claim with its claimToken.`

const ANONYMOUS_LIMIT_HINT = `${ERROR_CODES.RATE_LIMITED.hint} Signing in raises the limit: POST /api/auth/agent/request-code, or slipway login.`

const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, WWW-Authenticate, X-Request-Id, X-Slipway-Banner, X-Slipway-Claim-Url, X-Slipway-Claim-Token, Location, Content-Disposition'

function setRateLimitHeaders(reply: FastifyReply, { limit, remaining, reset }: RateLimitStatus): void {
  reply
    .header('X-RateLimit-Limit', limit)
    .header('X-RateLimit-Remaining', remaining)
    .header('X-RateLimit-Reset', reset)
}

function assertAdmitted(
  caller: Caller,
  kind: LimitKind,
  { limit, reset, secondsLeft, admitted }: RateLimitStatus,
): void {
  if (admitted) return
  const at = new Date(reset * 1000).toISOString()
  const sentence = `Hourly limit reached (${pluralize(limit, 'request')}). Try again at ${at}.`
  throw new ApiError('RATE_LIMITED', sentence, {
    retryAfterSeconds: secondsLeft,
    details: { countedBy: caller.account ? 'account' : 'address' },
    hint: caller.account || kind === 'sign-in' ? undefined : ANONYMOUS_LIMIT_HINT,
  })
}

type Credential = { kind: 'key' | 'session'; value: string }

/** A bearer key from any origin, or the dashboard's cookie from its own origin. */
function readCredential(request: FastifyRequest, baseUrl: string): Credential | undefined {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    return { kind: 'key', value: /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '' }
  }
  if (request.routeOptions.config.programs) return undefined
  const value = readCookie(request, baseUrl, 'session')
  return value && isSameOrigin(request, new URL(baseUrl).origin) ? { kind: 'session', value } : undefined
}

/**
 * Also for a form that a page sends; not for a link that the user follows (Fetch Metadata, 2.1 to 2.4). Windows that a page
 * opens are counted apart, because Safari does not send `Sec-Fetch-User`.
 */
export function readOtherPage({ method, headers }: FastifyRequest): Caller['ofOtherPage'] {
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-dest': destination, 'sec-fetch-user': user } = headers
  if (site === 'none' || site === 'same-origin') return undefined
  if (destination !== 'document' || !SAFE_METHODS.has(method)) return 'content'
  return user === '?1' ? undefined : 'window'
}

/** By `Sec-Fetch-Site` and `Origin`; a request that changes something must come from the service's own pages. */
export function isSameOrigin({ method, headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (headers.origin === undefined) return method === 'GET' || method === 'HEAD'
  return headers.origin === origin
}

/**
 * A service of this machine or of a private network serves visitors without a credential: a page from outside must not
 * act in the place of the user who visits it. Pages of this machine are accepted, such as those of a development
 * server, but not those of published sites. On a public service no request is recognized.
 */
export function recognizeForeignPages(baseUrl: string): (headers: IncomingHttpHeaders) => boolean {
  if (!isPrivateUrl(baseUrl)) return () => false
  const { origin: own, port } = new URL(baseUrl)
  const sites = port === '' ? '.localhost' : `.localhost:${port}`
  const isOfMachine = (origin: string) =>
    URL.canParse(origin) && isLoopbackUrl(origin) && !origin.endsWith(sites)
  return ({ origin }) => origin !== undefined && origin !== own && !isOfMachine(origin)
}
