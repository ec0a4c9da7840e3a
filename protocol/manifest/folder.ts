import type { FileLimits } from '../api/publish.schema.ts'
import { describeFileCount, describeSize, describeTotal } from './excess.ts'
import { sumSizes } from './manifest.ts'
import { findCollisions, NOT_UTF8, sanitizePath, validatePath } from './paths.ts'
import { normalizeNfc } from './unicode.ts'

/** The name and size of a file. */
export interface NamedFile {
  /** Path in the site: relative, with `/` between names, in Unicode NFC. */
  path: string
  /** The same path as the disk spells it. */
  local: string
  /** In bytes. */
  size: number
}

/** Without those of a server. */
const NO_LIMITS: FileLimits = { files: Infinity, fileBytes: Infinity, siteBytes: Infinity }
/** Maximum number of listed names. */
const MAX_LISTED_NAMES = 10

/** What `validateManifest` would reject in a folder, as sentences that name its files. */
export function validateFolder(files: readonly NamedFile[], limits: FileLimits = NO_LIMITS): string[] {
  const paths = files.map(({ path }) => path)
  const collisions = findCollisions(paths)
  const repeated = [...collisions.repeated].map(([path, positions]) =>
    describeRepeatedPath(
      path,
      positions.map((at) => files[at]!.local),
    ),
  )
  const total = sumSizes(files)
  return [
    ...(files.length > limits.files ? [`${describeFileCount(files.length, limits.files, paths)}.`] : []),
    ...truncateList(files.flatMap((file) => validateFile(file, limits) ?? [])),
    ...(total > limits.siteBytes ? [`${describeTotal(total, limits.siteBytes)}.`] : []),
    ...truncateList(repeated),
    ...truncateList(collisions.filesAsFolders.map(({ message }) => message)),
  ]
}

/** Why this file alone would be rejected. */
export function validateFile(
  { path, size }: NamedFile,
  { fileBytes }: FileLimits = NO_LIMITS,
): string | undefined {
  if (size > fileBytes) return `${sanitizePath(path)}: ${describeSize(size, fileBytes)}.`
  const problem = path.includes('\uFFFD') ? NOT_UTF8 : validatePath(path)
  return problem && `${sanitizePath(path)}: ${problem}`
}

/** Files and folders that differ only in case: valid, but case-insensitive file systems cannot hold both. */
export function caseCollisions(files: readonly Pick<NamedFile, 'path' | 'local'>[]): string[] {
  // In this order, what is in a folder follows it, whatever its spelling.
  const sorted = files
    .map(({ path, local }) => ({ path, local, key: `${foldCase(path)}/` }))
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
  const groups = new Map<string, Set<string>>()
  for (const [at, { path, local, key }] of sorted.entries()) {
    const before = sorted[at - 1]
    if (before === undefined || path === before.path) continue
    const start = path.lastIndexOf('/', commonLength(path, before.path) - 1) + 1
    const [name, other] = [path, before.path].map((one) => /^[^/]*/.exec(one.slice(start))![0])
    const depth = path.slice(0, start).split('/').length
    const upToName = (one: string) => one.split('/').slice(0, depth).join('/')
    const folded = upToName(key)
    if (name === other || folded !== upToName(before.key)) continue
    const names = groups.get(folded) ?? new Set()
    groups.set(folded, names.add(upToName(local)).add(upToName(before.local)))
  }
  return truncateList([...groups.values()].map(describeCollision))
}

function describeCollision(names: ReadonlySet<string>): string {
  const [listed, rest] = [[...names].sort().slice(0, MAX_LISTED_NAMES), names.size - MAX_LISTED_NAMES]
  return `${listed.join(' and ')}${rest > 0 ? ` and ${rest} more` : ''} differ only in case`
}

function commonLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

/** In upper case first: a long s (U+017F) is an s for macOS and Windows. */
function foldCase(name: string): string {
  return normalizeNfc(name).toUpperCase().toLowerCase()
}

/** At most ten sentences, and how many there are beyond. */
export function truncateList(sentences: string[]): string[] {
  const rest = sentences.length - MAX_LISTED_NAMES
  return rest > 0 ? [...sentences.slice(0, MAX_LISTED_NAMES), `and ${rest} more`] : sentences
}

function describeRepeatedPath(path: string, locals: readonly string[]): string {
  const spellings = [...new Set(locals)]
  const times = `${path} occurs ${locals.length} times`
  if (spellings.length < 2) return times
  return `${times}, written in different Unicode forms: ${spellings.map(escapeNonAscii).join(' and ')}`
}

/** Distinguishes similar names by their code points. */
function escapeNonAscii(name: string): string {
  return name.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}
