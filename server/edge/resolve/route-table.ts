import { hash } from 'node:crypto'
import { isRuleFile } from '../../../protocol/manifest/rule-files.ts'
import { ENCODINGS } from '../../blobs/encoding.ts'
import type { SiteRules } from '../../site-rules/site-rules.ts'
import { appendToDocument, type InjectedDocument } from '../../sites/page-metadata/injected-document.ts'
import type { HeadMetadata } from '../../sites/site-metadata.ts'
import type { BlobRecords } from '../../store/tables/blobs.ts'
import { type FormerFile, type ManifestFile, servedType } from '../../store/tables/versions.ts'
import { basename, dirname, encodePath, toHref, toNfc } from '../paths.ts'
import type { ErrorPages } from '../respond/pages/error-pages.ts'
import { type GeneratedPage, MAX_LANGUAGES, type Tail } from '../respond/pages/generated-page.ts'
import { fallbackIndex, plainTextView, type StartDocument } from '../respond/pages/root-page.ts'
import { type Policy, temporaryPolicy } from '../respond/policy.ts'
import { RedirectResponse, SiteRedirects } from '../respond/redirect-response.ts'
import { type FileType, ServedFile, type StoredContent, toFileType } from '../respond/served-file.ts'
import { SiteHeaders } from '../respond/site-headers.ts'

export interface NotFound {
  kind: 'missing'
  page: ServedFile | undefined
}

/** A former file, and until when it is served, in milliseconds since 1970. */
export interface FormerEntry {
  file(): ServedFile
  until: number
}

export interface RouteTable {
  /** By canonical path. */
  entries: ReadonlyMap<string, ServedFile | RedirectResponse>
  /** Undefined when a file is there. */
  root: GeneratedPage | RedirectResponse | undefined
  /** By name, as published and in NFC. */
  formerFiles: ReadonlyMap<string, FormerEntry>
  /** By folder, with its slash. */
  notFoundPages: ReadonlyMap<string, NotFound>
  maxFolderLength: number
  redirects: SiteRedirects | undefined
  headers: SiteHeaders | undefined
  /** The response to navigations to unknown paths, with `spaMode`. */
  fallback: ServedFile | undefined
  pages: ErrorPages
  policy: Policy
  /** Why its start page is not rendered, which may be possible soon. */
  renderError: Error | undefined
  /** Estimated memory in bytes, including the responses when every file was requested. */
  bytes: number
}

export interface SiteInput {
  files: readonly ManifestFile[]
  policy: Policy
  pages: ErrorPages
  rules?: SiteRules | undefined
  injectedIndex?: InjectedDocument | undefined
  markdown?: StartDocument | undefined
  renderError?: Error | undefined
  /** Of its HTML documents and of its generated page. */
  tails?: readonly Tail[]
  /** What is stored of the files, of former ones and of the injected document, by hash. */
  blobs?: BlobRecords
  formerFiles?: readonly FormerFile[] | undefined
  metadata: HeadMetadata
  toUrl: (name: string) => string
  spaMode?: boolean
}

/** `/page.html` is also `/page`; `.html` and `..html` have no such name. */
const HTML_EXTENSION = /(?<!\/\.{0,2})\.html$/

/** Without XHTML, which has nothing after its root element, and encodings in which ASCII would be other characters. */
const HTML = /^text\/html\s*(?:;(?!\s*charset="?(?:utf-16|iso-2022-jp))|$)/i

const INDEX = 'index.html'
const NOT_FOUND_PAGE = '404.html'

/**
 * Builds the route table of a version (contract, "Serving", 2): exact names first, then a folder's slash and its index,
 * then a page without `.html`. The manifest's names are unique after NFC; each is found as published and in NFC.
 */
export function buildRouteTable(input: SiteInput): RouteTable {
  const { pages, rules, formerFiles = [], spaMode, renderError } = input
  const policy = policyOf(input)
  const published = { ...input, policy }
  const files = buildServedFiles(published)
  const entries = buildEntries(files, policy)
  const text = plainTextView(files)
  if (text) entries.set(text.path, text)
  const notFoundPages = buildNotFoundPages(files)
  const headers = rules?.headers.length ? new SiteHeaders(rules.headers, policy, entries.size) : undefined
  const table = {
    entries,
    root: entries.has('/') ? undefined : fallbackIndex(files, { ...published, headers }),
    formerFiles: buildFormerEntries(formerFiles, published),
    notFoundPages,
    maxFolderLength: Math.max(0, ...[...notFoundPages.keys()].map((folder) => folder.length)),
    redirects: rules?.redirects.length ? new SiteRedirects(rules.redirects, policy) : undefined,
    headers,
    fallback: spaMode ? findFile(entries, '/') : undefined,
    pages,
    policy,
    renderError,
  }
  const headBytes = published.injectedIndex?.head.length ?? 0
  const markdownBytes = 3 * (published.markdown?.html.length ?? 0)
  return { ...table, bytes: estimateBytes(table, files.length) + headBytes + markdownBytes }
}

function policyOf({ policy, rules, renderError }: SiteInput): Policy {
  const found = renderError ? temporaryPolicy(policy) : policy
  if (!rules?.headers.length) return found
  const headers = rules.headers.map(({ line: _, ...rule }) => rule)
  return { ...found, headersDigest: hash('sha256', JSON.stringify(headers)) }
}

/** The file at a path, or the index of the folder it redirects to. */
export function findFile(entries: RouteTable['entries'], path: string): ServedFile | undefined {
  const entry = entries.get(path) ?? entries.get(toNfc(path))
  if (entry?.kind !== 'implied-redirect') return entry
  return findFile(entries, `${path}/`)
}

function buildServedFiles({ files, injectedIndex, ...published }: SiteInput): ServedFile[] {
  const make = createFileFactory(published)
  return files
    .filter((file) => !isRuleFile(file.path))
    .map((file) => make(file, file.path === INDEX ? injectedIndex : undefined))
}

function createFileFactory({
  blobs,
  policy,
  tails = [],
}: Pick<SiteInput, 'blobs' | 'policy' | 'tails'>): (
  file: ManifestFile,
  injected?: InjectedDocument,
) => ServedFile {
  // One object per type instead of per file, to save memory over many sites.
  const types = new Map<string, FileType>()
  const tail = Buffer.concat(tails.map(({ html }) => html))
  return (file, injected) => {
    const name = servedType(file)
    const type = types.get(name) ?? toFileType(name)
    types.set(name, type)
    const bytes = injected ?? { hash: file.hash!, size: file.size }
    const document =
      tail.length > 0 && HTML.test(type.name) && !file.coded ? appendToDocument(bytes, tail) : injected
    const record = blobs?.get((document ?? bytes).hash)
    const published = document ? blobs?.get(document.publishedHash) : record
    // Metadata changes the root document, and the owner of a site what its documents end with.
    const modified = file.path === INDEX || type.isHtml ? policy.metadataChangedAt : policy.publishedAt
    return new ServedFile({
      path: encodePath(file.path),
      file: document ?? bytes,
      type,
      coded: file.coded,
      findStored: storedContentFinder(record, published),
      modified,
      policy,
    })
  }
}

/** Reads the records of the served and of the published document. The function keeps only these in memory. */
function storedContentFinder(
  record: ReturnType<BlobRecords['get']>,
  published: ReturnType<BlobRecords['get']>,
): () => StoredContent {
  return () => {
    const { encodings } = record?.read() ?? {}
    const isEncoded = encodings && ENCODINGS.some((encoding) => encodings[encoding] !== null)
    return { ...published?.read(), encodings: isEncoded ? encodings : undefined }
  }
}

function buildEntries(
  files: readonly ServedFile[],
  policy: Policy,
): Map<string, ServedFile | RedirectResponse> {
  const entries = new Map<string, ServedFile | RedirectResponse>()
  const add = (path: string, entry: ServedFile | RedirectResponse) => {
    if (!entries.has(path)) entries.set(path, entry)
  }
  // Normalizing is most of the work, so the names that follow from a path are cut from its forms.
  const named = files.map((file) => ({ file, forms: [file.path, toNfc(file.path)] }))
  for (const { file, forms } of named) for (const path of forms) add(path, file)
  for (const { file, forms } of named) {
    if (basename(file.path) !== INDEX) continue
    const redirect = new RedirectResponse(toHref(dirname(file.path)), 301, policy)
    for (const folder of forms.map(dirname)) {
      add(folder, file)
      if (folder !== '/') add(folder.slice(0, -1), redirect)
    }
  }
  for (const { file, forms } of named) {
    if (HTML_EXTENSION.test(file.path)) for (const path of forms) add(path.slice(0, -'.html'.length), file)
  }
  return entries
}

/** Exact names only: pages that are still open request them. Encoding thousands of names here would take too long. */
function buildFormerEntries(files: readonly FormerFile[], published: SiteInput): Map<string, FormerEntry> {
  const former = new Map<string, FormerEntry>()
  const make = createFileFactory(published)
  for (const one of files) {
    if (isRuleFile(one.path)) continue
    let file: ServedFile | undefined
    const entry = { file: () => (file ??= make(one)), until: one.until }
    former.set(one.path, entry)
    if (one.nfc !== undefined) former.set(one.nfc, entry)
  }
  return former
}

function buildNotFoundPages(files: readonly ServedFile[]): Map<string, NotFound> {
  const pages = files.filter((file) => basename(file.path) === NOT_FOUND_PAGE)
  return new Map(pages.map((page) => [toNfc(dirname(page.path)), { kind: 'missing', page }]))
}

/** Measured bytes of a table, of a name in it, and of a listed file. */
const TABLE_BYTES = 700
const ENTRY_BYTES = 90
const LISTED_FILE_BYTES = 400
/** On a page: each path and name twice, of which `&` becomes five characters. */
const LISTED_CHARACTER_BYTES = 12

/** Of a file with one response; about 170 without, and 300 for each further response. */
const FILE_BYTES = 750

/** Of each byte of a former name, which is also percent-encoded when it is requested. */
const FORMER_NAME_BYTES = 4

function estimateBytes(
  { entries, formerFiles, redirects, headers, root }: Omit<RouteTable, 'bytes'>,
  files: number,
): number {
  let bytes =
    TABLE_BYTES + FILE_BYTES * (files + formerFiles.size) + (redirects?.bytes ?? 0) + (headers?.bytes ?? 0)
  let characters = 0
  for (const path of entries.keys()) characters += path.length
  for (const name of formerFiles.keys()) bytes += FORMER_NAME_BYTES * Buffer.byteLength(name)
  bytes += ENTRY_BYTES * (entries.size + formerFiles.size) + characters
  if (root?.kind !== 'page') return bytes
  const listed = LISTED_FILE_BYTES * (files + 20) + LISTED_CHARACTER_BYTES * characters
  // In each language, and what these share.
  return bytes + (MAX_LANGUAGES + 1) * listed
}
