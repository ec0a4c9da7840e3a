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
