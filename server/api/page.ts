import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A page or a file of the service itself, ready to be sent. */
export interface Page {
  type: string
  plain: Buffer
  /** Smaller forms of it. */
  br: Buffer
  gzip: Buffer
  etag: string
}

const FORMS = ['br', 'gzip'] as const

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

export async function pageOf(type: string, body: Buffer | string): Promise<Page> {
  const plain = Buffer.from(body)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  const [br, gzipped] = await Promise.all([brotli(plain, { params }), zip(plain, { level: 9 })])
  return { type, plain, br, gzip: gzipped, etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"` }
}

/**
 * Sends it in the smallest form that is accepted, or 304 to whoever has that (RFC 9110, 12.5.3 and 13.1.2). Each form has an
 * ETag of its own (8.8.3.3).
 */
export function send(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
  const encoding = FORMS.find((name) => accepts(request, name) && page[name].length < page.plain.length)
  const etag = encoding ? page.etag.replace(/"$/, `-${encoding}"`) : page.etag
  reply.type(page.type).header('ETag', etag).header('Vary', 'Accept-Encoding')
  if (knows(request, etag) && reply.statusCode === 200) return reply.code(304).send()
  return encoding ? reply.header('Content-Encoding', encoding).send(page[encoding]) : reply.send(page.plain)
}

/** Whether an encoding is named and not refused. */
function accepts({ headers }: FastifyRequest, encoding: string): boolean {
  const named = String(headers['accept-encoding'] ?? '').split(',')
  return named.some((part) => {
    const [name, ...parameters] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}

function knows({ headers }: FastifyRequest, etag: string): boolean {
  const tags = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags?.some((tag) => tag === etag || tag === '*') ?? false
}
