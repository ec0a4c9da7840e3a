import type { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'
import { slugOf } from './sites.ts'

type Needs = Pick<Rooms, 'versions'>

export function list({ versions }: Needs): RouteHandlerMethod {
  return (request) => versions.list(accountOf(request), slugOf(request))
}

export function details({ versions }: Needs): RouteHandlerMethod {
  return (request) => versions.details(accountOf(request), slugOf(request), versionIdOf(request))
}

export function restore({ versions }: Needs): RouteHandlerMethod {
  return (request) => versions.restore(accountOf(request), slugOf(request), versionIdOf(request))
}

export function remove({ versions }: Needs): RouteHandlerMethod {
  return (request) => versions.remove(accountOf(request), slugOf(request), versionIdOf(request))
}

/** One file back. The bytes are the publisher's: they must not act as a page of this service. */
export function file({ versions }: Needs): RouteHandlerMethod {
  return async (request, reply) => {
    const { '*': path } = request.params as { '*': string }
    const { versionId } = request.query as { versionId?: string }
    const found = await versions.file(accountOf(request), slugOf(request), path, versionId)
    harmless(reply, path.split('/').at(-1)!)
    reply.header('Content-Length', found.size).header('ETag', `"${found.hash}"`).type(found.contentType)
    return sendBytes(request, reply, found.body)
  }
}

/** A version back as tar.gz. */
export function archive({ versions }: Needs): RouteHandlerMethod {
  return async (request, reply) => {
    const { versionId } = request.query as { versionId?: string }
    const found = await versions.tar(accountOf(request), slugOf(request), versionId)
    harmless(reply, `${slugOf(request)}.tar.gz`)
    reply.type('application/gzip')
    const zipped = createGzip({ level: 5 })
    found.on('error', (error) => zipped.destroy(error))
    zipped.on('close', () => found.destroy())
    return sendBytes(request, reply, found.pipe(zipped))
  }
}

/**
 * Sends a stream and lets go of it however the exchange ends. The framework would read it to its end for a HEAD, and
 * forget it when the client has left by now; a file that nobody closes ends the process when it is collected.
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

function harmless(reply: FastifyReply, name: string): void {
  reply
    .header('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
    .header('Content-Security-Policy', "default-src 'none'; sandbox")
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'private, no-store')
}

function versionIdOf(request: FastifyRequest): string {
  return (request.params as { versionId: string }).versionId
}
