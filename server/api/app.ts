import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyRequest, type RouteOptions } from 'fastify'
import type { PageSettings } from '../../client/wire/page-settings.ts'
import { archiveKind } from '../archive/archive.ts'
import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import { admit } from './admission.ts'
import { cspReports } from './csp-reports.ts'
import { answerFailures } from './failures.ts'
import { notFoundPage, pages } from './pages.ts'
import { refuseTooMany } from './publish.ts'
import type { Rooms } from './rooms.ts'
import { type Route, routes } from './routes.ts'
import { errorAnswer } from './schemas.ts'
import { answerUnrouted, readableAddress } from './unrouted.ts'

export interface ApiOptions extends Rooms {
  baseUrl: string
  version: string
  /** Largest JSON body in bytes. */
  manifestBytes: number
  addressOf: (request: IncomingMessage) => string
  /** What the pages know before they ask. */
  page: PageSettings
  /** Where sites are: see `PagesOptions`. */
  sitesAddress: string
  clock: () => number
  log: Log
  /** Rejects while the service cannot do its work. */
  healthy: () => Promise<void>
}

/** Bytes that a JSON body may have where no manifest belongs: it is taken in before a finalize is charged. */
const SMALL_BODY = 32 * 1024

/** More than Node takes of a request before its body. */
const LONGEST_ADDRESS = 64 * 1024

/** Answers that are no JSON, in the document: a publisher's bytes, and events as they come. */
const STREAMS = {
  bytes: { description: 'The bytes', content: { '*/*': { schema: {} } } },
  events: { description: 'Events, one after the other', content: { 'text/event-stream': { schema: {} } } },
}

/** Door 1: the API of spec 4 with its documents, and the pages for people. Not listening: `routing` takes requests. */
export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: options.manifestBytes,
    rewriteUrl: readableAddress,
    routerOptions: { maxParamLength: LONGEST_ADDRESS, ignoreTrailingSlash: false },
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
  answerFailures(app, options.log)
  logRequests(app, options.log)
  app.get('/health', { schema: { hide: true } }, () => health(options.healthy))
  const { page: settings, sitesAddress: sites } = options
  await app.register(pages, { settings, sites, openapi: () => app.swagger() })
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
    answerUnrouted(api, [...table, { url: '/api/openapi.json', method: 'GET' }])
  })
  app.setNotFoundHandler(notFoundPage({ sites }))
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
    ...(route.archives ? {} : { bodyLimit: SMALL_BODY }),
    ...(route.archives ? { preValidation: refuseTooMany } : {}),
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
      response: {
        [status]: typeof shape === 'string' ? STREAMS[shape] : shape,
        '4xx': errorAnswer,
        '5xx': errorAnswer,
      },
    },
    handler: route.handle,
  } as RouteOptions
}

/** JSON where it is JSON; the bytes of archives are left in the stream for their handlers. */
function parsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => {
    if (body === '') return done(null, undefined)
    try {
      done(null, JSON.parse(body as string))
    } catch {
      done(new Failure('INVALID_JSON', 'The body is not valid JSON'), undefined)
    }
  })
  app.addContentTypeParser('*', (request, payload, done) => {
    if (takesArchive(request)) return done(null, payload)
    const { 'content-type': type = 'a body without a Content-Type' } = request.headers
    done(new Failure('UNSUPPORTED_MEDIA_TYPE', `This takes application/json, not ${type}`), undefined)
  })
}

function takesArchive(request: FastifyRequest): boolean {
  const { schema } = request.routeOptions
  const archives = (schema as { consumes?: string[] } | undefined)?.consumes !== undefined
  return archives && archiveKind(request.headers['content-type']) !== undefined
}

/** An uploaded file is bytes even when it calls itself JSON. */
function untouchedBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_, payload, done) => done(null, payload))
}

async function health(healthy: () => Promise<void>): Promise<{ status: 'ok' }> {
  await healthy()
  return { status: 'ok' }
}

/** One line a request, without the query: it may hold tokens. Uploads and pages only at level debug. */
function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    const quiet = !request.url.startsWith('/api/') || request.url.startsWith('/api/v1/_upload/')
    log[quiet ? 'debug' : 'info']('request', {
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
