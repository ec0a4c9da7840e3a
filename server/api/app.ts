import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyRequest, type RouteOptions } from 'fastify'
import type { ClientMemory } from '../lib/client-memory.ts'
import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { TransferRates } from '../lib/transfer-rates.ts'
import { archiveKind } from '../publish/archive/archive.ts'
import { BUNDLE_CONTENT_TYPE } from '../publish/signed-uploads.ts'
import type { BuiltSite } from '../web/built-site.ts'
import type { ClientDownload } from '../web/client-download.ts'
import { notFoundPage, pages } from '../web/pages.ts'
import { admit } from './auth.ts'
import { accountBodies, readJson, reserveBody } from './bodies.ts'
import { cspReports } from './csp-reports.ts'
import { handleErrors } from './errors.ts'
import { assertFileCount } from './publish.ts'
import { type Route, routes } from './routes.ts'
import { errorResponse } from './schemas.ts'
import type { ApiServices } from './services.ts'
import { answerUnknown, handleUnrouted, knownMethods, readableUrl } from './unrouted.ts'

export interface ApiOptions extends ApiServices {
  baseUrl: string
  version: string
  /** Maximum size of a JSON body in bytes. */
  manifestBytes: number
  clientIp: (request: IncomingMessage) => string
  clientMemory: ClientMemory
  transferRates: TransferRates
  /** The dashboard and the API reference. */
  builtSite: BuiltSite
  clientDownload: ClientDownload
  clock: () => number
  log: Log
  /** Rejects while the service cannot work. */
  healthy: () => Promise<void>
}

/** Maximum size of a JSON body without a manifest, in bytes: it is read before a finalize is charged. */
const MAX_SMALL_BODY_BYTES = 32 * 1024

/**
 * What an archive or a bundle takes at most while it is read: the file or the part of the spool that is being gathered
 * (2 MiB) and small files that are being written (1 MiB).
 */
const ARCHIVE_MEMORY_BYTES = 3 * 2 ** 20

/** What an upload takes at most: a small file that is being gathered, or pieces of a large one. */
const UPLOAD_MEMORY_BYTES = 512 * 1024

/** More than the maximum size of Node's request head. */
const MAX_URL_LENGTH = 64 * 1024

/** Responses other than JSON in the OpenAPI document: a publisher's bytes, and event streams. */
const STREAMS = {
  bytes: { description: 'The bytes', content: { '*/*': { schema: {} } } },
  events: { description: 'Events, one after the other', content: { 'text/event-stream': { schema: {} } } },
}

/** Builds the API of spec 4 with its documents and pages. It does not listen: `routing` handles requests. */
export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: options.manifestBytes,
    rewriteUrl: readableUrl,
    routerOptions: { maxParamLength: MAX_URL_LENGTH, ignoreTrailingSlash: false },
    exposeHeadRoutes: true,
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
  await app.register(swagger, { openapi: openApiHead(options) })
  // A route has the parsers, hooks and error handler that are registered before it; routes come last. A request passes
  // the hooks by phase, and within a phase in this order:
  //   onRequest      `logRequests` sets the request id, which a refused request has too; then `admit` authenticates
  //                  and charges, so that a refused request costs no memory
  //   preParsing     `accountBodies` accounts for the memory and the rate of the body, before it is read
  //   preValidation  `assertFileCount` bounds the number of files before a manifest is validated
  //   onResponse     `logRequests` writes the line
  // A body is parsed only where a route takes one: everything else is answered before its body is read.
  app.removeAllContentTypeParsers()
  accountBodies(app, options)
  handleErrors(app, options)
  logRequests(app, options.log)
  // Sees the routes that are added after it.
  const allowed = knownMethods(app)
  app.get('/health', { schema: { hide: true } }, () => health(options.healthy))
  await app.register(pages, options)
  await app.register(cspReports, options)
  await app.register(async (api) => {
    parsers(api)
    admit(api, options)
    const table = routes(options)
    for (const route of table) if (!route.bytes) api.route(routeOptions(route))
    await api.register(async (raw) => {
      untouchedBodies(raw)
      for (const route of table) if (route.bytes) raw.route(routeOptions(route))
    })
    api.get('/api/openapi.json', { schema: { hide: true }, config: { charge: 'none', auth: 'none' } }, () =>
      app.swagger(),
    )
    handleUnrouted(api, [...table, { url: '/api/openapi.json', method: 'GET' }])
  })
  app.setNotFoundHandler(answerUnknown(allowed, notFoundPage(options.builtSite)))
  await app.ready()
  return app
}

function routeOptions(route: Route): RouteOptions {
  const [status, shape] = route.answer
  const ownRules = route.archives === true || route.charge === 'handler'
  return {
    method: route.method,
    url: route.url,
    attachValidation: ownRules,
    ...(route.archives ? {} : { bodyLimit: MAX_SMALL_BODY_BYTES }),
    ...(route.archives ? { preValidation: assertFileCount } : {}),
    config: { charge: route.charge ?? 'api', auth: route.auth ?? 'required' },
    schema: {
      tags: [route.tag],
      summary: route.summary,
      ...(route.archives
        ? { consumes: ['application/json', 'application/zip', 'application/x-tar', 'application/gzip'] }
        : {}),
      ...(route.auth ? { security: route.auth === 'none' ? [] : [{ key: [] }, {}] } : {}),
      ...(route.body ? { body: route.body } : {}),
      ...(route.query ? { querystring: route.query } : {}),
      ...(route.headers ? { headers: route.headers } : {}),
      response: {
        [status]: typeof shape === 'string' ? STREAMS[shape] : shape,
        '4xx': errorResponse,
        '5xx': errorResponse,
      },
    },
    handler: route.handle,
  } as RouteOptions
}

/** Parses JSON; the bodies of archives stay streams for their handlers. */
function parsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', readJson)
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type = 'a body without a Content-Type' } = request.headers
    if (!takesArchive(request)) throw unsupportedType(request, type)
    reserveBody(request, ARCHIVE_MEMORY_BYTES)
    return payload
  })
}

function takesArchive(request: FastifyRequest): boolean {
  return acceptedTypes(request).length > 1 && archiveKind(request.headers['content-type']) !== undefined
}

/** The Content-Types that a route accepts. */
function acceptedTypes({ routeOptions: { schema } }: FastifyRequest): readonly string[] {
  return (schema as { consumes?: string[] } | undefined)?.consumes ?? ['application/json']
}

function unsupportedType(request: FastifyRequest, type: string): ApiError {
  const accepted = acceptedTypes(request)
    .join(', ')
    .replace(/, ([^,]+)$/, ' or $1')
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', `This call accepts ${accepted}, not ${type}`)
}

/**
 * Leaves the body of an upload in its stream, whatever its Content-Type. A tar may be a bundle, which takes more
 * memory.
 */
function untouchedBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type, 'content-length': length = Number.POSITIVE_INFINITY } = request.headers
    const maxBytes =
      type?.trim().toLowerCase() === BUNDLE_CONTENT_TYPE ? ARCHIVE_MEMORY_BYTES : UPLOAD_MEMORY_BYTES
    reserveBody(request, Math.min(Number(length), maxBytes))
    return payload
  })
}

async function health(healthy: () => Promise<void>): Promise<{ status: 'ok' }> {
  await healthy()
  return { status: 'ok' }
}

/**
 * Logs one line per request, without the query, which may contain tokens. Uploads and pages only at level
 * debug.
 */
function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    const isDebug = !request.url.startsWith('/api/') || request.url.startsWith('/api/v1/_upload/')
    log[isDebug ? 'debug' : 'info']('request', {
      request: request.id,
      method: request.method,
      path: request.url.split('?', 1)[0],
      status: reply.statusCode,
      milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      account: request.caller?.account?.id,
    })
  })
}

function openApiHead({ baseUrl, version }: Pick<ApiOptions, 'baseUrl' | 'version'>) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Slipway',
      version,
      description: 'Publish static sites: send a manifest, upload to signed addresses, finalize, live.',
    },
    servers: [{ url: baseUrl }],
    security: [{ key: [] }],
    components: {
      securitySchemes: {
        key: {
          type: 'http' as const,
          scheme: 'bearer',
          description: 'An API key: sl_live_ and 32 hex characters',
        },
      },
    },
  }
}
