import type { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { ApiError } from '../lib/errors.ts'
import type { ThumbnailTarget } from '../sites/thumbnails.ts'
import { charge, requireCallerAccount } from './auth.ts'
import { readBody } from './bodies.ts'
import { withClaimToken } from './claim-token.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

type VersionServices = Pick<ApiServices, 'versions'>

export function list({ versions }: VersionServices): RouteHandlerMethod {
  return (request) => versions.list(requireCallerAccount(request), readSlug(request))
}

export function details({ versions }: VersionServices): RouteHandlerMethod {
  return (request) =>
    versions.details(requireCallerAccount(request), readSlug(request), readVersionId(request))
}

export function restore({ versions }: VersionServices): RouteHandlerMethod {
  return (request) =>
    versions.restore(requireCallerAccount(request), readSlug(request), readVersionId(request))
}

export function remove({ versions }: VersionServices): RouteHandlerMethod {
  return (request) =>
    versions.remove(requireCallerAccount(request), readSlug(request), readVersionId(request))
}

export function createPreviewLink({ previewLinks }: Pick<ApiServices, 'previewLinks'>): RouteHandlerMethod {
  return (request) => {
    const { versionId } = request.query as { versionId?: string }
    return previewLinks.create(requireCallerAccount(request), readSlug(request), versionId)
  }
}

/** See `Thumbnails` for the charges. */
export function putThumbnail({
  thumbnails,
  limits,
}: Pick<ApiServices, 'thumbnails' | 'limits'>): RouteHandlerMethod {
  return async (request, reply) => {
    const chargeOne = () => charge(limits, request, reply)
    const type = request.headers['content-type']?.trim().toLowerCase()
    const bytes = await readThumbnail(request, type).catch(async (error: unknown) => {
      await chargeOne()
      throw error
    })
    const target: ThumbnailTarget = { slug: readSlug(request), versionId: readVersionId(request) }
    return thumbnails.put(request.caller, withClaimToken(request, target), bytes, chargeOne)
  }
}

/** The address contains a hash of the picture, so that browsers can keep it. */
export function thumbnail({ thumbnails }: Pick<ApiServices, 'thumbnails'>): RouteHandlerMethod {
  return async (request, reply) => {
    const target = { slug: readSlug(request), versionId: readVersionId(request) }
    const bytes = await thumbnails.get(request.caller, target)
    setSafeHeaders(reply, 'thumbnail.webp')
    reply.header('Cache-Control', 'private, max-age=604800')
    return reply.type('image/webp').send(bytes)
  }
}

async function readThumbnail(request: FastifyRequest, type: string | undefined): Promise<Buffer> {
  if (type !== 'image/webp')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'A thumbnail must have Content-Type: image/webp')
  const bytes = await readBody(request, request.raw)
  await request.confirmCaller()
  return bytes
}

/** Returns one file. The bytes are the publisher's: they must not act as a page of this service. */
export function file({ versions }: VersionServices): RouteHandlerMethod {
  return async (request, reply) => {
    const { '*': path } = request.params as { '*': string }
    const { versionId } = request.query as { versionId?: string }
    const found = await versions.file(requireCallerAccount(request), readSlug(request), path, versionId)
    setSafeHeaders(reply, path.split('/').at(-1)!)
    reply.header('Content-Length', found.size).header('ETag', `"${found.hash}"`).type(found.contentType)
    return sendBytes(request, reply, found.body)
  }
}

/** Returns a version as tar.gz, or as zip. */
export function archive({ versions }: VersionServices): RouteHandlerMethod {
  return async (request, reply) => {
    const { versionId, format } = request.query as { versionId?: string; format?: 'zip' }
    const [account, slug] = [requireCallerAccount(request), readSlug(request)]
    const found = await versions.archive(account, slug, format ?? 'tar', versionId)
    setSafeHeaders(reply, `${slug}.${format ?? 'tar.gz'}`)
    reply.type(format ? 'application/zip' : 'application/gzip')
    return sendBytes(request, reply, format ? found : gzip(found))
  }
}

/** The stream, compressed; destroys it when destroyed. */
function gzip(stream: Readable): Readable {
  const compressed = createGzip({ level: 5 })
  stream.on('error', (error) => compressed.destroy(error))
  compressed.on('close', () => stream.destroy())
  return stream.pipe(compressed)
}

/**
 * Sends a stream and destroys it however the exchange ends. The framework would read it to its end for a
 * HEAD, and leak it when the client has disconnected; an unclosed file handle ends the process when it is
 * collected.
 */
function sendBytes(request: FastifyRequest, reply: FastifyReply, body: Readable): FastifyReply {
  if (reply.raw.destroyed) {
    body.destroy()
    return reply.hijack()
  }
  if (request.method === 'HEAD') body.destroy()
  else reply.raw.once('close', () => body.destroy())
  return reply.send(body)
}

function setSafeHeaders(reply: FastifyReply, name: string): void {
  reply
    .header('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
    .header('Content-Security-Policy', "default-src 'none'; sandbox")
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'private, no-store')
}

function readVersionId(request: FastifyRequest): string {
  return (request.params as { versionId: string }).versionId
}
