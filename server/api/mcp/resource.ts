export const MCP_PATH = '/mcp'

/** RFC 9728: the path of a resource follows. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Where a program that was refused learns how to sign in. */
export function resourceMetadataUrl(baseUrl: string): string {
  return `${baseUrl}${RESOURCE_METADATA_PATH}${MCP_PATH}`
}
