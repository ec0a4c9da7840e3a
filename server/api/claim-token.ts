import type { FastifyRequest } from 'fastify'

/** Takes the place of `claimToken` in a body or query: proxies log addresses, but not headers. */
export const CLAIM_TOKEN_HEADER = 'x-slipway-claim-token'

/** The request with the claim token of its header, where it has one. */
export function withClaimToken<T extends { claimToken?: string | undefined }>(
  { headers }: FastifyRequest,
  request: T,
): T {
  const claimToken = headers[CLAIM_TOKEN_HEADER]
  return typeof claimToken === 'string' ? { ...request, claimToken } : request
}
