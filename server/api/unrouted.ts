import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../failure.ts'

/** The methods that a request's path is known with, as `Allow` lists them; undefined for an unknown path. */
type Allowed = (request: FastifyRequest) => string | undefined

const EVERYTHING = '/api/*'

/**
 * Answers what no route of the table takes: 405 with `Allow` where the path is known and the method is not, 404
 * elsewhere, both before a body is read; and preflights from any origin.
 */
export function answerUnrouted(
  app: FastifyInstance,
  table: readonly { url: string; method: string }[],
): void {
  const allowed = allowedIn(table)
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
  }
  app.route({
    method: app.supportedMethods.filter((method) => method !== 'OPTIONS'),
    url: EVERYTHING,
    schema: { hide: true },
    config: { auth: 'optional' },
    onRequest: async (request, reply) => {
      throw refusal(request, reply, allowed(request))
    },
    handler: () => undefined,
  })
  app.options(EVERYTHING, {
    schema: { hide: true },
    config: { charge: 'none', auth: 'none' },
    onRequest: (request, reply) => preflight(reply, allowed(request)),
    handler: () => undefined,
  })
}

/**
 * The address under which a request is routed. One that is not percent-encoded UTF-8 names nothing, and is led to
 * where such addresses are answered like any other: the framework would do it in words of its own.
 */
export function readableAddress({ url = '/' }: { url?: string | undefined }): string {
  try {
    decodeURIComponent(url.split('?', 1)[0]!)
    return url
  } catch {
    return url.startsWith('/api/') ? '/api/' : '/%25'
  }
}

function allowedIn(table: readonly { url: string; method: string }[]): Allowed {
  const known = [...Map.groupBy(table, (route) => route.url)].map(([url, rows]) => ({
    pattern: new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`),
    allow: [...rows.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS'].join(
      ', ',
    ),
  }))
  return ({ url }) => {
    const path = url.split('?', 1)[0]!
    return known.find(({ pattern }) => pattern.test(path))?.allow
  }
}

function refusal({ method }: FastifyRequest, reply: FastifyReply, allow: string | undefined): Failure {
  if (allow === undefined) return new Failure('NOT_FOUND', 'There is no such route; /docs lists them all')
  reply.header('Allow', allow)
  return new Failure('METHOD_NOT_ALLOWED', `${method} is not known here; allowed: ${allow}`)
}

async function preflight(reply: FastifyReply, allow: string | undefined): Promise<FastifyReply> {
  if (allow === undefined) throw new Failure('NOT_FOUND', 'There is no such route; /docs lists them all')
  return reply
    .code(204)
    .header('Allow', allow)
    .header('Access-Control-Allow-Methods', allow)
    .header('Access-Control-Allow-Headers', 'Authorization, Content-Type')
    .header('Access-Control-Max-Age', 86_400)
    .send()
}
