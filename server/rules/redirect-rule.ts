import type { PublishWarning } from '../../client/wire.ts'
import { readRedirect } from './redirect-line.ts'
import { RuleFile } from './rule-file.ts'

/** One line of `_redirects`, checked: serving it can no longer fail. */
export interface RedirectRule {
  /** Of the file, from 1. */
  line: number
  /** A path that begins with a slash; a `*` at its end matches the rest, `:name` one segment. Percent-encoded. */
  from: string
  /** The host that a rule with a full address is for, lower case, without port. */
  host?: string
  /** Query parameters that have to be there; a value `:name` takes what is given. */
  query?: [name: string, value: string][]
  /** A path of the site, or a full address with a scheme; `:splat` and `:name` stand for what was matched. */
  to: string
  status: 200 | 301 | 302 | 303 | 307 | 308 | 404
  /** Whether it comes before the site's own files. */
  force: boolean
}

/** Whether a rule is for more than one path. */
export function hasVariables({ from }: RedirectRule): boolean {
  return /\*|\/:/.test(from)
}

export interface ParsedRedirects {
  rules: RedirectRule[]
  warnings: PublishWarning[]
}

/** Rules of one kind that are kept: with `*` or `:name`, in the path or in the query, and without. */
const MOST = { fixed: 2000, varying: 100 }

/**
 * Reads `_redirects`: Netlify's syntax (contract, "Serving", 2). A line that is wrong is left out and told of;
 * never throws.
 */
export function parseRedirects(text: string): ParsedRedirects {
  const file = new RuleFile('_redirects', text)
  const rules: RedirectRule[] = []
  const counts = { fixed: 0, varying: 0 }
  for (const { line, text: words } of file.lines()) {
    const rule = readRedirect(line, words)
    if (typeof rule === 'string') {
      file.warn(line, rule)
      continue
    }
    const kind = isVarying(rule) ? 'varying' : 'fixed'
    counts[kind]++
    if (counts[kind] <= MOST[kind]) rules.push(rule)
    else if (counts[kind] === MOST[kind] + 1) file.warn(line, tooMany(kind))
  }
  return { rules, warnings: file.warnings }
}

function isVarying({ from, query = [] }: RedirectRule): boolean {
  return /\*$|\/:[A-Za-z]/.test(from) || query.some(([, value]) => /^:[A-Za-z]/.test(value))
}

function tooMany(kind: keyof typeof MOST): string {
  const which = kind === 'fixed' ? "without '*' and ':name'" : "with '*' or ':name'"
  return `A site can have ${MOST[kind]} redirect rules ${which}; this one and those after it are left out`
}
