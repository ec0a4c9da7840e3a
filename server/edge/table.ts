import { ENCODINGS } from '../encodings/encoding.ts'
import type { StoredFile } from '../file.ts'
import type { Front, Said } from '../front/front.ts'
import type { SiteRules } from '../rules/site-rules.ts'
import { addressOf, composed, folderOf, lastName, pathOf } from './names.ts'
import { rootOf, shownText } from './pages/root.ts'
import type { SitePage } from './pages/site-page.ts'
import type { Policy } from './policy.ts'
import { Redirection } from './rules/redirection.ts'
import { SiteHeaders } from './rules/site-headers.ts'
import { SiteRedirects } from './rules/site-redirects.ts'
import { type FileType, fileType, ServedFile, type Sizes } from './served-file.ts'

/** What stands where nothing was found: the site's page for it, if there is one for that place. */
export interface Missing {
  kind: 'missing'
  page: ServedFile | undefined
}

/** A version as visitors see it: every name that can be asked for, and what it gets. */
export interface Table {
  /** By path, as `pathOf` spells it. */
  entries: ReadonlyMap<string, ServedFile | Redirection>
  /** What stands at the root when no file does. */
  root: SitePage | Redirection | undefined
  /** Names that only the version before had, until a time in milliseconds since 1970. */
  before: { entries: ReadonlyMap<string, ServedFile>; until: number } | undefined
  /** By folder, with its slash. */
  missingPages: ReadonlyMap<string, Missing>
  /** Length of the longest folder in `missingPages`. */
  deepest: number
  redirects: SiteRedirects | undefined
  headers: SiteHeaders | undefined
  /** What navigations get that lead to nothing, at a site with `spaMode`. */
  fallback: ServedFile | undefined
  /** About what it holds in memory, with what is made of it when every file was asked for. */
  bytes: number
}

/** A version, and what decides how it is served. */
export interface Published {
  files: readonly StoredFile[]
  policy: Policy
  rules?: SiteRules | undefined
  /** In place of the root document. */
  front?: Front | undefined
  /** What is kept beside the files, by their hash. */
  encodings?: ReadonlyMap<string, Sizes>
  /** The version before this one, and until when its files are served too. */
  before?: { files: readonly StoredFile[]; until: number } | undefined
  said: Said
  /** Where everybody finds a file, by its name. */
  urlOf: (name: string) => string
  spaMode?: boolean
}

/** Read as rules, never served (contract, "Serving", 1). */
const RULES = new Set(['_headers', '_redirects'])

/** `/page.html`, which is `/page` too; what would be left of `.html` and `..html` is no name. */
const PAGE = /(?<!\/\.{0,2})\.html$/

const INDEX = 'index.html'
const MISSING = '404.html'

/**
 * Works a version out into its table (contract, "Serving", 2): exact names first, then a folder's slash and its index,
 * then a page without its `.html`. The manifest's names are unique after NFC; each is found as it was published and in
 * NFC.
 */
export function compile(published: Published): Table {
  const { policy, rules, before, spaMode } = published
  const files = servedFiles(published)
  const entries = entriesOf(files, policy)
  const text = shownText(files)
  if (text) entries.set(text.path, text)
  const missingPages = missingPagesOf(files)
  const table = {
    entries,
    root: entries.has('/') ? undefined : rootOf(files, published),
    before: before && { entries: beforeOf(before.files, published, entries), until: before.until },
    missingPages,
    deepest: Math.max(0, ...[...missingPages.keys()].map((folder) => folder.length)),
    redirects: rules?.redirects.length ? new SiteRedirects(rules.redirects, policy) : undefined,
    headers: rules?.headers.length ? new SiteHeaders(rules.headers, policy) : undefined,
    fallback: spaMode ? fileAt(entries, '/') : undefined,
  }
  return { ...table, bytes: weightOf(table, files.length) }
}

/** The file of a path, or of the folder that it leads to. */
export function fileAt(entries: Table['entries'], path: string): ServedFile | undefined {
  const entry = entries.get(path) ?? entries.get(composed(path))
  if (entry?.kind !== 'redirection') return entry
  return fileAt(entries, `${path}/`)
}

function servedFiles({ files, front, ...published }: Published): ServedFile[] {
  const make = fileMaker(published)
  return files
    .filter((file) => !RULES.has(file.path))
    .map((file) => {
      if (file.path !== INDEX) return make(file)
      return make(front ? { ...file, hash: front.hash, size: front.size } : file)
    })
}

function fileMaker({
  encodings,
  policy,
}: Pick<Published, 'encodings' | 'policy'>): (file: StoredFile) => ServedFile {
  // One object a type, not one a file: it matters for the memory of many sites.
  const types = new Map<string, FileType>()
  return (file) => {
    const type = types.get(file.contentType) ?? fileType(file.contentType)
    types.set(file.contentType, type)
    const modified = file.path === INDEX ? policy.said : policy.live
    return new ServedFile({
      path: pathOf(file.path),
      file,
      type,
      sizes: sizesOf(encodings?.get(file.hash!)),
      modified,
      policy,
    })
  }
}

/** Undefined when nothing is kept. */
function sizesOf(row: Sizes | undefined): Sizes | undefined {
  if (!row || ENCODINGS.every((encoding) => row[encoding] === null)) return undefined
  const { br, zstd, gzip } = row
  return { br, zstd, gzip }
}

function entriesOf(files: readonly ServedFile[], policy: Policy): Map<string, ServedFile | Redirection> {
  const entries = new Map<string, ServedFile | Redirection>()
  const add = (path: string, entry: ServedFile | Redirection) => {
    for (const form of [path, composed(path)]) if (!entries.has(form)) entries.set(form, entry)
  }
  for (const file of files) add(file.path, file)
  for (const file of files) {
    if (lastName(file.path) !== INDEX) continue
    const folder = folderOf(file.path)
    add(folder, file)
    if (folder !== '/') add(folder.slice(0, -1), new Redirection(addressOf(folder), 301, policy))
  }
  for (const file of files) if (PAGE.test(file.path)) add(file.path.slice(0, -'.html'.length), file)
  return entries
}

/** Exact names only: what a page that is still open has links to. */
function beforeOf(
  files: readonly StoredFile[],
  published: Published,
  entries: Table['entries'],
): Map<string, ServedFile> {
  const before = new Map<string, ServedFile>()
  for (const file of servedFiles({ ...published, files, front: undefined })) {
    for (const form of [file.path, composed(file.path)]) if (!entries.has(form)) before.set(form, file)
  }
  return before
}

function missingPagesOf(files: readonly ServedFile[]): Map<string, Missing> {
  const pages = files.filter((file) => lastName(file.path) === MISSING)
  return new Map(pages.map((page) => [composed(folderOf(page.path)), { kind: 'missing', page }]))
}

/** Measured: bytes of a table, of a name in it, of what `_headers` make of a name, and of a page that lists a file. */
const TABLE = 700
const NAME = 90
const RULED_NAME = 700
const LISTED = 150

/** Of a file whose answer to a browser was made: some 170 without it, and 300 more for each answer to others. */
const FILE = 750

function weightOf(
  { entries, before, redirects, headers, root }: Omit<Table, 'bytes'>,
  files: number,
): number {
  const old = before?.entries ?? new Map<string, ServedFile>()
  let bytes = TABLE + FILE * (files + old.size) + (redirects?.bytes ?? 0) + (headers?.bytes ?? 0)
  for (const path of entries.keys()) bytes += NAME + path.length + (headers ? RULED_NAME : 0)
  for (const path of old.keys()) bytes += NAME + path.length
  return root?.kind === 'page' ? bytes + LISTED * (files + 20) : bytes
}
