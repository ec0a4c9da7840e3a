import type { PublishWarning } from '../../client/wire.ts'
import { type HeaderRule, parseHeaders } from './header-rule.ts'
import { parseRedirects, type RedirectRule } from './redirect-rule.ts'

/** The largest `_redirects` and `_headers` that are read. */
export const MOST_RULES_BYTES = 2 ** 20

/** What a version says in `_redirects` and `_headers`. */
export interface SiteRules {
  redirects: RedirectRule[]
  headers: HeaderRule[]
}

/** Reads both files of a version, as far as it has them; `rules` is null when they say nothing. Never throws. */
export function parseRules(files: { redirects: string | undefined; headers: string | undefined }): {
  rules: SiteRules | null
  warnings: PublishWarning[]
} {
  const redirects = parseRedirects(files.redirects ?? '')
  const headers = parseHeaders(files.headers ?? '')
  const none = redirects.rules.length + headers.rules.length === 0
  return {
    rules: none ? null : { redirects: redirects.rules, headers: headers.rules },
    warnings: [...redirects.warnings, ...headers.warnings],
  }
}

/** For a file of rules that is larger than `MOST_RULES_BYTES`. */
export function tooLong(file: '_redirects' | '_headers'): PublishWarning {
  return { file, message: `The file has more than ${MOST_RULES_BYTES} bytes, so none of it is read` }
}
