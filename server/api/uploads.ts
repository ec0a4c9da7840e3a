import type { RouteHandlerMethod } from 'fastify'
import { network } from '../limits/limits.ts'
import { UPLOAD_PATH } from '../upload.ts'
import type { Rooms } from './rooms.ts'

/** Spec 4.6: the bytes flow from the socket to the blobs; Fastify's parsers leave them alone. */
export function receive({ publishing, uploads }: Pick<Rooms, 'publishing' | 'uploads'>): RouteHandlerMethod {
  return (request) => {
    const length = request.headers['content-length']
    const key = request.url.split('?', 1)[0]!.slice(UPLOAD_PATH.length)
    const query = request.query as { token?: string; ct?: string; exp?: string }
    return uploads.take(network(request.caller.address), () =>
      publishing.upload(key, query, request.raw, {
        contentType: request.headers['content-type'],
        length: length === undefined ? undefined : Number(length),
      }),
    )
  }
}
