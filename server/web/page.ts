import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Coding, parseAcceptEncoding } from '../edge/respond/negotiation.ts'

/** A page or file of the service itself, ready to send. */
export interface Page {
  type: string
  plain: Buffer
  /** Its compressed encodings. */
  br: Buffer
  gzip: Buffer
  etag: string
}

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

export async function compressPage(type: string, body: Buffer | string): Promise<Page> {
  const plain = Buffer.from(body)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  const [br, gzipped] = await Promise.all([brotli(plain, { params }), zip(plain, { level: 9 })])
  return { type, plain, br, gzip: gzipped, etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"` }
}

/**
 * Sends the smallest accepted encoding, or 304 (RFC 9110, 12.5.3 and 13.1.2). Each encoding has its own ETag
 * (8.8.3.3).
 */
export function send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  const encoding = chooseEncoding(page, request.headers['accept-encoding'])
  const etag = encoding ? page.etag.replace(/"$/, `-${encoding}"`) : page.etag
  reply.type(page.type).header('ETag', etag).header('Vary', 'Accept-Encoding')
  if (matchesEtag(request, etag) && reply.statusCode === 200) return reply.code(304).send()
  return encoding ? reply.header('Content-Encoding', encoding).send(page[encoding]) : reply.send(page.plain)
}

/** The client's preferred encoding among those that are kept; undefined for the page as it is. */
function chooseEncoding(page: Page, acceptEncoding: string | string[] = ''): 'br' | 'gzip' | undefined {
  const isUsable = (coding: Coding) =>
    coding === 'identity' || (coding !== 'zstd' && page[coding].length < page.plain.length)
  const coding = parseAcceptEncoding(String(acceptEncoding)).find(isUsable)
  return coding === 'br' || coding === 'gzip' ? coding : undefined
}

function matchesEtag({ headers }: FastifyRequest, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags?.some((tag) => tag === etag || tag === '*') ?? false
}
