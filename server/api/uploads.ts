import type { RouteHandlerMethod } from 'fastify'
import { Failure } from '../failure.ts'
import { UPLOAD_PATH } from '../upload.ts'
import type { Rooms } from './rooms.ts'

/** Spec 4.6: the bytes flow from the socket to the blobs; Fastify's parsers leave them alone. */
export function receive({
  publishing,
  uploadsAtOnce,
}: Pick<Rooms, 'publishing' | 'uploadsAtOnce'>): RouteHandlerMethod {
  let underWay = 0
  return async (request) => {
    if (underWay >= uploadsAtOnce) {
      throw new Failure('UNAVAILABLE', 'Too many uploads at the same time; try again shortly', {
        retryAfterSeconds: 1,
      })
    }
    underWay++
    try {
      const length = request.headers['content-length']
      return await publishing.upload(
        request.url.split('?', 1)[0]!.slice(UPLOAD_PATH.length),
        request.query as { token?: string; ct?: string; exp?: string },
        request.raw,
        {
          contentType: request.headers['content-type'],
          length: length === undefined ? undefined : Number(length),
        },
      )
    } finally {
      underWay--
    }
  }
}
