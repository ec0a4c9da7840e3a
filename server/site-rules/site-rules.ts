import type { PublishWarning } from '../../protocol/api/publish.schema.ts'
import { formatLimit } from '../../protocol/format.ts'
import { type HeaderRule, headerSteps } from './parse/header-rule.ts'
import { redirectSteps } from './parse/redirects-file.ts'
import type { RedirectRule } from './redirect-rule.ts'

export const MAX_RULE_FILE_BYTES = 2 ** 20

export interface SiteRules {
  redirects: RedirectRule[]
  headers: HeaderRule[]
}

export interface ParsedRules {
  /** Null when the files contain no rules. */
  rules: SiteRules | null
  warnings: PublishWarning[]
}

/** Never throws. */
export function* ruleSteps(
  texts: Record<'redirects' | 'headers', string | undefined>,
): Generator<void, ParsedRules> {
  const redirects = yield* redirectSteps(texts.redirects ?? '')
  const headers = yield* headerSteps(texts.headers ?? '')
  const none = redirects.rules.length + headers.rules.length === 0
  return {
    rules: none ? null : { redirects: redirects.rules, headers: headers.rules },
    warnings: [...redirects.warnings, ...headers.warnings],
  }
}

export function tooLongWarning(file: '_redirects' | '_headers'): PublishWarning {
  return { file, message: `file ignored: it is larger than ${formatLimit(MAX_RULE_FILE_BYTES)}` }
}
