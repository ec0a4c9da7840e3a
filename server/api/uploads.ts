import type { FastifyRequest } from 'fastify'
import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import { ApiError } from '../lib/errors.ts'
import type { UploadQuery } from '../publish/signed-uploads.ts'
import type { Services } from '../services.ts'
import type { Handlers } from './route.ts'

/** Spec 4.6: the bytes stream from the socket to the blobs. A bundle counts as one upload. */
export function uploadHandlers({
  publishService,
  uploadLimiter,
}: Pick<Services, 'publishService' | 'uploadLimiter'>) {
  return {
    uploadFile: ({ request, caller }) => {
      const key = request.url.split('?', 1)[0]!.slice(UPLOAD_PATH.length)
      const query = readUploadQuery(request)
      return uploadLimiter.run(rateLimitSubnet(caller.address), () =>
        publishService.upload(key, query, request.raw, readUploadHeaders(request)),
      )
    },
    uploadBundle: ({ request, caller, params }) => {
      const query = readUploadQuery(request)
      return uploadLimiter.run(rateLimitSubnet(caller.address), () =>
        publishService.uploadBundle(params, query, request.raw, readUploadHeaders(request)),
      )
    },
  } satisfies Partial<Handlers>
}

/** `SignedUploadUrls` checks the signature; here that each field is present once. */
function readUploadQuery({ validationError, query }: FastifyRequest): UploadQuery {
  if (validationError)
    throw new ApiError(
      'INVALID_UPLOAD_TOKEN',
      'The query of the upload URL is incomplete, or has a parameter twice',
    )
  return query as UploadQuery
}

function readUploadHeaders({ headers }: FastifyRequest): {
  contentType: string | undefined
  contentLength: number | undefined
} {
  const length = headers['content-length']
  return {
    contentType: headers['content-type'],
    contentLength: length === undefined ? undefined : Number(length),
  }
}
