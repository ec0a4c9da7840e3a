import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { http } from '../../packages/http-server/node-http.ts'
import { PATHS } from '../../protocol/api/paths.ts'
import { CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'
import { REVIEW_TOKEN_HEADER } from '../../protocol/api/reviews.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import { PUBLISH_HINT } from '../web/pages.ts'
import { CLIENT_HEADER } from './auth.ts'
import { unknownEndpoint } from './errors.ts'

/** Of requests from other origins: those of the API and of the Model Context Protocol. */
const ALLOWED_HEADERS = `Authorization, Content-Type, ${CLAIM_TOKEN_HEADER}, ${REVIEW_TOKEN_HEADER}, ${CLIENT_HEADER}, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id`

/** The methods of a path, as `Allow` lists them; undefined for an unknown path. */
export type MethodLookup = (request: Pick<FastifyRequest, 'url'>) => string | undefined

interface KnownRoute {
  url: string
  method: string
}

const API_PREFIX_PATTERN = '/api/*'

/**
 * 405 with `Allow` when the path is in the table, otherwise 404, both before a body is read; and preflights from any
 * origin, also for routes of the table outside the API, whose other methods `elsewhere` knows. The table has no routes
 * of administrators: strangers do not see them.
 */
export function handleUnrouted(
  app: FastifyInstance,
  table: readonly KnownRoute[],
  elsewhere: MethodLookup,
): void {
  const allowed = allowedIn([...table, ...table.map(({ url }) => ({ url, method: 'OPTIONS' }))])
  const isKnown = (url: string) => allowed({ url }) !== undefined
  for (const method of http.METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
  }
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'OPTIONS'),
    url: API_PREFIX_PATTERN,
    config: { access: 'any', auth: 'optional' },
    onRequest: async (request, reply) => {
      const allow = allowed(request)
      throw allow === undefined ? unknownEndpoint(request, isKnown) : methodError(request, reply, allow)
    },
    handler: () => undefined,
  })
  answerPreflights(app, API_PREFIX_PATTERN, (request) => {
    const allow = allowed(request)
    if (allow === undefined) throw unknownEndpoint(request, isKnown)
    return allow
  })
  for (const { url, method } of table)
    if (!url.startsWith('/api/')) answerPreflights(app, url, (request) => elsewhere(request) ?? method)
}

/** The methods of the routes that are added to `app` after this call, except those of the API. */
export function knownMethods(app: FastifyInstance): MethodLookup {
  const table: KnownRoute[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // Every path of one segment accepts a direct upload, which does not make it known.
    if (!url.startsWith('/api/') && `PUT ${url}` !== PATHS.uploadVersion)
      table.push(...[method].flat().map((one) => ({ url, method: one })))
  })
  let allowed: MethodLookup | undefined
  return (request) => {
    allowed ??= allowedIn(table)
    return allowed(request)
  }
}

/** A path with nothing that browsers read as another host once its slashes are single. */
const PLAIN_PATH = /^[\w.~%/-]+(?=\?|$)/

/**
 * Answers requests outside the API that no route takes, without their bodies: a redirect to single slashes or to the
 * page without a final one, 405 with `Allow`, or `notFound`.
 */
export function answerUnknown(allowed: MethodLookup, notFound: RouteHandlerMethod): RouteHandlerMethod {
  return function (request, reply) {
    const [path = ''] = PLAIN_PATH.exec(request.url) ?? []
    const single = path.replace(/\/+/g, '/')
    const page = single.replace(/(?<=.)\/$/, '')
    const usual = allowed({ url: page }) === undefined ? single : page
    if (usual !== path && isSafe(request)) return reply.redirect(usual + request.url.slice(path.length), 308)
    const allow = allowed(request)
    if (allow !== undefined && !allow.split(', ').includes(request.method)) {
      throw methodError(request, reply, allow)
    }
    return notFound.call(this, request, reply)
  }
}

/** Requests that change nothing. A program may not follow a redirect of others, or not say that it was one. */
export function isSafe({ method }: Pick<IncomingMessage, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD'
}

function allowedIn(table: readonly KnownRoute[]): MethodLookup {
  const known = [...Map.groupBy(table, (route) => route.url)].map(([url, rows]) => ({
    pattern: toPathPattern(url),
    allow: [...new Set(rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(
      ', ',
    ),
  }))
  return ({ url }) => {
    const path = url.split('?', 1)[0]!
    return known.find(({ pattern }) => pattern.test(path))?.allow
  }
}

/** `:name` is one segment, `*` everything. */
function toPathPattern(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment === '*') return '.*'
    return segment.startsWith(':') ? '[^/]+' : segment.replaceAll('.', '\\.')
  })
  return new RegExp(`^${segments.join('/')}$`)
}

export function methodError(
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
  reply: FastifyReply,
  allow: string,
): ApiError {
  reply.header('Allow', allow)
  const usable = allow.split(', ').filter((one) => one !== 'OPTIONS')
  const sentence = `Method ${method} not allowed. Use ${formatAlternatives(usable)}.`
  const hint = url.split('?', 1)[0] === '/' ? PUBLISH_HINT : undefined
  return new ApiError('METHOD_NOT_ALLOWED', sentence, { hint })
}

/** Lets pages of any origin send requests, before a body is read. */
export function answerPreflights(
  app: FastifyInstance,
  url: string,
  allowed: (request: FastifyRequest) => string,
): void {
  app.options(url, {
    config: { charge: 'none', access: 'public' },
    onRequest: async (request, reply) => {
      const allow = allowed(request)
      return reply
        .code(204)
        .header('Allow', allow)
        .header('Access-Control-Allow-Methods', allow)
        .header('Access-Control-Allow-Headers', ALLOWED_HEADERS)
        .header('Access-Control-Max-Age', 86_400)
        .send()
    },
    handler: () => undefined,
  })
}
