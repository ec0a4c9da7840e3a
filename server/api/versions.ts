import type { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { requireCallerAccount } from './auth.ts'
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

/** Returns a version as tar.gz. */
export function archive({ versions }: VersionServices): RouteHandlerMethod {
  return async (request, reply) => {
    const { versionId } = request.query as { versionId?: string }
    const found = await versions.tar(requireCallerAccount(request), readSlug(request), versionId)
    setSafeHeaders(reply, `${readSlug(request)}.tar.gz`)
    reply.type('application/gzip')
    const zipped = createGzip({ level: 5 })
    found.on('error', (error) => zipped.destroy(error))
    zipped.on('close', () => found.destroy())
    return sendBytes(request, reply, found.pipe(zipped))
  }
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
