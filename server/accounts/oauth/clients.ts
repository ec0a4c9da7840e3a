import { isLoopbackUrl } from '../../../protocol/loopback.ts'

/** A program that names itself by the URL of a document about it, which the service does not fetch. */
export interface KnownClient {
  /** Its `client_id` (draft-ietf-oauth-client-id-metadata-document). */
  id: string
  name: string
  redirectUris: readonly string[]
}

/**
 * Sources: for Claude Code, anthropics/claude-code#42301; for Claude, anthropics/claude-ai-mcp#518; for Visual Studio
 * Code, microsoft/vscode#278512 and the document at its URL; for Zed, the document at its URL.
 */
const WELL_KNOWN: readonly KnownClient[] = [
  {
    id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    name: 'Claude',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    id: 'https://claude.ai/oauth/claude-code-client-metadata',
    name: 'Claude Code',
    redirectUris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  {
    id: 'https://vscode.dev/oauth/client-metadata.json',
    name: 'Visual Studio Code',
    redirectUris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
  },
  {
    id: 'https://zed.dev/oauth/client-metadata.json',
    name: 'Zed',
    redirectUris: ['http://127.0.0.1/callback'],
  },
]

/** `others` replace those with the same URL. */
export function knownClients(others: readonly KnownClient[]): readonly KnownClient[] {
  return [...new Map([...WELL_KNOWN, ...others].map((client) => [client.id, client])).values()]
}

/** Schemes that a browser opens itself. */
const BROWSER_SCHEMES = new Set(['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:'])

/** Responses of the service have these: its page would show a text of the program as one of the service. */
const ERROR_PARAMETERS = ['error', 'error_description']

/** `urn:ietf:wg:oauth:2.0:oob` is no address. */
export function isRedirectUri(uri: string): boolean {
  // The parser removes some characters that a header or a page would not.
  if (/[\s\p{C}]/u.test(uri) || !URL.canParse(uri)) return false
  const { protocol, hash, username, password, searchParams } = new URL(uri)
  if (ERROR_PARAMETERS.some((name) => searchParams.has(name))) return false
  if (hash !== '' || username !== '' || password !== '' || BROWSER_SCHEMES.has(protocol)) return false
  return protocol === 'http:' ? isLoopbackUrl(uri) : /^[a-z][a-z0-9+.-]*:\//i.test(uri)
}

/** An error of OAuth (RFC 6749, section 5.2; RFC 7591, section 3.2.2; RFC 8628, section 3.5). */
export interface OAuthProblem {
  error:
    | 'invalid_request'
    | 'invalid_client'
    | 'unauthorized_client'
    | 'invalid_client_metadata'
    | 'invalid_redirect_uri'
    | 'authorization_pending'
    | 'slow_down'
    | 'access_denied'
    | 'expired_token'
  error_description: string
}
