import type { HeaderRule } from './header-rule.ts'
import type { RedirectRule } from './redirect-rule.ts'

/** What a version says in `_redirects` and `_headers`. */
export interface SiteRules {
  redirects: RedirectRule[]
  headers: HeaderRule[]
}
