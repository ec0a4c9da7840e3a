import type { FieldError } from '../api/errors.ts'
import type { FileEntry } from '../api/publish.ts'
import { normalizeNfc } from './unicode.ts'

/** A plan's limits of a manifest; sizes in bytes. */
export interface FileLimits {
  files: number
  fileBytes: number
  siteBytes: number
}

/** A stored manifest entry; a finalized version has every hash. */
export type StoredFile = FileEntry

export const MAX_FILES = 1000
export const MAX_PATH_LENGTH = 500
export const MAX_TYPE_LENGTH = 255

/** RFC 9110, 5.6.2 and 8.3: type "/" subtype and parameters whose values are tokens or quoted. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const MIME_TYPE = new RegExp(
  `^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"))*$`,
)

/**
 * All violations in a manifest (spec 2.2 and 4.3, contract "Publish"): one per broken rule, in the order of
 * the files. Accepts a value of any shape.
 */
export function validateManifest(files: unknown, limits: FileLimits): FieldError[] {
  if (!Array.isArray(files)) return [{ field: 'files', message: 'must be an array of files' }]
  if (files.length === 0) return [{ field: 'files', message: 'must name at least 1 file' }]
  if (files.length > limits.files) return [tooManyFiles(files.length, limits.files)]
  const entries = files.flatMap((file: unknown, index) => validateEntry(file, `files[${index}]`, limits))
  return [...entries, ...findCollisions(files), ...validateTotal(files, limits)]
}

export function tooManyFiles(count: number, most: number): FieldError {
  return { field: 'files', message: `must name at most ${most} files, not ${count}` }
}

/** Why a path is invalid, or undefined (spec 4.3, rules 4 to 6, and the contract's). */
function validatePath(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path.includes('\0')) return 'must not contain a null byte'
  if (isTooLong(path)) return `must have at most ${MAX_PATH_LENGTH} characters, not ${[...path].length}`
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
export function sumSizes(files: readonly { size: number }[]): number {
  return files.reduce((sum, file) => sum + file.size, 0)
}

function validateEntry(file: unknown, field: string, limits: FileLimits): FieldError[] {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    return [{ field, message: 'must be an object with path, size and contentType' }]
  }
  const { path, size, contentType, hash } = file as Record<string, unknown>
  const problems: FieldError[] = []
  const of = typeof path === 'string' ? ` ('${sanitizePath(path)}')` : ''
  const add = (name: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ field: `${field}.${name}`, message: message + of })
  }
  add('path', typeof path === 'string' ? validatePath(path) : 'must be a string')
  add('size', validateSize(size, limits))
  add('contentType', validateType(contentType))
  if (hash !== undefined && !(typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash))) {
    add('hash', 'must be a SHA-256 of exactly 64 lowercase hex characters')
  }
  return problems
}

/** A character takes one or two places of a string: most paths need not be counted. */
function isTooLong(path: string): boolean {
  if (path.length <= MAX_PATH_LENGTH) return false
  return path.length > 2 * MAX_PATH_LENGTH || [...path].length > MAX_PATH_LENGTH
}

function validateSize(size: unknown, limits: FileLimits): string | undefined {
  if (!Number.isSafeInteger(size) || Number(size) <= 0) {
    return 'must be a positive whole number of bytes; empty files cannot be published'
  }
  if (Number(size) > limits.fileBytes) return `must be at most ${limits.fileBytes} bytes, not ${size}`
  return undefined
}

function validateType(type: unknown): string | undefined {
  if (typeof type !== 'string') return 'must be a string'
  if (type.length > MAX_TYPE_LENGTH) return `must have at most ${MAX_TYPE_LENGTH} characters`
  return MIME_TYPE.test(type) ? undefined : "must be a MIME type such as 'text/html; charset=utf-8'"
}

/**
 * Paths that are equal after Unicode NFC, and paths that are both a file and a folder. Paths that are too
 * long are skipped: they are rejected anyway, and splitting them could exhaust memory.
 */
function findCollisions(files: readonly unknown[]): FieldError[] {
  const problems: FieldError[] = []
  const first = new Map<string, number>()
  const paths = files.map((file) => {
    const path = (file as { path?: unknown } | null)?.path
    return typeof path === 'string' && !isTooLong(path) ? normalizeNfc(path) : undefined
  })
  paths.forEach((path, index) => {
    if (path === undefined) return
    const other = first.get(path)
    if (other !== undefined) {
      problems.push({
        field: `files[${index}].path`,
        message: `repeats files[${other}].path ('${sanitizePath(path)}')`,
      })
    } else first.set(path, index)
  })
  const folders = folderPaths([...first.keys()])
  for (const [path, index] of first) {
    const inside = folders.get(path)
    if (inside === undefined) continue
    const message = `'${sanitizePath(path)}' is a file here and a folder of '${sanitizePath(inside)}'`
    problems.push({ field: `files[${index}].path`, message })
  }
  return problems
}

/** Those of the paths that are folders of others, each with one of these. */
function folderPaths(paths: readonly string[]): Map<string, string> {
  // With the least character in place of the slash, what is in a folder comes right behind its name.
  const sorted = paths.map((path) => path.replaceAll('/', '\0')).sort()
  const folders = new Map<string, string>()
  for (const [index, path] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next?.startsWith(`${path}\0`)) folders.set(path.replaceAll('\0', '/'), next.replaceAll('\0', '/'))
  }
  return folders
}

function validateTotal(files: readonly unknown[], limits: FileLimits): FieldError[] {
  const sizes = files.map((file) => Number((file as { size?: unknown } | null)?.size))
  const total = sizes.reduce((sum, size) => sum + (Number.isFinite(size) ? Math.max(size, 0) : 0), 0)
  if (total <= limits.siteBytes) return []
  return [{ field: 'files', message: `must have at most ${limits.siteBytes} bytes together, not ${total}` }]
}

/** Formats a path for a message: short and without control characters. */
export function sanitizePath(path: string): string {
  const visible = path.replace(/[^\P{C}]/gu, '?')
  return visible.length > 80 ? `${visible.slice(0, 77)}...` : visible
}
