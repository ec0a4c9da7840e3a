import type { HttpRequest } from '../../../packages/http-server/http-handler.ts'
import { normalizeNfc } from '../../../protocol/manifest/unicode.ts'
import type { RedirectMatch } from '../../site-rules/match/redirect-matcher.ts'
import { hasVariables } from '../../site-rules/redirect-rule.ts'
import { canonicalize, decodePath, ENCODED_SLASH, toHref, toNfc } from '../paths.ts'
import { hasExtension, isNavigation } from '../respond/negotiation.ts'
import type { GeneratedPage } from '../respond/pages/generated-page.ts'
import type { RedirectResponse } from '../respond/redirect-response.ts'
import type { ServedFile } from '../respond/served-file.ts'
import { type FormerEntry, findFile, type NotFound, type RouteTable } from './route-table.ts'

export type RouteMatch =
  | ServedFile
  | RedirectResponse
  | GeneratedPage
  | NotFound
  /** A missing script or style sheet: HTML in its place would only confuse. */
  | { kind: 'missing-asset' }
  | { kind: 'rule-redirect'; redirect: RedirectMatch }
  /** Responses that differ between navigations and other requests. */
  | { kind: 'by-request'; found: ServedFile | NotFound | { kind: 'missing-asset' } }
  | { kind: 'single-slashes'; location: string }
  | { kind: 'malformed' }

const MALFORMED_MATCH: RouteMatch = { kind: 'malformed' }
const MISSING_ASSET_MATCH: { kind: 'missing-asset' } = { kind: 'missing-asset' }
const NOT_FOUND_MATCH: NotFound = { kind: 'missing', page: undefined }

const ASSET = /\.(?:[cm]?js|css)$/i

/** Files that pages and programs load, for which a page is never an answer. */
const LOADED_FILE =
  /\.(?:a?png|avif|bmp|gif|ico|jpe?g|jxl|svg|webp|eot|[ot]tf|woff2?|json|map|wasm|webmanifest)$/i

/** Paths by which programs and crawlers find out what a site has: well-known URIs (RFC 8615) and files for crawlers. */
const PROBED_PATH = /^\/(?:\.well-known\/.|robots\.txt$|sitemap[^/]*\.xml$)/

/** Several slashes, except after a colon: a URL may be a part of a route. */
const REPEATED_SLASHES = /(?<!:)\/{2,}/g

/** Routes a path at `now`, milliseconds since 1970, in the order of the contract ("Serving", 2 to 5). Pure. */
export function matchRoute(table: RouteTable, request: HttpRequest, now: number): RouteMatch {
  const { path } = request.target
  const entry = table.entries.get(path)
  if (entry && !table.redirects?.hasForced) return entry
  const spelling = entry ? path : canonicalize(path)
  if (spelling === undefined) return MALFORMED_MATCH
  const forced = table.redirects?.matchForced(request)
  if (forced) return applyRule(table, forced, spelling)
  return entry ?? findEntry(table.entries, spelling) ?? matchUnknownPath(table, request, { spelling, now })
}

function findEntry(
  entries: RouteTable['entries'],
  spelling: string,
): ServedFile | RedirectResponse | undefined {
  return entries.get(spelling) ?? entries.get(toNfc(spelling))
}

function matchUnknownPath(
  table: RouteTable,
  request: HttpRequest,
  { spelling, now }: { spelling: string; now: number },
): RouteMatch {
  const { formerFiles, root, redirects, fallback } = table
  const rule = redirects?.matchOthers(request)
  if (rule && isRedirect(rule)) return { kind: 'rule-redirect', redirect: rule }
  const single = spelling.replace(REPEATED_SLASHES, '/')
  // An encoded slash is no separator: such a path has no other form.
  if (single !== spelling && !spelling.includes(ENCODED_SLASH))
    return { kind: 'single-slashes', location: toHref(single) }
  const former = findFormer(formerFiles, spelling)
  if (former && now < former.until) return former.file()
  if (rule) return applyRule(table, rule, spelling)
  if (root && spelling === '/') return root
  if (!fallback || hasExtension(spelling) || PROBED_PATH.test(spelling))
    return findNotFoundPage(table, spelling)
  return {
    kind: 'by-request',
    found: isNavigation(request.headers) ? fallback : findNotFoundPage(table, spelling),
  }
}

function findFormer(files: RouteTable['formerFiles'], spelling: string): FormerEntry | undefined {
  if (files.size === 0) return undefined
  const name = decodePath(spelling)
  return files.get(name) ?? files.get(normalizeNfc(name))
}

/** The target of a rewrite is a file; no further rule applies to it. */
function applyRule(table: RouteTable, redirect: RedirectMatch, spelling: string): RouteMatch {
  if (isRedirect(redirect)) return { kind: 'rule-redirect', redirect }
  const target = canonicalize(redirect.to)
  const file = target === undefined ? undefined : findFile(table.entries, target)
  if (!file) return findNotFoundPage(table, spelling)
  if (file.type.isHtml && ASSET.test(spelling) && !isExplicitOverride(redirect)) return MISSING_ASSET_MATCH
  const isFile = LOADED_FILE.test(spelling) || (PROBED_PATH.test(spelling) && hasVariables(redirect.rule))
  const isPageForFile = redirect.status === 200 && file.type.isHtml && isFile
  if (isPageForFile && !redirect.rule.force) return findNotFoundPage(table, spelling)
  return redirect.status === 404 ? { kind: 'missing', page: file } : file
}

function isRedirect({ status }: RedirectMatch): boolean {
  return status !== 200 && status !== 404
}

/** A rule with `force` for exactly this path is explicit. */
function isExplicitOverride({ rule }: RedirectMatch): boolean {
  return rule.force && !hasVariables(rule)
}

/** Starts no deeper than the deepest 404 page, however long the path. */
function findNotFoundPage(table: RouteTable, spelling: string): NotFound | typeof MISSING_ASSET_MATCH {
  if (ASSET.test(spelling)) return MISSING_ASSET_MATCH
  const path = toNfc(spelling)
  let end = Math.min(path.length, table.maxFolderLength)
  while (end > 0) {
    end = path.lastIndexOf('/', end - 1) + 1
    const page = table.notFoundPages.get(path.slice(0, end))
    if (page) return page
    end--
  }
  return NOT_FOUND_MATCH
}
