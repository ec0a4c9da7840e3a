import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { PageSettings } from '../../protocol/api/page-settings.ts'
import { ApiError } from '../lib/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import { compressPage, type Page, send } from './page.ts'
import { PAGE_PATHS } from './page-paths.ts'

export interface PagesOptions {
  settings: PageSettings
  /** The CSP source of sites: `https://*.{site_domain}`. */
  sites: string
  /** The OpenAPI document from which `/docs` is rendered, on first use. */
  openapi: () => object
}

/** Output of `npm run build` for `dashboard/`. */
const DIST_FOLDER = join(import.meta.dirname, '../../dashboard/dist')

const HTML_TYPE = 'text/html; charset=utf-8'

const ASSET_TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

const IMMUTABLE_CACHE_CONTROL = 'public, max-age=31536000, immutable'

/** The service's HTML pages. Each is loaded on first use, so that the start does not wait for it. */
export async function pages(app: FastifyInstance, options: PagesOptions): Promise<void> {
  const headers = headersFor(options.sites)
  const dashboard = remembered(async () =>
    compressPage(HTML_TYPE, withSettings(await text('index.html'), options.settings)),
  )
  for (const url of PAGE_PATHS) serve(app, url, headers, dashboard)
  serve(
    app,
    '/docs',
    headers,
    remembered(async () => compressPage(HTML_TYPE, await reference(options.openapi()))),
  )
  serve(app, '/favicon.svg', headers, asset('favicon.svg'))
  await assets(app, headers)
}

/** The 404 page. */
export function notFoundPage({ sites }: Pick<PagesOptions, 'sites'>): RouteHandlerMethod {
  const headers = headersFor(sites)
  const page = remembered(async () => compressPage(HTML_TYPE, await text('not-found.html')))
  return async (request, reply) => send(request, reply.code(404).headers(headers), await page())
}

/**
 * Allows only our own files, nothing inline, and frames of sites. No referrer: the URL of the claim page
 * contains a secret.
 */
function headersFor(sites: string): Record<string, string> {
  return {
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' ${sites}`,
      "connect-src 'self'",
      "worker-src 'self'",
      `frame-src ${sites}`,
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      'report-uri /_reports/csp',
    ].join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
}

/** Embeds the settings into the head, so that the page needs no request for them. */
function withSettings(html: string, settings: PageSettings): string {
  const tag = `<meta name="slipway" content="${escapeHtml(JSON.stringify(settings))}">`
  return html
    .replaceAll('{base_url}', () => escapeHtml(settings.baseUrl))
    .replace('</head>', () => `${tag}</head>`)
}

async function reference(openapi: object): Promise<string> {
  const { referenceContent } = await import('./reference.ts')
  const html = await text('reference.html')
  return html.replace('<!-- reference -->', () => referenceContent(openapi))
}

/** Files with their content hash in the name. */
async function assets(app: FastifyInstance, headers: Record<string, string>): Promise<void> {
  const pages = new Map<string, () => Promise<Page>>()
  app.route({
    method: ['GET', 'HEAD'],
    url: '/assets/:name',
    schema: { hide: true },
    handler: async (request, reply) => {
      const name = `assets/${(request.params as { name: string }).name}`
      if (!(await built()).has(name)) return reply.callNotFound()
      const page = pages.get(name) ?? asset(name)
      pages.set(name, page)
      return send(
        request,
        reply.headers(headers).header('Cache-Control', IMMUTABLE_CACHE_CONTROL),
        await page(),
      )
    },
  })
}

function serve(
  app: FastifyInstance,
  url: string,
  headers: Record<string, string>,
  page: () => Promise<Page>,
): void {
  app.route({
    method: ['GET', 'HEAD'],
    url,
    schema: { hide: true },
    handler: async (request: FastifyRequest, reply: FastifyReply) =>
      send(request, reply.headers(headers), await page()),
  })
}

function asset(name: string): () => Promise<Page> {
  return remembered(async () => {
    const body = (await built()).get(name)!
    return compressPage(
      ASSET_TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
      body,
    )
  })
}

async function text(name: string): Promise<string> {
  return String((await built()).get(name))
}

/** Loaded all at once: a later build must not be mixed with it. */
const built = remembered(async () => {
  if (!existsSync(DIST_FOLDER))
    throw new ApiError('UNAVAILABLE', 'The web pages are not built; npm run build makes them')
  const entries = await readdir(DIST_FOLDER, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = names.map(async (name) => [name.slice(DIST_FOLDER.length + 1), await readFile(name)] as const)
  return new Map(await Promise.all(files))
})

/** Memoizes `make`; a failure is not cached. */
function remembered<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
