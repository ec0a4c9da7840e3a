import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'
import { slugOf } from './sites.ts'

type Needs = Pick<Rooms, 'versions'>

export function list({ versions }: Needs): RouteHandlerMethod {
  return (request) => versions.list(accountOf(request), slugOf(request))
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
    return reply.send(found.body)
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
    return reply.send(found.pipe(zipped))
  }
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
