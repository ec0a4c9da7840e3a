import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import { CLIENT_PACKAGE_PATH } from '../../protocol/client-package.ts'
import { ApiError } from '../lib/errors.ts'
import type { HttpRequest, RequestHeaders } from '../net/http-handler.ts'
import type { BuiltSite } from './built-site.ts'
import type { ClientDownload } from './client-download.ts'
import type { PageResponse } from './static-file.ts'

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

interface PageOptions {
  builtSite: BuiltSite
  clientDownload: ClientDownload
}

type FindResponse = (
  request: Pick<HttpRequest, 'headers' | 'isHead'>,
  params: unknown,
) => Promise<PageResponse | undefined>

/** Routes the service's own pages to the files of the built site, and the client to its package. */
export async function pages(app: FastifyInstance, { builtSite, clientDownload }: PageOptions): Promise<void> {
  const serve = (url: string, findResponse: FindResponse) =>
    app.route({
      method: ['GET', 'HEAD'],
      url,
      schema: { hide: true },
      handler: async ({ headers, method, params }, reply) => {
        const request = { headers: headers as RequestHeaders, isHead: method === 'HEAD' }
        const found = await findResponse(request, params)
        return found ? send(reply, found) : reply.callNotFound()
      },
    })
  const serveFile = (url: string, name: string) =>
    serve(url, (request) => builtSite.findResponse(name, request))
  for (const url of PAGE_PATHS) serveFile(url, 'index.html')
  serveFile('/docs', 'reference.html')
  serveFile('/favicon.svg', 'favicon.svg')
  serve('/assets/:name', (request, params) =>
    builtSite.findResponse(`assets/${(params as { name: string }).name}`, request),
  )
  serve(CLIENT_PACKAGE_PATH, (request) => clientDownload.getPackage(request))
  serve('/install.sh', (request) => clientDownload.getInstallScript(request))
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
