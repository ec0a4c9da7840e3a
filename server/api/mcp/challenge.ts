import type { FastifyRequest } from 'fastify'
import { type ProgramScope, scopesUpTo } from '../../../protocol/api/programs.ts'
import { resourceMetadataUrl } from './resource.ts'

/** What a program asks for first, when no tool says more: its user allows deletion and domains when they are needed. */
const FIRST_SCOPE: ProgramScope = 'publish'

/**
 * `WWW-Authenticate` of a response that asks a program for a token with this scope (RFC 6750, section 3; RFC 9728, section
 * 5.1). Without `error`: `invalid_token` when the request had a token.
 */
export function challenge(
  { headers, routeOptions }: FastifyRequest,
  baseUrl: string,
  { scope = FIRST_SCOPE, error }: { scope?: ProgramScope | undefined; error?: 'insufficient_scope' } = {},
): string {
  const problem = error ?? (headers.authorization === undefined ? undefined : 'invalid_token')
  const metadata = resourceMetadataUrl(baseUrl, routeOptions.url!.replace(/\/$/, ''))
  return `Bearer ${problem ? `error="${problem}", ` : ''}scope="${scopesUpTo(scope)}", resource_metadata="${metadata}"`
}
