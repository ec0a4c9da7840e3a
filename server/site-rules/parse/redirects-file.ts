import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { formatNumber } from '../../../protocol/format.ts'
import type { RedirectRule } from '../redirect-rule.ts'
import { readRedirect } from './redirect-parser.ts'
import { RuleReader } from './rule-reader.ts'
import { runAtOnce } from './slices.ts'

export interface ParsedRedirects {
  rules: RedirectRule[]
  warnings: PublishWarning[]
}

/** Rules of one kind that are kept: with `*` or `:name`, in the path or in the query, and without. */
const MAX_REDIRECT_RULES = { fixed: 2000, varying: 100 }

/** Like `redirectSteps`, synchronously. */
export function parseRedirects(text: string): ParsedRedirects {
  return runAtOnce(redirectSteps(text))
}

/**
 * Reads `_redirects`, a line in each step: Netlify's syntax (contract, "Serving", 2). A line that is wrong is left out
 * and becomes a warning; never throws.
 */
export function* redirectSteps(text: string): Generator<void, ParsedRedirects> {
  const file = new RuleReader('_redirects', text)
  const rules: RedirectRule[] = []
  const counts = { fixed: 0, varying: 0 }
  for (const { line, text: words } of file.lines()) {
    yield
    const rule = readRedirect(line, words)
    if (typeof rule === 'string') {
      file.warn(line, rule)
      continue
    }
    const kind = hasWildcards(rule) ? 'varying' : 'fixed'
    counts[kind]++
    if (counts[kind] <= MAX_REDIRECT_RULES[kind]) rules.push(rule)
    else if (counts[kind] === MAX_REDIRECT_RULES[kind] + 1) file.warn(line, tooManyRules(kind))
  }
  return { rules, warnings: file.warnings }
}

function hasWildcards({ from, query = [] }: RedirectRule): boolean {
  return /\*$|\/:[A-Za-z]/.test(from) || query.some(([, value]) => /^:[A-Za-z]/.test(value))
}

function tooManyRules(kind: keyof typeof MAX_REDIRECT_RULES): string {
  const which = kind === 'fixed' ? "without '*' and ':name'" : "with '*' or ':name'"
  return `this rule and later ones are ignored. The limit is ${formatNumber(MAX_REDIRECT_RULES[kind])} redirect rules ${which}.`
}
