import { PROGRAM_GRANT_TYPES } from '../../accounts/oauth/authorization-server.ts'
import type { OAuthProblem } from '../../accounts/oauth/oauth-problem.ts'
import { programName } from '../../accounts/oauth/programs.ts'
import { isRedirectUri } from '../../accounts/oauth/redirect-uri.ts'

const MAX_REDIRECT_URIS = 10
const MAX_REDIRECT_URI_LENGTH = 512

/**
 * What the library gets, or why the registration is refused; nothing is fetched. Programs are public clients: a secret
 * that is in many programs proves nothing. Grant and response types are replaced by those that exist (RFC 7591, 2).
 */
export function readRegistration(body: unknown): { metadata: string } | OAuthProblem {
  const given = parse(body)
  if (!given) return { error: 'invalid_client_metadata', error_description: 'the body must be a JSON object' }
  const { client_name: name, redirect_uris: uris = [], grant_types: grants } = given
  const named = PROGRAM_GRANT_TYPES.filter((type) => Array.isArray(grants) && grants.includes(type))
  const types = named.length > 0 ? named : PROGRAM_GRANT_TYPES
  const redirects = types.includes('authorization_code') || (Array.isArray(uris) && uris.length > 0)
  const problem = redirects ? findProblem(uris) : undefined
  if (problem) return { error: 'invalid_redirect_uri', error_description: `redirect_uris ${problem}` }
  return {
    metadata: JSON.stringify({
      client_name: programName(name),
      redirect_uris: redirects ? uris : [],
      response_types: redirects ? ['code'] : [],
      grant_types: types,
      application_type: 'native',
      token_endpoint_auth_method: 'none',
    }),
  }
}

function findProblem(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECT_URIS)
    return `must have 1 to ${MAX_REDIRECT_URIS} URIs`
  if (!uris.every((uri) => typeof uri === 'string' && uri.length <= MAX_REDIRECT_URI_LENGTH))
    return `must be strings of at most ${MAX_REDIRECT_URI_LENGTH} characters`
  const invalid = uris.find((uri) => !isRedirectUri(uri))
  if (invalid === undefined) return undefined
  return `has ${invalid}: expected https, http on a loopback address, or a scheme of the program followed by a slash, and no error in the query`
}

function parse(body: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(body))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
