import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ApiError } from '../lib/errors.ts'
import type { RequestHeaders } from '../net/http-handler.ts'
import type { BuiltSite, PageResponse } from './built-site.ts'

/** Every path of the dashboard; `dashboard/app/routes.tsx` maps them to pages. */
export const PAGE_PATHS = [
  '/',
  '/claim',
  '/sign-in',
  '/sites',
  '/sites/:slug',
  '/sites/:slug/:view',
  '/domains',
  '/account',
] as const

/** Routes the service's own pages to the files of the built site. */
export async function pages(app: FastifyInstance, { builtSite }: { builtSite: BuiltSite }): Promise<void> {
  const serve = (url: string, fileOf: (request: FastifyRequest) => string) =>
    app.route({
      method: ['GET', 'HEAD'],
      url,
      schema: { hide: true },
      handler: async (request, reply) => {
        const headers = request.headers as RequestHeaders
        const found = await builtSite.findResponse(fileOf(request), {
          headers,
          isHead: request.method === 'HEAD',
        })
        return found ? send(reply, found) : reply.callNotFound()
      },
    })
  for (const url of PAGE_PATHS) serve(url, () => 'index.html')
  serve('/docs', () => 'reference.html')
  serve('/favicon.svg', () => 'favicon.svg')
  serve('/assets/:name', ({ params }) => `assets/${(params as { name: string }).name}`)
}

/**
 * The response to an unknown path: a page to callers that ask for HTML, otherwise an error of the API. Preconditions
 * and ranges concern the requested path, where nothing is.
 */
export function notFoundPage(builtSite: BuiltSite): RouteHandlerMethod {
  return async ({ headers }, reply) => {
    if (!headers.accept?.includes('text/html')) {
      reply.header('Vary', 'Accept')
      throw new ApiError('NOT_FOUND', 'There is no such path; /docs lists the calls of the API')
    }
    const relevant = { 'accept-encoding': headers['accept-encoding'] }
    const found = await builtSite.findResponse('not-found.html', { headers: relevant })
    return send(reply, found!, 404)
  }
}

function send(reply: FastifyReply, { response, body }: PageResponse, status = response.status): FastifyReply {
  const { headers } = response
  reply.code(status)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at]!, headers[at + 1])
  return reply.send(body)
}
