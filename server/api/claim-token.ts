import type { FastifyRequest } from 'fastify'
import { CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'

export function withClaimToken<T extends { claimToken?: string | undefined }>(
  { headers }: FastifyRequest,
  request: T,
): T {
  const claimToken = headers[CLAIM_TOKEN_HEADER]
  return typeof claimToken === 'string' ? { ...request, claimToken } : request
}
