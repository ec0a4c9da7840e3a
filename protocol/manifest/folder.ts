import type { FileLimits } from '../api/publish.schema.ts'
import { describeFileCount, describeSize, describeTotal } from './excess.ts'
import { sumSizes } from './manifest.ts'
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
