import type { FileEntry } from '../client/wire.ts'
import type { Problem } from './failure.ts'
import { inNfc } from './nfc.ts'

/** What a plan allows for a manifest; sizes in bytes. */
export interface FileLimits {
  files: number
  fileBytes: number
  siteBytes: number
}

/** A manifest entry as it is kept; a finalized version has every hash. */
export type StoredFile = FileEntry

export const MOST_FILES = 1000
export const MOST_PATH_CHARACTERS = 500
export const MOST_TYPE_CHARACTERS = 255

/** RFC 9110, 5.6.2 and 8.3: type "/" subtype and parameters whose values are tokens or quoted. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const MIME_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"))*$`,
)

/**
 * Everything that is wrong with a manifest (spec 2.2 and 4.3, contract "Publish"): one problem a broken rule,
 * in the order of the files. Takes whatever came, of any shape.
 */
export function manifestProblems(files: unknown, limits: FileLimits): Problem[] {
  if (!Array.isArray(files)) return [{ field: 'files', message: 'must be an array of files' }]
  if (files.length === 0) return [{ field: 'files', message: 'must name at least 1 file' }]
  if (files.length > limits.files) return [tooManyFiles(files.length, limits.files)]
  const entries = files.flatMap((file: unknown, index) => entryProblems(file, `files[${index}]`, limits))
  return [...entries, ...collisions(files), ...totalProblems(files, limits)]
}

export function tooManyFiles(count: number, most: number): Problem {
  return { field: 'files', message: `must name at most ${most} files, not ${count}` }
}

/** Why a path cannot be one, or undefined when it can (spec 4.3, rules 4 to 6, and the contract's). */
function pathProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path.includes('\0')) return 'must not contain a null byte'
  if (isTooLong(path)) return `must have at most ${MOST_PATH_CHARACTERS} characters, not ${[...path].length}`
  if (path.startsWith('/')) return "must be relative: it must not start with '/'"
  if (path.includes('\\')) return "must not contain a backslash; folders are parted by '/'"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(path)) return 'must not contain control characters'
  if (!path.isWellFormed()) return 'must be well-formed Unicode'
  for (const segment of path.split('/')) {
    if (segment === '') return "must not contain an empty segment, as in 'a//b' or 'a/'"
    if (segment === '.' || segment === '..') return `must not contain a '${segment}' segment`
  }
  return undefined
}

/** The sum of the sizes in bytes. */
export function totalBytes(files: readonly { size: number }[]): number {
  return files.reduce((sum, file) => sum + file.size, 0)
}

function entryProblems(file: unknown, field: string, limits: FileLimits): Problem[] {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    return [{ field, message: 'must be an object with path, size and contentType' }]
  }
  const { path, size, contentType, hash } = file as Record<string, unknown>
  const problems: Problem[] = []
  const of = typeof path === 'string' ? ` ('${shown(path)}')` : ''
  const add = (name: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ field: `${field}.${name}`, message: message + of })
  }
  add('path', typeof path === 'string' ? pathProblem(path) : 'must be a string')
  add('size', sizeProblem(size, limits))
  add('contentType', typeProblem(contentType))
  if (hash !== undefined && !(typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash))) {
    add('hash', 'must be a SHA-256 of exactly 64 lowercase hex characters')
  }
  return problems
}

/** A character takes at most two places of a string. */
function isTooLong(path: string): boolean {
  return path.length > 2 * MOST_PATH_CHARACTERS || [...path].length > MOST_PATH_CHARACTERS
}

function sizeProblem(size: unknown, limits: FileLimits): string | undefined {
  if (!Number.isSafeInteger(size) || Number(size) <= 0) {
    return 'must be a positive whole number of bytes; empty files cannot be published'
  }
  if (Number(size) > limits.fileBytes) return `must be at most ${limits.fileBytes} bytes, not ${size}`
  return undefined
}

function typeProblem(type: unknown): string | undefined {
  if (typeof type !== 'string') return 'must be a string'
  if (type.length > MOST_TYPE_CHARACTERS) return `must have at most ${MOST_TYPE_CHARACTERS} characters`
  return MIME_TYPE.test(type) ? undefined : "must be a MIME type such as 'text/html; charset=utf-8'"
}

/**
 * Paths that are equal after Unicode NFC, and paths that are both a file and a folder. One that is too long is
 * refused anyway; to take it apart could cost all the memory there is.
 */
function collisions(files: readonly unknown[]): Problem[] {
  const problems: Problem[] = []
  const first = new Map<string, number>()
  const folders = new Map<string, string>()
  const paths = files.map((file) => {
    const path = (file as { path?: unknown } | null)?.path
    return typeof path === 'string' && !isTooLong(path) ? inNfc(path) : undefined
  })
  paths.forEach((path, index) => {
    if (path === undefined) return
    const other = first.get(path)
    if (other !== undefined) {
      problems.push({
        field: `files[${index}].path`,
        message: `repeats files[${other}].path ('${shown(path)}')`,
      })
    } else first.set(path, index)
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
      folders.set(path.slice(0, at), path)
  })
  for (const [path, index] of first) {
    const inside = folders.get(path)
    if (inside === undefined) continue
    const message = `'${shown(path)}' is a file here and a folder of '${shown(inside)}'`
    problems.push({ field: `files[${index}].path`, message })
  }
  return problems
}

function totalProblems(files: readonly unknown[], limits: FileLimits): Problem[] {
  const sizes = files.map((file) => Number((file as { size?: unknown } | null)?.size))
  const total = sizes.reduce((sum, size) => sum + (Number.isFinite(size) ? Math.max(size, 0) : 0), 0)
  if (total <= limits.siteBytes) return []
  return [{ field: 'files', message: `must have at most ${limits.siteBytes} bytes together, not ${total}` }]
}

/** A path fit for a sentence: short and without characters that would disturb it. */
export function shown(path: string): string {
  const visible = path.replace(/[^\P{C}]/gu, '?')
  return visible.length > 80 ? `${visible.slice(0, 77)}...` : visible
}
