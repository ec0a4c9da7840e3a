import type { FastifyRequest } from 'fastify'
import { ApiError } from '../lib/errors.ts'

/** Names the path without a final slash, where known. Routes of administrators have the same error for others. */
export function unknownEndpoint(
  { originalUrl }: FastifyRequest,
  isKnown: (path: string) => boolean = () => false,
): ApiError {
  const path = originalUrl.split('?', 1)[0]!
  const url = path.slice(0, -1)
  const hint =
    path.endsWith('/') && isKnown(url)
      ? `Use ${url}, without the final slash.`
      : 'Check the path. /api/openapi.json lists the endpoints, and /llms.txt has instructions.'
  return new ApiError('NOT_FOUND', 'Unknown endpoint. See /docs.', { hint })
}
