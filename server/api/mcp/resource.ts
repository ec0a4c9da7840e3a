export const MCP_PATH = '/mcp'

/** For clients that sign in only where nothing is answered without a token. */
export const MCP_ACCOUNT_PATH = '/mcp/account'

/** The paths by which programs name the resource that tokens are for: the origin, too. */
export const RESOURCE_PATHS = ['', MCP_PATH, `${MCP_PATH}/`, MCP_ACCOUNT_PATH] as const

/** RFC 9728: the path of a resource follows. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource'

/** For a program that was refused at this path. */
export function resourceMetadataUrl(baseUrl: string, path: string): string {
  return `${baseUrl}${RESOURCE_METADATA_PATH}${path}`
}

/**
 * Names the resource of tokens in place of its other names in the `resource` parameters of a request (RFC 8707). Scheme and
 * host are case-insensitive (RFC 3986, section 6.2.2.1).
 */
export function unifyResources(parameters: URLSearchParams, baseUrl: string): void {
  const names = [...RESOURCE_PATHS, '/'].map((path) => baseUrl + path)
  const unify = (name: string) => {
    const canonical = name.replace(/^\w+:\/\/[^/?#]*/, (origin) => origin.toLowerCase())
    return names.includes(canonical) ? baseUrl + MCP_PATH : name
  }
  const resources = new Set(parameters.getAll('resource').map(unify))
  parameters.delete('resource')
  for (const resource of resources) parameters.append('resource', resource)
}
