import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { network } from '../limits/limits.ts'
import { type Bundle, UPLOAD_PATH, type UploadQuery } from '../upload.ts'
import type { Rooms } from './rooms.ts'

/** Spec 4.6: the bytes flow from the socket to the blobs; Fastify's parsers leave them alone. */
export function receive({ publishing, uploads }: Pick<Rooms, 'publishing' | 'uploads'>): RouteHandlerMethod {
  return (request) => {
    const key = request.url.split('?', 1)[0]!.slice(UPLOAD_PATH.length)
    const query = request.query as UploadQuery
    return uploads.take(network(request.caller.address), () =>
      publishing.upload(key, query, request.raw, said(request)),
    )
  }
}

/** Many files at once; for the share of uploads it is one. */
export function receiveBundle({
  publishing,
  uploads,
}: Pick<Rooms, 'publishing' | 'uploads'>): RouteHandlerMethod {
  return (request) => {
    const bundle = request.params as Bundle
    const query = request.query as UploadQuery
    return uploads.take(network(request.caller.address), () =>
      publishing.bundle(bundle, query, request.raw, said(request)),
    )
  }
}

function said({ headers }: FastifyRequest): { contentType: string | undefined; length: number | undefined } {
  const length = headers['content-length']
  return {
    contentType: headers['content-type'],
    length: length === undefined ? undefined : Number(length),
  }
}
