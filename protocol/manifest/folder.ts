import type { FileLimits } from '../api/publish.schema.ts'
import { formatExcess, formatNumber } from '../format.ts'
import { largestFolders, sumSizes } from './manifest.ts'
import { findCollisions, NOT_UTF8, sanitizePath, validatePath } from './paths.ts'

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
  return [
    ...validateFileCount(files, limits.files),
    ...truncateList(files.flatMap((file) => validateFile(file, limits) ?? [])),
    ...validateTotalSize(files, limits.siteBytes),
    ...truncateList(repeated),
    ...truncateList(collisions.filesAsFolders.map(({ message }) => message)),
  ]
}

/** Why this file alone would be rejected. */
export function validateFile(
  { path, size }: NamedFile,
  { fileBytes }: FileLimits = NO_LIMITS,
): string | undefined {
  if (size > fileBytes) {
    const { found, limit } = formatExcess(size, fileBytes)
    return `${sanitizePath(path)}: ${found}. The limit is ${limit} per file.`
  }
  const problem = path.includes('\uFFFD') ? NOT_UTF8 : validatePath(path)
  return problem && `${sanitizePath(path)}: ${problem}`
}

/** Paths that differ only in case: valid, but case-insensitive file systems cannot hold both. */
export function caseCollisions(files: readonly NamedFile[]): string[] {
  const groups = new Map<string, Set<string>>()
  for (const { path, local } of files) {
    const folded = path.toLowerCase()
    groups.set(folded, (groups.get(folded) ?? new Set()).add(local))
  }
  const sentences = [...groups.values()].flatMap((names) =>
    names.size > 1 ? `${[...names].sort().join(' and ')} differ only in case` : [],
  )
  return truncateList(sentences)
}

/** At most ten sentences, and how many there are beyond. */
export function truncateList(sentences: string[]): string[] {
  const rest = sentences.length - MAX_LISTED_NAMES
  return rest > 0 ? [...sentences.slice(0, MAX_LISTED_NAMES), `and ${rest} more`] : sentences
}

function validateFileCount(files: readonly NamedFile[], max: number): string[] {
  if (files.length <= max) return []
  const largest = largestFolders(files.map(({ path }) => path))
  const where = largest.map(([folder, count]) => `${folder} has ${formatNumber(count)}`).join(', ')
  const sentence = `${formatNumber(files.length)} files. The limit is ${formatNumber(max)} per site`
  return [where ? `${sentence} (${where}).` : `${sentence}.`]
}

function validateTotalSize(files: readonly NamedFile[], siteBytes: number): string[] {
  const total = sumSizes(files)
  if (total <= siteBytes) return []
  const { found, limit } = formatExcess(total, siteBytes)
  return [`${found} in total. The limit is ${limit} per site.`]
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
