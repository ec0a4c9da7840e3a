/** Read by the service and never served. */
const RULES = ['_headers', '_redirects']

/** What visitors see at a site's address when it has no `index.html` at the top, as a sentence; else undefined. */
export function withoutIndex(paths: readonly string[]): string | undefined {
  const served = paths.filter((path) => !RULES.includes(path))
  if (served.length < 2 || served.includes('index.html')) return undefined
  const isBelow = served.some((path) => path.endsWith('/index.html'))
  const instead = isBelow ? 'visitors are led to the first one below' : 'visitors get a list of the files'
  const unless = paths.includes('_redirects') ? ', unless _redirects leads them elsewhere' : ''
  return `There is no index.html at the top: ${instead}${unless}.`
}

/** Where builders usually put what is to be published. */
export const OUTPUTS = ['dist', 'build', 'out', 'public', '_site']
