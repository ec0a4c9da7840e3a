import { formatBytes, formatLimit, formatNumber } from '../format.ts'

/** Limits of the service in bytes and files; absent ones are not checked. */
export interface FolderLimits {
  files: number
  fileBytes?: number
  siteBytes?: number
}

/** The name and size of a file. */
export interface NamedFile {
  /** Path in the site: relative, with `/` between names, in Unicode NFC. */
  path: string
  /** The same path as the disk spells it. */
  local: string
  /** In bytes. */
  size: number
}

/** Limits that no setting changes (spec 8.2). */
const FIXED_LIMITS: FolderLimits = { files: 1000 }
const MAX_PATH_LENGTH = 500
/** Maximum number of listed names. */
const MAX_LISTED_NAMES = 10

/** Everything in the folder that the service would reject, as sentences. */
export function manifestErrors(files: readonly NamedFile[], limits: FolderLimits = FIXED_LIMITS): string[] {
  return [
    ...fileCountErrors(files, limits.files),
    ...truncateList(files.flatMap((file) => fileError(file, limits) ?? [])),
    ...totalSizeErrors(files, limits),
    ...findCollisions(files, 'NFC'),
    ...fileFolderCollisions(files),
  ]
}

/** Why this file by itself would be rejected. */
export function fileError(file: NamedFile, { fileBytes = Infinity }: FolderLimits): string | undefined {
  if (file.size > fileBytes)
    return `${file.path}: ${formatBytes(file.size)}; a file can have at most ${formatLimit(fileBytes)}`
  return pathError(file.path)
}

/** Names that differ only in case: valid, but case-insensitive file systems cannot hold both. */
export function caseCollisions(files: readonly NamedFile[]): string[] {
  return findCollisions(files, 'case')
}

function fileCountErrors(files: readonly NamedFile[], most: number): string[] {
  if (files.length <= most) return []
  const folders = new Map<string, number>()
  for (const { path } of files) {
    const slash = path.indexOf('/')
    if (slash > 0) folders.set(path.slice(0, slash + 1), (folders.get(path.slice(0, slash + 1)) ?? 0) + 1)
  }
  const largest = [...folders].sort((a, b) => b[1] - a[1]).slice(0, 3)
  const where = largest.map(([folder, count]) => `${folder} has ${formatNumber(count)}`).join(', ')
  const sentence = `${formatNumber(files.length)} files; a site can have at most ${formatNumber(most)}`
  return [where ? `${sentence} (${where})` : sentence]
}

function totalSizeErrors(files: readonly NamedFile[], { siteBytes = Infinity }: FolderLimits): string[] {
  const total = files.reduce((sum, file) => sum + file.size, 0)
  return total > siteBytes
    ? [`${formatBytes(total)} together; a site can have at most ${formatLimit(siteBytes)}`]
    : []
}

function pathError(path: string): string | undefined {
  const length = [...path].length
  if (length > MAX_PATH_LENGTH)
    return `${path.slice(0, 60)}…: ${length} characters; a path can have at most 500`
  if (path.includes('\\')) return `${path}: a backslash cannot be part of a path`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return `${JSON.stringify(path)}: has a control character`
  if (path.includes('\uFFFD') || !isWellFormed(path)) return `${path}: its name is not valid UTF-8`
  if (/^\/|(^|\/)\.{1,2}(\/|$)/.test(path)) return `${path}: leads out of the folder`
  if (/\/\/|^$/.test(path)) return `${path}: has an empty name in it`
  return undefined
}

/** `String.prototype.isWellFormed` is not in Node 18. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

function findCollisions(files: readonly NamedFile[], kind: 'NFC' | 'case'): string[] {
  const groups = new Map<string, NamedFile[]>()
  for (const file of files) {
    const name = kind === 'NFC' ? file.path : file.path.toLowerCase()
    const group = groups.get(name)
    if (group) group.push(file)
    else groups.set(name, [file])
  }
  const sentences = [...groups].flatMap(([name, group]) => {
    if (group.length < 2) return []
    const written = [...new Set(group.map(({ local }) => local))]
    if (kind === 'case') return `${written.join(' and ')} differ only in case`
    const times = `${name} is there ${group.length} times`
    if (written.length < 2) return times
    return `${times}, written in different Unicode forms: ${written.map(escapeNonAscii).join(' and ')}`
  })
  return truncateList(sentences)
}

/** Disks cannot hold such a pair, archives can. */
function fileFolderCollisions(files: readonly NamedFile[]): string[] {
  const paths = new Set(files.map(({ path }) => path))
  const both = new Set<string>()
  for (const path of paths) {
    if (path.length > 2 * MAX_PATH_LENGTH) continue
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
      if (paths.has(path.slice(0, at))) both.add(path.slice(0, at))
    }
  }
  return truncateList([...both].map((path) => `${path} is a file here and a folder of others`))
}

/** Distinguishes similar names by their code points. */
function escapeNonAscii(name: string): string {
  return name.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function truncateList(sentences: string[]): string[] {
  const rest = sentences.length - MAX_LISTED_NAMES
  return rest > 0 ? [...sentences.slice(0, MAX_LISTED_NAMES), `and ${rest} more like these`] : sentences
}
