import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { PROGRAM_SCOPES } from '../../protocol/api/programs.ts'
import type { Branding } from '../../protocol/branding.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { OAUTH_ROUTES } from '../accounts/oauth/authorization-server.ts'
import type { Programs } from '../accounts/oauth/programs.ts'
import type { RateLimits } from '../accounts/rate-limits.ts'
import { rateLimitSubnet } from '../lib/client-ip.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import { charge } from './auth.ts'
import { readBody } from './bodies.ts'
import { MCP_PATH, RESOURCE_METADATA_PATH } from './mcp/resource.ts'
import { preflight } from './unrouted.ts'

/** RFC 8414. */
const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server'

const MAX_BODY_BYTES = 16 * 1024

/** What a registration stores at most. */
const MAX_CLIENT_NAME_LENGTH = 64
const MAX_REDIRECT_URIS = 10
const MAX_REDIRECT_URI_LENGTH = 512

const MAX_CONCURRENT_REQUESTS = { total: 64, perKey: 8 }

/** What a registration may say about a program. Nothing in it is fetched. */
const CLIENT_FIELDS = ['client_name', 'redirect_uris', 'grant_types', 'response_types'] as const

interface OAuthOptions {
  baseUrl: string
  branding: Branding
  programs: Programs
  limits: RateLimits
}

/** Authorization of programs: the metadata, and the requests that the library handles. */
export async function oauth(app: FastifyInstance, options: OAuthOptions): Promise<void> {
  const { baseUrl, branding } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) =>
    (await readBody(request, payload)).toString(),
  )
  const metadata = {
    resource: baseUrl + MCP_PATH,
    resource_name: branding.name,
    authorization_servers: [baseUrl],
    scopes_supported: PROGRAM_SCOPES,
    bearer_methods_supported: ['header'],
    resource_documentation: `${baseUrl}/docs/agents`,
  }
  const open = { charge: 'none', access: 'public', auth: 'optional' } as const
  for (const url of [RESOURCE_METADATA_PATH, RESOURCE_METADATA_PATH + MCP_PATH])
    app.get(url, { config: open }, () => metadata)
  const handler = forwarder(options)
  // What strangers may call, and what does more than to read a constant.
  const limited = { charge: 'sign-in', access: 'public', auth: 'optional' } as const
  const { authorization, registration, token, revocation, jwks } = OAUTH_ROUTES
  for (const [method, url, config] of [
    ['GET', SERVER_METADATA_PATH, open],
    ['GET', jwks, open],
    ['GET', authorization, limited],
    ['GET', `${authorization}/:uid`, limited],
    ['POST', registration, limited],
    ['POST', token, { ...open, charge: 'handler' }],
    ['POST', revocation, limited],
  ] as const)
    app.route({ method, url, bodyLimit: MAX_BODY_BYTES, config, handler })
  for (const [url, allow] of [
    [RESOURCE_METADATA_PATH, 'GET, HEAD'],
    [RESOURCE_METADATA_PATH + MCP_PATH, 'GET, HEAD'],
    [SERVER_METADATA_PATH, 'GET, HEAD'],
    [registration, 'POST'],
    [token, 'POST'],
    [revocation, 'POST'],
    [MCP_PATH, 'POST'],
  ] as const)
    app.options(url, { config: open }, (_, reply) => preflight(reply, allow))
}

/** Passes requests to the library with the headers that it needs, and the base URL in place of what clients sent. */
function forwarder({ baseUrl, programs, limits }: OAuthOptions): RouteHandlerMethod {
  const { host, protocol } = new URL(baseUrl)
  const limiter = new ConcurrencyLimiter(MAX_CONCURRENT_REQUESTS)
  return (request, reply) =>
    limiter.run(rateLimitSubnet(request.caller.address), async () => {
      const { url: route } = request.routeOptions
      if (route === OAUTH_ROUTES.token) {
        // Each use of a refresh token adds records to those of its account.
        request.caller.account = await programs.findOwner(new URLSearchParams(String(request.body)))
        await charge(limits, request, reply)
      }
      const { inject } = await import('light-my-request')
      const { handle } = await programs.server()
      const { 'content-type': type, accept, cookie } = request.headers
      const isRegistration = request.routeOptions.url === OAUTH_ROUTES.registration
      const payload = isRegistration ? clientMetadata(request.body) : (request.body as string | undefined)
      const response = await inject(handle, {
        method: request.method as 'GET',
        url: targetOf(request),
        headers: {
          host,
          'x-forwarded-proto': protocol.slice(0, -1),
          ...(type === undefined ? {} : { 'content-type': type }),
          ...(accept === undefined ? {} : { accept }),
          ...(cookie === undefined ? {} : { cookie }),
        },
        ...(payload === undefined ? {} : { payload }),
      })
      const { connection: _, 'transfer-encoding': __, date: ___, ...headers } = response.headers
      return reply
        .code(response.statusCode)
        .headers({ 'Cache-Control': 'no-store', ...headers })
        .send(response.rawPayload)
    })
}

/**
 * The path, and the query of the only route that takes one. Other scopes are ignored (RFC 6749, section 3.3). A program
 * that names none asks for all, which the user sees and decides.
 */
function targetOf({ url: target, routeOptions }: FastifyRequest): string {
  const url = new URL(target, 'http://localhost')
  if (routeOptions.url !== OAUTH_ROUTES.authorization) return url.pathname
  const asked = (url.searchParams.get('scope') ?? '').split(' ')
  const known = PROGRAM_SCOPES.filter((scope) => asked.includes(scope))
  url.searchParams.set('scope', (known.length > 0 ? known : PROGRAM_SCOPES).join(' '))
  return url.pathname + url.search
}

/**
 * The metadata of a registration that count. Programs are public clients: a secret that is in many programs would prove
 * nothing. Those that return to this device are native ones (RFC 8252).
 */
function clientMetadata(body: unknown): string {
  const given = parse(body)
  const { redirect_uris: uris } = given
  const isNative = Array.isArray(uris) && uris.some((uri) => !isWebUrl(String(uri)))
  return JSON.stringify({
    ...Object.fromEntries(CLIENT_FIELDS.map((name) => [name, shorten(given[name])])),
    // The library refuses a registration without redirect URIs.
    redirect_uris: isStorable(uris) ? uris : [],
    application_type: isNative ? 'native' : 'web',
    token_endpoint_auth_method: 'none',
  })
}

/** A list without its duplicates, whose values the library knows, or the beginning of a text. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value)]
  return typeof value === 'string' ? value.slice(0, MAX_CLIENT_NAME_LENGTH) : value
}

function isStorable(uris: unknown): boolean {
  if (!Array.isArray(uris) || uris.length > MAX_REDIRECT_URIS) return false
  return uris.every((uri) => typeof uri === 'string' && uri.length <= MAX_REDIRECT_URI_LENGTH)
}

function isWebUrl(uri: string): boolean {
  return URL.canParse(uri) && new URL(uri).protocol === 'https:' && !isLoopbackUrl(uri)
}

function parse(body: unknown): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(String(body))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
