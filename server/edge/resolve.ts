import { hasVariables } from '../rules/redirect-rule.ts'
import type { Asked } from './asked.ts'
import { composed, spelled } from './names.ts'
import { hasExtension, isNavigation } from './navigation.ts'
import type { SitePage } from './pages/site-page.ts'
import type { Redirection } from './rules/redirection.ts'
import type { Redirected } from './rules/redirects.ts'
import type { ServedFile } from './served-file.ts'
import { fileAt, type Missing, type Table } from './table.ts'

/** What a request leads to. */
export type Outcome =
  | ServedFile
  | Redirection
  | SitePage
  | Missing
  /** A script or a style that is not there: in its place HTML would only confuse. */
  | { kind: 'no asset' }
  | { kind: 'redirected'; by: Redirected }
  | { kind: 'malformed' }

const MALFORMED: Outcome = { kind: 'malformed' }
const NO_ASSET: Outcome = { kind: 'no asset' }
const NO_PAGE: Outcome = { kind: 'missing', page: undefined }

const ASSET = /\.(?:[cm]?js|css)$/i

/** What a path leads to at `now`, milliseconds since 1970, in the order of the contract ("Serving", 2 to 5). Pure. */
export function resolve(table: Table, asked: Asked, now: number): Outcome {
  const { path } = asked.target
  const entry = table.entries.get(path)
  if (entry && !table.redirects?.haveForced) return entry
  const spelling = entry ? path : spelled(path)
  if (spelling === undefined) return MALFORMED
  const forced = table.redirects?.before(asked)
  if (forced) return ruled(table, forced, spelling)
  return entry ?? find(table.entries, spelling) ?? unknown(table, asked, { spelling, now })
}

/** A name as it was published, or as its composed twin. */
function find<E>(entries: ReadonlyMap<string, E>, spelling: string): E | undefined {
  return entries.get(spelling) ?? entries.get(composed(spelling))
}

/** What the version has no name for. */
function unknown(table: Table, asked: Asked, { spelling, now }: { spelling: string; now: number }): Outcome {
  const { before, root, redirects, fallback } = table
  const rule = redirects?.after(asked)
  if (rule && isRedirect(rule)) return { kind: 'redirected', by: rule }
  const old = before && now < before.until ? find(before.entries, spelling) : undefined
  if (old) return old
  if (rule) return ruled(table, rule, spelling)
  if (root && spelling === '/') return root
  if (fallback && isNavigation(asked.headers) && !hasExtension(spelling)) return fallback
  return missing(table, spelling)
}

/** What a rule leads to. The files that rewrites name are looked up, but not through rules again. */
function ruled(table: Table, by: Redirected, spelling: string): Outcome {
  if (isRedirect(by)) return { kind: 'redirected', by }
  const target = spelled(by.to)
  const file = target === undefined ? undefined : fileAt(table.entries, target)
  if (!file) return missing(table, spelling)
  if (file.type.isHtml && ASSET.test(spelling) && !isMeant(by)) return NO_ASSET
  return by.status === 404 ? { kind: 'missing', page: file } : file
}

function isRedirect({ status }: Redirected): boolean {
  return status !== 200 && status !== 404
}

/** Whether a rule is for just this path, before all files: then it says what it means. */
function isMeant({ rule }: Redirected): boolean {
  return rule.force && !hasVariables(rule)
}

/** The nearest 404 page upwards. Starts no deeper than the deepest one there is, however long the path. */
function missing(table: Table, spelling: string): Outcome {
  if (ASSET.test(spelling)) return NO_ASSET
  const path = composed(spelling)
  let end = Math.min(path.length, table.deepest)
  while (end > 0) {
    end = path.lastIndexOf('/', end - 1) + 1
    const page = table.missingPages.get(path.slice(0, end))
    if (page) return page
    end--
  }
  return NO_PAGE
}
