import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { escapeHtml } from '../html.ts'

interface PagesOptions {
  baseUrl: string
  /** The document that `/docs` is made of; asked for when somebody reads it first. */
  openapi: () => object
}

const FOLDER = new URL('../../dashboard/', import.meta.url)

const HTML = 'text/html; charset=utf-8'

/** Nothing but our own files, nothing inline. No referrer: the address of the claim page holds a secret. */
const HEADERS = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

/** The pages for people. Each is read or made when it is first asked for, so that the start does not wait for it. */
export async function pages(app: FastifyInstance, { baseUrl, openapi }: PagesOptions): Promise<void> {
  serve(app, '/', HTML, async () => (await file('index.html')).replaceAll('{base_url}', escapeHtml(baseUrl)))
  serve(app, '/claim', HTML, () => file('claim.html'))
  serve(app, '/claim.js', 'text/javascript; charset=utf-8', () => file('claim.js'))
  serve(app, '/style.css', 'text/css; charset=utf-8', () => file('style.css'))
  serve(app, '/favicon.svg', 'image/svg+xml', () => file('favicon.svg'))
  serve(app, '/docs', HTML, async () => (await import('./reference.ts')).referencePage(openapi()))
}

/** Answers an address that leads nowhere, for people. */
export async function notFoundPage(reply: FastifyReply): Promise<FastifyReply> {
  return reply
    .code(404)
    .headers(HEADERS)
    .type(HTML)
    .send(await file('not-found.html'))
}

function serve(app: FastifyInstance, url: string, type: string, make: () => Promise<string>): void {
  let made: Promise<Page> | undefined
  const page = () => {
    made ??= make().then(pageOf)
    made.catch(() => {
      made = undefined
    })
    return made
  }
  app.route({
    method: ['GET', 'HEAD'],
    url,
    schema: { hide: true },
    handler: async (request, reply) => answer(request, reply.type(type), await page()),
  })
}

interface Page {
  body: Buffer
  etag: string
}

function pageOf(text: string): Page {
  const body = Buffer.from(text)
  return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` }
}

function answer(request: FastifyRequest, reply: FastifyReply, { body, etag }: Page): FastifyReply {
  reply.headers(HEADERS).header('ETag', etag)
  return knows(request, etag) ? reply.code(304).send() : reply.send(body)
}

/** RFC 9110, 13.1.2. */
function knows({ headers }: FastifyRequest, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags?.some((tag) => tag === etag || tag === '*') ?? false
}

function file(name: string): Promise<string> {
  return readFile(new URL(name, FOLDER), 'utf8')
}
