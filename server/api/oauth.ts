import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Response as InjectedResponse } from 'light-my-request'
import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { DEVICE_GRANT_TYPE } from '../../protocol/api/device.ts'
import { PROGRAM_SCOPES, widestScope } from '../../protocol/api/programs.ts'
import type { Branding } from '../../protocol/branding.ts'
import { isLoopbackUrl } from '../../protocol/loopback.ts'
import { NAME_RULE } from '../accounts/named-keys.ts'
import { OAUTH_ROUTES, PROGRAM_GRANT_TYPES } from '../accounts/oauth/authorization-server.ts'
import { isRedirectUri, type OAuthProblem } from '../accounts/oauth/clients.ts'
import { programName, returnTarget } from '../accounts/oauth/programs.ts'
import { acceptsHtml } from '../edge/respond/negotiation.ts'
import type { ErrorPages } from '../edge/respond/pages/error-pages.ts'
import type { EdgeResponse } from '../edge/response.ts'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import { ApiError } from '../lib/errors.ts'
import { html } from '../lib/html.ts'
import { parseJsonObject } from '../lib/json-object.ts'
import { readParameters } from '../lib/parameters.ts'
import { encodeFields, hashToken } from '../lib/tokens.ts'
import type { Services } from '../services.ts'
import { sendPage } from '../web/pages.ts'
import { charge } from './auth.ts'
import { readBody } from './bodies.ts'
import { readAuthorizationCookie } from './cookies.ts'
import { RESOURCE_METADATA_PATH, RESOURCE_PATHS, unifyResources } from './mcp/resource.ts'
import { answerPreflights } from './unrouted.ts'

/** RFC 8414. */
const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server'

const MAX_BODY_BYTES = 16 * 1024

const RESPONSE_MODE = 'query'

const MAX_CONCURRENT_REQUESTS = { total: 64, perKey: 8 }

interface OAuthOptions
  extends Pick<Services, 'baseUrl' | 'programs' | 'deviceSignIns' | 'limits' | 'credentialLookups'> {
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
    answerPreflights(app, url, () => allow)
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
  const { baseUrl, programs, limits, credentialLookups } = options
  return async (request, reply) => {
    const parameters = readParameters(String(request.body))
    if (parameters.get('grant_type') === DEVICE_GRANT_TYPE) return exchangeDevice(options, request, reply)
    const find = () => programs.findOwner(parameters)
    const isUnknown = (owner: unknown) => owner === undefined
    const key = hashToken(String(request.body))
    const { caller } = request
    caller.account = await credentialLookups.run(key, caller.address, find, isUnknown)
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

const MAX_REDIRECT_URIS = 10
const MAX_REDIRECT_URI_LENGTH = 512

/**
 * What the library gets, or why the registration is refused; nothing is fetched. Programs are public clients: a secret
 * that is in many programs proves nothing. Grant and response types are replaced by those that exist (RFC 7591, 2).
 */
function readRegistration(body: unknown): { metadata: string } | OAuthProblem {
  const given = parseJsonObject(String(body))
  if (!given) return { error: 'invalid_client_metadata', error_description: 'the body must be a JSON object' }
  const { client_name: name, redirect_uris: uris = [], grant_types: grants } = given
  const named = PROGRAM_GRANT_TYPES.filter((type) => Array.isArray(grants) && grants.includes(type))
  const types = named.length > 0 ? named : PROGRAM_GRANT_TYPES
  const redirects = types.includes('authorization_code') || (Array.isArray(uris) && uris.length > 0)
  const problem = redirects ? findProblem(uris) : undefined
  if (problem) return { error: 'invalid_redirect_uri', error_description: `redirect_uris ${problem}` }
  return {
    metadata: JSON.stringify({
      client_name: programName(name),
      redirect_uris: redirects ? uris : [],
      response_types: redirects ? ['code'] : [],
      grant_types: types,
      application_type: 'native',
      token_endpoint_auth_method: 'none',
    }),
  }
}

function findProblem(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECT_URIS)
    return `must have 1 to ${MAX_REDIRECT_URIS} URIs`
  if (!uris.every((uri) => typeof uri === 'string' && uri.length <= MAX_REDIRECT_URI_LENGTH))
    return `must be strings of at most ${MAX_REDIRECT_URI_LENGTH} characters`
  const invalid = uris.find((uri) => !isRedirectUri(uri))
  if (invalid === undefined) return undefined
  return `has ${invalid}: expected https, http on a loopback address, or a scheme of the program followed by a slash, and no error in the query`
}

type DeviceServices = Pick<Services, 'deviceSignIns' | 'programs' | 'limits' | 'credentialLookups'>

/** RFC 8628, section 3.1. */
async function authorizeDevice(
  { deviceSignIns, programs }: DeviceServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const form = readForm(request, ['client_id'])
  if ('error' in form) return refuse(reply, form)
  const { client_id: clientId = '', scope = '', machine } = form.fields
  const client = await programs.findClient(clientId)
  if (!client) return refuse(reply, UNKNOWN_CLIENT)
  if (!client.grantTypes.includes(DEVICE_GRANT_TYPE)) return refuse(reply, UNAUTHORIZED_CLIENT)
  try {
    const codes = await deviceSignIns.start({
      clientId,
      program: client.name,
      machine: machine ?? client.name,
      scope: widestScope(scope) ?? PROGRAM_SCOPES.at(-1)!,
      address: request.caller.address,
    })
    return reply.send(codes)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) throw error
    return refuse(reply, { error: 'invalid_request', error_description: `machine ${NAME_RULE}` })
  }
}

/** RFC 8628, section 3.4. A poll in time is not charged: a sign-in takes many. */
async function exchangeDevice(
  { deviceSignIns, limits, credentialLookups }: DeviceServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const chargePoll = () => charge(limits, request, reply, 'sign-in')
  const form = readForm(request, ['client_id', 'device_code'])
  if ('error' in form) {
    await chargePoll()
    return refuse(reply, form)
  }
  const { client_id: clientId = '', device_code: deviceCode = '' } = form.fields
  const exchange = () => deviceSignIns.exchange({ clientId, deviceCode }, chargePoll)
  const isUnknown = (found: object) => 'error' in found && found.error === 'expired_token'
  const key = hashToken(encodeFields([clientId, deviceCode]))
  const result = await credentialLookups.run(key, request.caller.address, exchange, isUnknown)
  return 'error' in result ? refuse(reply, result) : reply.send(result)
}

/** RFC 6749, section 3.2: each parameter at most once, and `required` ones with a value. */
function readForm(
  { headers, body }: FastifyRequest,
  required: readonly string[],
): { fields: Record<string, string | undefined> } | OAuthProblem {
  const { 'content-type': type = '' } = headers
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    return invalidRequest('the body must be application/x-www-form-urlencoded')
  const parameters = [...readParameters(String(body))]
  const fields = Object.fromEntries(parameters)
  if (Object.keys(fields).length < parameters.length) return invalidRequest('a parameter is repeated')
  const missing = required.find((name) => !fields[name])
  return missing === undefined ? { fields } : invalidRequest(`${missing} is required`)
}

const UNKNOWN_CLIENT: OAuthProblem = {
  error: 'invalid_client',
  error_description: 'client_id is unknown; register at the registration_endpoint',
}

const UNAUTHORIZED_CLIENT: OAuthProblem = {
  error: 'unauthorized_client',
  error_description: 'the registration does not list the grant type of devices',
}

function invalidRequest(description: string): OAuthProblem {
  return { error: 'invalid_request', error_description: description }
}

/** RFC 6749, section 5.2. */
function refuse(reply: FastifyReply, problem: OAuthProblem): FastifyReply {
  return reply.code(problem.error === 'invalid_client' ? 401 : 400).send(problem)
}

/** The address of the page is a part of a request for access. */
const HEADERS = ['Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex']

/** Whether a redirect leads to a page of the service, or to this device. */
function isOwnRedirect(location: string): boolean {
  return /^\/(?!\/)/.test(location) || (/^https?:/i.test(location) && isLoopbackUrl(location))
}

/** Whether a redirect has the code of an access that its user has allowed. */
function hasCode(location: string): boolean {
  const { searchParams } = new URL(location)
  return searchParams.has('code') && !searchParams.has('error')
}

/** In place of a redirect to an address that a stranger has registered: the user decides (RFC 9700, 4.11.2). */
function renderReturn(pages: ErrorPages, location: string): EdgeResponse {
  const { searchParams, hash } = new URL(location)
  const parameters = new URLSearchParams([...searchParams, ...new URLSearchParams(hash.slice(1))])
  const target = returnTarget(location)
  const program = html`The program at <strong>${target}</strong>`
  const content =
    parameters.get('error') === 'access_denied'
      ? html`<h1>Access denied</h1>
<p>${program} got no access to your account. Return to it?</p>`
      : html`<h1>Invalid request</h1>
<p>${program} sent an invalid request. Return to it?</p>
<p>${parameters.get('error') ?? ''}: ${parameters.get('error_description') ?? ''}</p>`
  return render(
    pages,
    html`${content}
<p><a href="${location}" rel="noreferrer">Return to ${target}</a></p>`,
  )
}

function renderProblem(pages: ErrorPages, problem: string): EdgeResponse {
  return render(
    pages,
    html`<h1>Invalid request</h1>
<p>The program sent a request that cannot be answered. Return to it and connect again.</p>
<p>${problem}</p>`,
  )
}

function render(pages: ErrorPages, main: ReturnType<typeof html>): EdgeResponse {
  return pages.render({ status: 400, language: 'en', title: 'Connect a program', main, headers: HEADERS })
}
