import { isRuleFile } from './rule-files.ts'

/**
 * A sentence about what visitors see at a site's address without a top-level `index.html`; undefined when
 * there is one.
 */
export function missingIndexWarning(paths: readonly string[]): string | undefined {
  const served = paths.filter((path) => !isRuleFile(path))
  if (served.length < 2 || served.includes('index.html')) return undefined
  const isBelow = served.some((path) => path.endsWith('/index.html'))
  const instead = isBelow ? 'visitors are led to the first one below' : 'visitors get a list of the files'
  const unless = paths.includes('_redirects') ? ', unless _redirects leads them elsewhere' : ''
  return `There is no index.html at the top: ${instead}${unless}.`
}

/** Usual output folders of build tools. */
export const BUILD_OUTPUT_DIRS = ['dist', 'build', 'out', 'public', '_site']
