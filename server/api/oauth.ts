import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Response as InjectedResponse } from 'light-my-request'
import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { DEVICE_GRANT_TYPE } from '../../protocol/api/device.ts'
import { PROGRAM_SCOPES } from '../../protocol/api/programs.ts'
import type { Branding } from '../../protocol/branding.ts'
import { OAUTH_ROUTES, PROGRAM_GRANT_TYPES } from '../accounts/oauth/authorization-server.ts'
import { acceptsHtml } from '../edge/respond/negotiation.ts'
import type { ErrorPages } from '../edge/respond/pages/error-pages.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import type { Services } from '../services.ts'
import { sendPage } from '../web/pages.ts'
import { charge } from './auth.ts'
import { readBody } from './bodies.ts'
import { readAuthorizationCookie } from './cookies.ts'
import { RESOURCE_METADATA_PATH, RESOURCE_PATHS, unifyResources } from './mcp/resource.ts'
import { authorizeDevice, exchangeDevice, refuse } from './oauth/device.ts'
import { readRegistration } from './oauth/registration.ts'
import { hasCode, isOwnRedirect, renderProblem, renderReturn } from './oauth/return-page.ts'
import { preflight } from './unrouted.ts'

/** RFC 8414. */
const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server'

const MAX_BODY_BYTES = 16 * 1024

const RESPONSE_MODE = 'query'

const MAX_CONCURRENT_REQUESTS = { total: 64, perKey: 8 }

interface OAuthOptions extends Pick<Services, 'baseUrl' | 'programs' | 'deviceSignIns' | 'limits'> {
  branding: Branding
  pages: ErrorPages
}

interface Forwarded {
  target: string
  payload?: string
}

type Forward = (request: FastifyRequest, forwarded: Forwarded) => Promise<InjectedResponse>

type Respond = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The metadata of the server, and the requests that the library handles. */
export async function oauth(app: FastifyInstance, options: OAuthOptions): Promise<void> {
  const { baseUrl } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) =>
    (await readBody(request, payload)).toString(),
  )
  const open = { charge: 'none', access: 'public', auth: 'optional' } as const
  const documents = [
    ...RESOURCE_PATHS.map(
      (path) => [RESOURCE_METADATA_PATH + path, resourceMetadata(path, options)] as const,
    ),
    [SERVER_METADATA_PATH, serverMetadata(baseUrl)] as const,
  ]
  for (const [url, document] of documents) app.get(url, { config: open }, () => document)
  // What strangers may call, and what does more than to read a constant.
  const limited = { charge: 'sign-in', access: 'public', auth: 'optional' } as const
  const forward = forwarder(options)
  const limiter = new ConcurrencyLimiter(MAX_CONCURRENT_REQUESTS)
  const { authorization, registration, token, revocation, device_authorization: device } = OAUTH_ROUTES
  const resumption = `${authorization}/:uid`
  for (const [method, url, config, respond] of [
    ['GET', authorization, limited, authorize(forward, options)],
    ['GET', resumption, limited, authorize(forward, options)],
    ['POST', registration, limited, register(forward)],
    ['POST', token, { ...open, charge: 'handler' }, exchange(forward, options)],
    ['POST', revocation, limited, relay(forward)],
    ['POST', device, limited, (request, reply) => authorizeDevice(options, request, reply)],
  ] as [method: 'GET' | 'POST', url: string, config: FastifyContextConfig, respond: Respond][])
    app.route({
      ...{ method, url, bodyLimit: MAX_BODY_BYTES, config },
      handler: (request, reply) =>
        limiter.run(rateLimitSubnet(request.caller.address), () => respond(request, reply)),
    })
  for (const [url, allow] of [
    ...documents.map(([url]) => [url, 'GET, HEAD'] as const),
    ...[registration, token, revocation, device].map((url) => [url, 'POST'] as const),
  ])
    app.options(url, { config: open }, (_, reply) => preflight(reply, allow))
}

/** RFC 9728, section 3.3: `resource` is the URL from which the path of the document follows. */
function resourceMetadata(path: string, { baseUrl, branding }: OAuthOptions): object {
  return {
    resource: baseUrl + path,
    resource_name: branding.name,
    authorization_servers: [baseUrl],
    scopes_supported: PROGRAM_SCOPES,
    bearer_methods_supported: ['header'],
    resource_documentation: `${baseUrl}/docs/agents`,
  }
}

/** RFC 8414, section 2. The metadata of the library names parts of OpenID, too. */
function serverMetadata(baseUrl: string): object {
  const { authorization, registration, token, revocation, device_authorization: device } = OAUTH_ROUTES
  return {
    issuer: baseUrl,
    authorization_endpoint: baseUrl + authorization,
    token_endpoint: baseUrl + token,
    registration_endpoint: baseUrl + registration,
    revocation_endpoint: baseUrl + revocation,
    device_authorization_endpoint: baseUrl + device,
    scopes_supported: PROGRAM_SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: [RESPONSE_MODE],
    grant_types_supported: PROGRAM_GRANT_TYPES,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${baseUrl}/docs/agents`,
  }
}

/** Sends requests to the library with the headers that it needs, and the base URL in place of what clients sent. */
function forwarder({ baseUrl, programs }: OAuthOptions): Forward {
  const { host, protocol } = new URL(baseUrl)
  return async ({ method, headers }, { target, payload }) => {
    const { inject } = await import('light-my-request')
    const { handle } = await programs.server()
    const { 'content-type': type, accept, cookie } = headers
    return inject(handle, {
      method: method as 'GET',
      url: target,
      headers: {
        host,
        'x-forwarded-proto': protocol.slice(0, -1),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(accept === undefined ? {} : { accept }),
        ...(cookie === undefined ? {} : { cookie }),
      },
      ...(payload === undefined ? {} : { payload }),
    })
  }
}

function relay(forward: Forward): Respond {
  return async (request, reply) => send(reply, await forward(request, toForwarded(request)))
}

/** Shows a page in place of a redirect or an error that is not for the browser. */
function authorize(forward: Forward, { baseUrl, pages }: OAuthOptions): Respond {
  /** `problem` begins with its code. A program that does not accept HTML gets the fields of RFC 6749, 5.2. */
  const sendProblem = (request: FastifyRequest, reply: FastifyReply, problem: string) => {
    if (acceptsHtml(request.headers.accept ?? '')) return sendPage(reply, renderProblem(pages, problem))
    const [error, ...description] = problem.split(': ')
    return reply
      .code(400)
      .header('Cache-Control', 'no-store')
      .send({ error, error_description: description.join(': ') })
  }
  return async (request, reply) => {
    const isBeginning = request.routeOptions.url === OAUTH_ROUTES.authorization
    // The cookie of the library for this path can be set by a neighboring site; that with the prefix cannot.
    const { uid } = request.params as { uid?: string }
    if (!isBeginning && readAuthorizationCookie(request, baseUrl) !== uid)
      return sendProblem(request, reply, 'invalid_request: it has expired, or began in another browser')
    const target = isBeginning ? authorizationTarget(request, baseUrl) : toForwarded(request).target
    const response = await forward(request, { target })
    const { location, 'set-cookie': cookies = [] } = response.headers
    if (location === undefined)
      return sendProblem(request, reply.header('Set-Cookie', cookies), response.payload)
    if (isOwnRedirect(location) || (!isBeginning && hasCode(location))) return send(reply, response)
    return sendPage(reply.header('Set-Cookie', cookies), renderReturn(pages, location))
  }
}

function register(forward: Forward): Respond {
  return async (request, reply) => {
    const registration = readRegistration(request.body)
    if ('error' in registration) return refuse(reply, registration)
    return send(reply, await forward(request, { ...toForwarded(request), payload: registration.metadata }))
  }
}

/** Each use of a refresh token adds records to those of its account, so it is charged. */
function exchange(forward: Forward, options: OAuthOptions): Respond {
  const { baseUrl, programs, limits } = options
  return async (request, reply) => {
    const parameters = new URLSearchParams(String(request.body))
    if (parameters.get('grant_type') === DEVICE_GRANT_TYPE) return exchangeDevice(options, request, reply)
    request.caller.account = await programs.findOwner(parameters)
    await charge(limits, request, reply)
    unifyResources(parameters, baseUrl)
    return send(reply, await forward(request, { ...toForwarded(request), payload: parameters.toString() }))
  }
}

/** Ignores other scopes (RFC 6749, section 3.3). A program that names none asks for all: the user sees and decides. */
function authorizationTarget({ url: target }: FastifyRequest, baseUrl: string): string {
  const url = new URL(target, 'http://localhost')
  const { searchParams: parameters } = url
  const asked = (parameters.get('scope') ?? '').split(' ')
  const known = PROGRAM_SCOPES.filter((scope) => asked.includes(scope))
  parameters.set('scope', (known.length > 0 ? known : PROGRAM_SCOPES).join(' '))
  unifyResources(parameters, baseUrl)
  // The library has more modes than the metadata names, and refuses unknown ones.
  if ((parameters.get('response_mode') ?? RESPONSE_MODE) !== RESPONSE_MODE)
    parameters.set('response_mode', 'unsupported')
  return url.pathname + url.search
}

/** The route takes no query. */
function toForwarded({ url, body }: FastifyRequest): Forwarded {
  const target = url.split('?', 1)[0]!
  return typeof body === 'string' ? { target, payload: body } : { target }
}

function send(reply: FastifyReply, { statusCode, headers, rawPayload }: InjectedResponse): FastifyReply {
  const { connection: _, 'transfer-encoding': __, date: ___, ...kept } = headers
  return reply
    .code(statusCode)
    .headers({ 'Cache-Control': 'no-store', ...kept })
    .send(rawPayload)
}
