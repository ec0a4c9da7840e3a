import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import type { HttpRequest, RequestHeaders } from '../../packages/http-server/http-handler.ts'
import { LOGO_PATH } from '../../protocol/branding.ts'
import { CLIENT_PACKAGE_PATH } from '../../protocol/client-package.ts'
import { PAGE_PATHS } from '../../protocol/page-paths.ts'
import type { ErrorPages } from '../edge/respond/pages/error-pages.ts'
import type { EdgeResponse } from '../edge/response.ts'
import { ApiError } from '../lib/errors.ts'
import { prefersMarkdown, prefersText, SERVICE_LINKS } from './agent-files.ts'
import type { BuiltSite } from './built-site.ts'
import { type ClientDownload, SCRIPT_NAMES } from './client-download.ts'
import { type PageResponse, type StaticFile, toPageResponse } from './static-file.ts'

/** Icons for all platforms and the picture of link previews, from `dashboard/public/`. */
export const ICON_FILES = [
  'favicon.svg',
  'favicon.ico',
  'apple-touch-icon.png',
  'icon-192.png',
  'icon-512.png',
  'card.png',
  'site.webmanifest',
] as const

/** Paths that programs and people try, with those of the documents. */
const REDIRECTS = {
  '/openapi': '/api/openapi.json',
  '/openapi.json': '/api/openapi.json',
  '/api': '/docs/api',
  '/_slipway/report': '/report',
  '/docs/index.md': '/llms.txt',
}

/** For requests to the address of the server and to unknown paths outside the API. */
export const PUBLISH_HINT = 'To publish, send POST /api/v1/publish, or PUT / with an archive or an HTML page.'

/** Of responses that differ by the accepted type. */
const NEGOTIATED = { Vary: 'Accept, Accept-Encoding' }

export interface PageOptions {
  builtSite: BuiltSite
  clientDownload: ClientDownload
  agentFiles: ReadonlyMap<string, StaticFile>
}

interface RoutedResponse extends PageResponse {
  headers?: Record<string, string>
}

type FindResponse = (
  request: Pick<HttpRequest, 'headers' | 'isHead'>,
  params: unknown,
) => Promise<RoutedResponse | undefined>

/** Routes the service's own pages to the files of the built site, and the client to its package. */
export async function pages(
  app: FastifyInstance,
  { builtSite, clientDownload, agentFiles }: PageOptions,
): Promise<void> {
  const serve = (url: string, findResponse: FindResponse) =>
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: async ({ headers, method, params }, reply) => {
        const request = { headers: headers as RequestHeaders, isHead: method === 'HEAD' }
        const found = await findResponse(request, params)
        return found ? sendPage(reply, found.response, found) : reply.callNotFound()
      },
    })
  const serveFile = (url: string, name: string) =>
    serve(url, (request) => builtSite.findResponse(name, request))
  for (const url of Object.values(PAGE_PATHS))
    if (url !== '/') serveFile(url, url === PAGE_PATHS.review ? 'review.html' : 'index.html')
  for (const [url, file] of agentFiles) {
    if (url !== '/' && url !== '/docs') serve(url, async (request) => toPageResponse(file, request))
  }
  serve('/', async (request) => {
    const found = prefersText(request.headers)
      ? toPageResponse(agentFiles.get('/')!, request)
      : await builtSite.findResponse('front.html', request)
    return found && { ...found, headers: { Link: SERVICE_LINKS, ...NEGOTIATED } }
  })
  for (const [url, target] of Object.entries(REDIRECTS))
    app.get(url, (_, reply) => reply.redirect(target, 308))
  for (const [url, name] of [
    ['/docs', 'docs/index.html'],
    ['/docs/api', 'docs/api.html'],
  ] as const) {
    serve(url, async (request) => {
      const found = prefersMarkdown(request.headers)
        ? toPageResponse(agentFiles.get('/docs')!, request)
        : await builtSite.findResponse(name, request)
      return found && { ...found, headers: NEGOTIATED }
    })
  }
  serveFile('/llms-full.txt', 'docs/llms-full.txt')
  serveFile('/docs/search.json', 'docs/search.json')
  serve('/docs/:guide', async (request, params) => {
    const { guide } = params as { guide: string }
    if (guide.endsWith('.md')) return builtSite.findResponse(`docs/${guide}`, request)
    const type = prefersMarkdown(request.headers) ? 'md' : 'html'
    const found = await builtSite.findResponse(`docs/${guide}.${type}`, request)
    return found && { ...found, headers: NEGOTIATED }
  })
  serve(LOGO_PATH, async (request) => builtSite.findLogo(request))
  for (const name of ICON_FILES) serveFile(`/${name}`, name)
  serve('/assets/:name', (request, params) =>
    builtSite.findResponse(`assets/${(params as { name: string }).name}`, request),
  )
  serve(CLIENT_PACKAGE_PATH, async (request) => toPageResponse(await clientDownload.getPackage(), request))
  for (const name of SCRIPT_NAMES)
    serve(`/${name}`, async (request) => toPageResponse(await clientDownload.getScript(name), request))
}

/** A page in the visitor's language to callers that ask for HTML, otherwise an error of the API. */
export function notFoundPage(pages: ErrorPages): RouteHandlerMethod {
  return async ({ headers }, reply) => {
    if (!headers.accept?.includes('text/html')) {
      reply.header('Vary', 'Accept')
      throw new ApiError('NOT_FOUND', 'Unknown path. See /docs for the API.', { hint: PUBLISH_HINT })
    }
    return sendPage(reply, pages.pageNotFound.for(headers))
  }
}

export function sendPage(
  reply: FastifyReply,
  response: EdgeResponse,
  { body = response.body, headers: added = {} }: Partial<Omit<RoutedResponse, 'response'>> = {},
): FastifyReply {
  const { headers, status } = response
  reply.code(status)
  for (let at = 0; at < headers.length; at += 2) reply.header(headers[at]!, headers[at + 1])
  return reply.headers(added).send(body)
}
