import type { StoredFile } from '../file.ts'
import type { Answer } from './answer.ts'

/** A file of a version with everything that can be said of it before anybody asks. */
export interface ServedFile {
  kind: 'file'
  path: string
  hash: string
  /** Bytes. */
  size: number
  /** Strong, with its quotes: the same bytes have the same one in every version. */
  etag: string
  /** Milliseconds, whole seconds only: what `Last-Modified` says. */
  modified: number
  ok: Answer
  /** RFC 9110, 15.4.5. */
  notModified: Answer
}

/** A folder was asked for without its slash. */
export interface FolderRedirect {
  kind: 'redirect'
  /** Percent-encoded, a path of the same host; the query of the request is still to be added. */
  location: string
  /** Without a query. */
  answer: Answer
}

/** A version as visitors see it: every name that can be asked for, and what it gets. Immutable. */
export interface Table {
  /** By decoded path without the leading slash, so `''` is the root. */
  entries: ReadonlyMap<string, ServedFile | FolderRedirect>
  /** By folder, with its slash; `''` is the root. */
  missingPages: ReadonlyMap<string, Answer>
  /** Length of the longest folder in `missingPages`. */
  deepest: number
  /** About what it holds in memory. */
  bytes: number
}

/** What all answers of a version have in common. */
export interface Policy {
  /** Milliseconds since 1970: when visitors first could see the version there. */
  modified: number
  cacheControl: string
  /** Further header lines, name after value. */
  more: readonly string[]
}

/** Read as rules, never served (contract, "Serving", 1). */
const RULES = new Set(['_headers', '_redirects'])

/** `page.html`, which is `page` too; what would be left of `.html` and `..html` is no name. */
const PAGE = /(?<!(?:^|\/)\.{0,2})\.html$/

const INDEX = 'index.html'
const MISSING = '404.html'

/** What errors say about themselves: they are never cached (contract, "Serving", 6). */
export const ERROR_HEADERS = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const

/**
 * Works a manifest out into its table (contract, "Serving", 2): exact names first, then a folder's slash and
 * its index, then a page without its `.html`. The manifest's names are unique after NFC; each is found as it
 * was published and in NFC.
 */
export function compile(files: readonly StoredFile[], policy: Policy): Table {
  const served = files.filter((file) => !RULES.has(file.path)).map(fileMaker(policy))
  const entries = new Map<string, ServedFile | FolderRedirect>()
  const missingPages = new Map<string, Answer>()
  const add = (name: string, entry: ServedFile | FolderRedirect) => {
    for (const form of formsOf(name)) if (!entries.has(form)) entries.set(form, entry)
  }
  for (const file of served) add(file.path, file)
  for (const file of served) {
    const folder = folderOf(file.path)
    const name = file.path.slice(folder.length)
    if (name === INDEX) add(folder, file)
    if (name === INDEX && folder !== '') add(folder.slice(0, -1), redirectTo(folder, policy))
    if (name === MISSING) missingPages.set(folder.normalize('NFC'), missingPage(file, policy))
  }
  for (const file of served) {
    if (PAGE.test(file.path)) add(file.path.slice(0, -'.html'.length), file)
  }
  return {
    entries,
    missingPages,
    deepest: Math.max(0, ...[...missingPages.keys()].map((folder) => folder.length)),
    bytes: weight(entries),
  }
}

function fileMaker({ modified, cacheControl, more }: Policy): (file: StoredFile) => ServedFile {
  const seconds = Math.floor(modified / 1000) * 1000
  const date = new Date(seconds).toUTCString()
  const types = new Map<string, string>()
  const common = ['Cache-Control', cacheControl, 'X-Content-Type-Options', 'nosniff', ...more]
  return ({ path, size, contentType, hash }) => {
    // One string a type, not one a file: it matters for the memory of many sites.
    const type = types.get(contentType) ?? contentType
    types.set(type, type)
    const etag = `"${hash!.slice(0, 32)}"`
    const ok = ['Content-Type', type, 'Content-Length', `${size}`, 'ETag', etag, 'Last-Modified', date]
    return {
      kind: 'file',
      path,
      hash: hash!,
      size,
      etag,
      modified: seconds,
      ok: { status: 200, headers: [...ok, ...common], content: { path, hash: hash!, size } },
      notModified: { status: 304, headers: ['ETag', etag, ...common] },
    }
  }
}

/** A permanent redirect that is asked for again each time: another version may have a file there. */
function redirectTo(folder: string, { cacheControl, more }: Policy): FolderRedirect {
  const location = `/${folder.split('/').map(encodeURIComponent).join('/')}`
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', cacheControl, ...more]
  return { kind: 'redirect', location, answer: { status: 301, headers } }
}

function missingPage({ ok }: ServedFile, { more }: Policy): Answer {
  return { ...ok, status: 404, headers: [...ok.headers.slice(0, 4), ...ERROR_HEADERS, ...more] }
}

function formsOf(name: string): Iterable<string> {
  return new Set([name, name.normalize('NFC')])
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/** Measured: an entry of the map takes some 100 bytes, a file with its header lines some 700, beside its names. */
function weight(entries: ReadonlyMap<string, ServedFile | FolderRedirect>): number {
  let bytes = 500
  for (const [name, entry] of entries) {
    bytes += 100 + name.length
    if (entry.kind === 'redirect') bytes += 300
    else if (entry.path === name) bytes += 700
  }
  return bytes
}
