import { truncate } from '../format.ts'
import { normalizeNfc } from './unicode.ts'

/** In characters: code points. */
export const MAX_PATH_LENGTH = 500

/** Why a file of a folder or of an archive is refused whose name is bytes of another encoding, which U+FFFD stands for. */
export const NOT_UTF8 = 'the name is not UTF-8; rename it'

/** In UTF-16 units: a message has few of them, and a path in a message to the service can have millions. */
const MAX_INSPECTED_LENGTH = 100_000

/** Why a path is invalid, or undefined (spec 4.3, rules 4 to 6, and the contract's). */
export function validatePath(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path.includes('\0')) return 'must not contain a null byte'
  if (isTooLong(path)) return `must have at most ${MAX_PATH_LENGTH} characters${describeLength(path)}`
  if (path.startsWith('/')) return "must be relative: it must not start with '/'"
  if (path.includes('\\')) return "must not contain a backslash; separate folders with '/'"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return 'must not contain control characters'
  // `String.prototype.isWellFormed` is not in Node 18.
  if (/\p{Surrogate}/u.test(path)) return 'must be well-formed Unicode'
  for (const segment of path.split('/')) {
    if (segment === '') return "must not contain an empty segment, as in 'a//b' or 'a/'"
    if (segment === '.' || segment === '..') return `must not contain a '${segment}' segment`
  }
  return undefined
}

/** Paths that cannot be in one site together. */
interface PathCollisions {
  /** Paths that several files have after Unicode NFC, each with the positions of these files. */
  repeated: Map<string, number[]>
  /** The files whose paths are folders of other files as well: their positions, and what is wrong. */
  filesAsFolders: { index: number; message: string }[]
}

/** Values that are too long or no strings are skipped: they are rejected anyway, and splitting them could exhaust memory. */
export function findCollisions(paths: readonly unknown[], toNfc = normalizeNfc): PathCollisions {
  const positions = new Map<string, number>()
  const repeated = new Map<string, number[]>()
  for (const [index, given] of paths.entries()) {
    if (typeof given !== 'string' || isTooLong(given)) continue
    const path = toNfc(given)
    const first = positions.get(path)
    if (first === undefined) positions.set(path, index)
    else if (repeated.get(path)?.push(index) === undefined) repeated.set(path, [first, index])
  }
  const filesAsFolders = [...folderPaths([...positions.keys()])].map(([path, inside]) => {
    const message = `'${sanitizePath(path)}' is both a file and the folder of '${sanitizePath(inside)}'`
    return { index: positions.get(path)!, message }
  })
  filesAsFolders.sort((a, b) => a.index - b.index)
  return {
    repeated: new Map([...repeated].sort(([, [one]], [, [other]]) => one! - other!)),
    filesAsFolders,
  }
}

/** Formats a path for a message: short and without control characters. */
export function sanitizePath(path: string): string {
  // What 81 characters need, one of which may be half of a pair.
  const visible = path.slice(0, 162).replace(/[^\P{C}]/gu, '?')
  return visible.length > 80 ? truncate(visible, 77, '...') : visible
}

/** Counts code points only where the number of UTF-16 units does not decide. */
function isTooLong(path: string): boolean {
  if (path.length <= MAX_PATH_LENGTH) return false
  return path.length > 2 * MAX_PATH_LENGTH || [...path].length > MAX_PATH_LENGTH
}

function describeLength(path: string): string {
  return path.length > MAX_INSPECTED_LENGTH ? '' : `, not ${[...path].length}`
}

/** Those of the paths that are folders of others, each with the first of these. */
function folderPaths(paths: readonly string[]): Map<string, string> {
  const folders = new Map<string, string>()
  // Each is a prefix of the next: between a file and what is in it are only paths that begin as it does.
  const prefixes: string[] = []
  for (const path of [...paths].sort()) {
    while (prefixes.length > 0 && !path.startsWith(prefixes.at(-1)!)) prefixes.pop()
    const last = prefixes.at(-1)
    if (last !== undefined && path[last.length] === '/' && !folders.has(last)) folders.set(last, path)
    prefixes.push(path)
  }
  return folders
}
