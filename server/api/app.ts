import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import Fastify, {
  type FastifyInstance,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteOptions,
} from 'fastify'
import { readForwardedFor } from '../../packages/http-server/clients/client-ip.ts'
import type { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import type { TransferRates } from '../../packages/http-server/clients/transfer-rates.ts'
import { BANNER_HEADER, encodeBanner } from '../../protocol/api/banner.ts'
import { errorResponse } from '../../protocol/api/errors.schema.ts'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import { ARCHIVE_TYPES } from '../../protocol/api/publish.ts'
import type { Schema } from '../../protocol/api/schema.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import { maskPath } from '../lib/log.ts'
import { PROBE_HEADER, type ProbeToken } from '../lib/probe-token.ts'
import { archiveKind } from '../publish/archive/archive.ts'
import { MAX_CONTENT_BYTES } from '../publish/archive/content.ts'
import { BUNDLE_CONTENT_TYPE } from '../publish/signed-uploads.ts'
import type { Services } from '../services.ts'
import { notFoundPage, type PageOptions, pages } from '../web/pages.ts'
import { admit, assertQuerySize } from './auth.ts'
import { ARCHIVE_MEMORY_BYTES, accountBodies, readJson, reserveBody } from './bodies.ts'
import { cspReports } from './csp-reports.ts'
import { handleErrors, RETRY_AFTER_SECONDS } from './errors.ts'
import { mcp } from './mcp/mcp.ts'
import { oauth } from './oauth.ts'
import { openApiDocument } from './openapi.ts'
import { assertManifestSize } from './publish.ts'
import { reportPage } from './report-page.ts'
import type { Route } from './route.ts'
import { routes } from './routes.ts'
import { followRenames } from './sites.ts'
import { statusPage } from './status-page.ts'
import { answerUnknown, handleUnrouted, isSafe, knownMethods, type MethodLookup } from './unrouted.ts'
import { unsubscribe } from './unsubscribe.ts'

export interface ApiOptions extends Services, PageOptions {
  siteDomain: string
  version: string
  manifestBytes: number
  clientIp: (request: IncomingMessage) => string
  clientMemory: ClientMemory
  transferRates: TransferRates
  /** Rejects while the database or the storage does not respond. */
  healthy: () => Promise<void>
  /** Rejects while the disk is too full for a publish. */
  hasSpace: () => Promise<void>
  /** 503 unless it is `ready`. */
  readiness: () => 'ready' | 'stopping' | 'disk-full'
  probeToken: ProbeToken
}

/** Read before a finalize is charged. */
const MAX_SMALL_BODY_BYTES = 32 * 1024

/** A small file that is being gathered, or pieces of a large one. */
const UPLOAD_MEMORY_BYTES = 512 * 1024

/** Base64 is longer than the contents by a third, and JSON escapes characters. */
const MAX_CONTENT_TEXT_BYTES = 1.5 * MAX_CONTENT_BYTES

/** More than the maximum size of Node's request head. */
const MAX_URL_LENGTH = 64 * 1024

/** Spec 4. Does not listen: `routing` handles requests. */
export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: options.manifestBytes,
    rewriteUrl: readableUrl,
    routerOptions: { maxParamLength: MAX_URL_LENGTH, ignoreTrailingSlash: false },
    exposeHeadRoutes: true,
    schemaController: LAZY_COMPILERS,
    ajv: {
      customOptions: {
        allErrors: true,
        verbose: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
      },
    },
  })
  // A route has the parsers, hooks and error handler that are registered before it; routes come last. A request passes
  // the hooks by phase, and within a phase in this order:
  //   onRequest      `logRequests` sets the request id, which a refused request has too; then `admit` authenticates and
  //                  charges, so that a refused request costs no memory; both ways `assertQuerySize`
  //   preParsing     `accountBodies` accounts for the memory and the rate of the body, before it is read
  //   preValidation  `assertManifestSize` bounds a manifest before it is validated
  //   preHandler     `followRenames` replaces a former slug in a path with one
  //   onResponse     `logRequests` writes the line
  // A body is parsed only where a route takes one: everything else is answered before its body is read.
  app.removeAllContentTypeParsers()
  accountBodies(app, options)
  handleErrors(app, options)
  logRequests(app, options)
  app.addHook('onRequest', async ({ url, routeOptions }) => {
    if (routeOptions.config?.access === undefined) assertQuerySize(url)
  })
  // Sees the routes that are added after it.
  const allowed = knownMethods(app)
  probes(app, options)
  await app.register(pages, options)
  await app.register(cspReports, options)
  await app.register(unsubscribe, options)
  await app.register(reportPage, options)
  await app.register(statusPage, options)
  const handle: RequestListener = (request, response) => app.routing(request, response)
  await app.register((api) => addRoutes(api, options, { handle, allowed }))
  app.setNotFoundHandler(answerUnknown(allowed, notFoundPage(options.pages)))
  await app.ready()
  return app
}

/** A path such as `/api/v1/publish/`, whose final slash the router would read as an empty slug. */
const EMPTY_NAME = /^\/api\/v1\/\w+\/(\?|$)/

/**
 * A program whose base URL ends with a slash sends paths that begin with two. A URL that is not percent-encoded UTF-8, or
 * ends before a name, is rewritten to an unknown path, for the 404 of the contract instead of the framework's error.
 */
function readableUrl({ url: given = '/', method }: Pick<IncomingMessage, 'url' | 'method'>): string {
  const single = given.replace(/^\/+/, '/')
  const url = single.startsWith('/api/') || !isSafe({ method }) ? single : given
  if (EMPTY_NAME.test(url)) return '/api/'
  try {
    decodeURIComponent(url.split('?', 1)[0]!)
    return url
  } catch {
    return url.startsWith('/api/') ? '/api/' : '/%25'
  }
}

/** `handle` handles a request to any route, and `allowed` knows the methods of those outside the API. */
async function addRoutes(
  api: FastifyInstance,
  options: ApiOptions,
  { handle, allowed }: { handle: RequestListener; allowed: MethodLookup },
): Promise<void> {
  parsers(api)
  sendBanner(api, options)
  admit(api, options)
  const table = routes(options)
  for (const route of table) if (!route.bytes) api.route(routeOptions(route, options))
  await api.register(async (raw) => {
    untouchedBodies(raw)
    for (const route of table) if (route.bytes) raw.route(routeOptions(route, options))
  })
  await api.register(oauth, options)
  await api.register(mcp, {
    ...options,
    routes: table,
    anonymousBodyLimit: options.manifestBytes + MAX_CONTENT_TEXT_BYTES,
    handle,
  })
  let document: object | undefined
  const describe = () => (document ??= openApiDocument(table, options))
  api.get('/api/openapi.json', { config: { charge: 'none', access: 'public' } }, describe)
  const known = table.filter(({ access }) => access !== 'admin')
  handleUnrouted(api, [...known, { url: '/api/openapi.json', method: 'GET' }], allowed)
}

function routeOptions(
  route: Route,
  services: Pick<Services, 'pendingVersions' | 'store'> & { manifestBytes: number },
): RouteOptions {
  const [, shape] = route.answer
  const { manifestBytes } = services
  const { charge = 'api', ends, access, auth = 'required', foreignPages } = route
  // The slug of a signed URL is signed, and `Finalizer` follows renames itself.
  const hasName =
    route.url.includes(':slug') && !route.url.startsWith(UPLOAD_PATH) && route.id !== 'finalizeVersion'
  const ownRules = route.archives === true || route.charge === 'handler' || route.bytes !== undefined
  return {
    method: route.method,
    url: route.url,
    attachValidation: ownRules,
    ...(route.archives
      ? {
          bodyLimit: manifestBytes + MAX_CONTENT_TEXT_BYTES,
          preValidation: assertManifestSize(services, manifestBytes),
        }
      : { bodyLimit: route.bodyLimit ?? MAX_SMALL_BODY_BYTES }),
    config: {
      ...{ charge, ends, access, auth, foreignPages },
      ...(route.archives ? { accepts: ARCHIVE_TYPES } : {}),
    },
    schema: {
      ...(route.body ? { body: route.archives ? withoutFiles(route.body) : route.body } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.headers ? { headers: route.headers } : {}),
      response: {
        ...(typeof shape === 'string' ? {} : { '2xx': shape }),
        '4xx': errorResponse,
        '5xx': errorResponse,
      },
    },
    ...(hasName && { preHandler: followRenames(services) }),
    handler: route.handle,
  } as RouteOptions
}

/** `validateManifest` checks the files completely, with better messages. */
function withoutFiles(body: Schema): Schema {
  return { ...body, properties: { ...(body.properties as object), files: {}, emptyFiles: {} } }
}

/** Also with errors, which a message about maintenance may explain. */
function sendBanner(app: FastifyInstance, { banners }: Pick<Services, 'banners'>): void {
  app.addHook('onRequest', async (_, reply) => {
    const banner = banners.current()
    if (banner) reply.header(BANNER_HEADER, encodeBanner(banner))
  })
}

/** The bodies of archives stay streams for their handlers. */
function parsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', readJson)
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type = '' } = request.headers
    if (!takesArchive(request)) throw unsupportedType(request, type)
    reserveBody(request, ARCHIVE_MEMORY_BYTES)
    return payload
  })
}

function takesArchive(request: FastifyRequest): boolean {
  return (
    request.routeOptions.config.accepts !== undefined &&
    archiveKind(request.headers['content-type']) !== undefined
  )
}

function unsupportedType({ routeOptions }: FastifyRequest, type: string): ApiError {
  const accepted = formatAlternatives(['application/json', ...(routeOptions.config.accepts ?? [])])
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', `Unsupported Content-Type "${type}". Use ${accepted}.`)
}

/** Leaves an archive in its stream, whatever its Content-Type. */
function untouchedBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type, 'content-length': length = Number.POSITIVE_INFINITY } = request.headers
    const isBundle = type?.trim().toLowerCase() === BUNDLE_CONTENT_TYPE
    if (request.routeOptions.config.accepts) reserveBody(request, ARCHIVE_MEMORY_BYTES)
    else reserveBody(request, Math.min(Number(length), isBundle ? ARCHIVE_MEMORY_BYTES : UPLOAD_MEMORY_BYTES))
    return payload
  })
}

function probes(
  app: FastifyInstance,
  options: Pick<ApiOptions, 'healthy' | 'readiness' | 'probeToken' | 'clock'>,
): void {
  const { healthy, readiness, probeToken, clock } = options
  app.get('/health', async ({ headers }) => {
    await healthy()
    return probeToken.isValid(headers[PROBE_HEADER], clock())
      ? { status: 'ok', forwardedFor: readForwardedFor({ headers }).length }
      : { status: 'ok' }
  })
  // Not an error of the API, which would be logged for each probe.
  app.get('/ready', (_, reply) => {
    const status = readiness()
    if (status !== 'ready') reply.code(503).header('Retry-After', RETRY_AFTER_SECONDS)
    return reply.send({ status })
  })
}

/** Logs one line per request, without the query, which may contain tokens. Uploads and pages only at level debug. */
function logRequests(
  app: FastifyInstance,
  { log, telemetry: { tracer } }: Pick<ApiOptions, 'log' | 'telemetry'>,
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
    const { url: route = '*' } = request.routeOptions
    tracer?.describe(`${request.method} ${route}`, { 'http.route': route, 'slipway.request_id': request.id })
  })
  app.addHook('onResponse', async (request, reply) => {
    const isDebug =
      (!request.url.startsWith('/api/') && request.method !== 'PUT') ||
      request.url.startsWith('/api/v1/_upload/')
    log[isDebug ? 'debug' : 'info']('request', {
      request: request.id,
      method: request.method,
      path: maskPath(request.url),
      status: reply.statusCode,
      milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      account: request.caller?.account?.id,
    })
  })
}

type CompilerFactory = (
  shared: unknown,
  options?: { customOptions?: object },
) => (route: { schema: unknown; httpPart?: string }) => Compiled

interface Compiled {
  (value: unknown): unknown
  errors?: unknown
}

const LAZY_COMPILERS = {
  compilersFactory: { buildValidator, buildSerializer },
} as NonNullable<FastifyServerOptions['schemaController']>

/** A query is text: its schema has the types that the text stands for, `true` or `5`, and handlers get the text. */
function buildValidator(...[shared, options = {}]: Parameters<CompilerFactory>): ReturnType<CompilerFactory> {
  const compiler = compileOnUse('@fastify/ajv-compiler', shared, options)
  const customOptions = { ...options.customOptions, coerceTypes: true }
  const ofText = compileOnUse('@fastify/ajv-compiler', shared, { ...options, customOptions })
  return (route) => {
    if (route.httpPart !== 'querystring') return compiler(route)
    const compiled = ofText(route)
    const run: Compiled = (query) => {
      // A validator that converts types changes the object that it gets.
      const values = { ...(query as object) }
      // The conversion of 1e400 gives Infinity, which is no number of JSON and is compared with no limit.
      const result = compiled(values) && compiled(values)
      run.errors = compiled.errors
      return result
    }
    return run
  }
}

function buildSerializer(...given: Parameters<CompilerFactory>): ReturnType<CompilerFactory> {
  return compileOnUse('@fastify/fast-json-stringify-compiler', ...given)
}

/** The compilers that Fastify itself would load. */
const requireFromFastify = createRequire(import.meta.resolve('fastify'))

/** Loads and compiles a schema at its first use: compiling all takes half a second of CPU time and 11 MB. */
function compileOnUse(name: string, ...given: Parameters<CompilerFactory>): ReturnType<CompilerFactory> {
  let compiler: ReturnType<CompilerFactory> | undefined
  return (route) => {
    let compiled: Compiled | undefined
    const run: Compiled = (value) => {
      compiler ??= (requireFromFastify(name)() as CompilerFactory)(...given)
      compiled ??= compiler(route)
      const result = compiled(value)
      // Fastify reads the errors of a value from the function that validated it.
      run.errors = compiled.errors
      return result
    }
    return run
  }
}
