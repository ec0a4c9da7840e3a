import type { FieldError } from '../api/errors.schema.ts'
import type { FileEntry } from '../api/fields.schema.ts'
import type { FileLimits } from '../api/publish.schema.ts'
import { MAX_TYPE_LENGTH } from '../api/publish.ts'
import { describeFileCount, describeSize, describeTotal } from './excess.ts'
import { findCollisions, sanitizePath, validatePath } from './paths.ts'
import { normalizeNfc } from './unicode.ts'

/** A stored manifest entry; a finalized version has every hash. */
export type StoredFile = FileEntry

/** RFC 9110, 5.6.2 and 8.3: type "/" subtype and parameters with token or quoted values. */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// Not `text/*`, which is a range of types.
const MIME_TYPE = new RegExp(
  `^(?!\\*/)${TOKEN}/(?!\\*(?:[ \\t;]|$))${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"))*$`,
)

/** The files of a publish, of any shape. */
interface ManifestFields {
  files: unknown
  emptyFiles?: unknown
  merge?: unknown
  delete?: unknown
}

/**
 * All violations in a manifest (spec 2.2 and 4.3, contract "Publish" and "Empty files"): one per broken rule, in the order
 * of the files. `minFiles` counts those with bytes: a merge that changes others needs none.
 */
export function validateManifest(
  manifest: ManifestFields,
  limits: FileLimits,
  minFiles: 0 | 1 = isMergeOfOthers(manifest) ? 0 : 1,
  toNfc = normalizeNfc,
): FieldError[] {
  const { files, emptyFiles = [] } = manifest
  if (!Array.isArray(files)) return [{ field: 'files', message: 'must be an array of files' }]
  if (!Array.isArray(emptyFiles)) return [{ field: 'emptyFiles', message: 'must be an array of paths' }]
  if (files.length < minFiles) {
    const which = emptyFiles.length > 0 ? ' that is not empty' : ''
    return [{ field: 'files', message: `must contain at least 1 file${which}` }]
  }
  const paths = listPaths({ files, emptyFiles })
  if (paths.length > limits.files) return [tooManyFiles({ files, emptyFiles }, limits.files)]
  const entries = files.flatMap((file: unknown, index) => validateEntry(file, `files[${index}]`, limits))
  const empty = paths.slice(files.length).flatMap((one) => validateEmptyFile(one) ?? [])
  return [...entries, ...empty, ...validateCollisions(paths, toNfc), ...validateTotal(files, limits)]
}

function isMergeOfOthers({ merge, delete: deleted, emptyFiles }: ManifestFields): boolean {
  return merge === true && lengthOf(deleted) + lengthOf(emptyFiles) > 0
}

/** The number of files in a manifest of any shape. */
export function countFiles({ files, emptyFiles }: ManifestFields): number {
  return lengthOf(files) + lengthOf(emptyFiles)
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}

/** The error of a manifest with more files than the limit. */
export function tooManyFiles(manifest: ManifestFields, max: number): FieldError {
  const paths = listPaths(manifest).flatMap(({ path }) => (typeof path === 'string' ? path : []))
  return { field: 'files', message: describeFileCount(countFiles(manifest), max, paths) }
}

/** The text whose SHA-256 is the content hash of a version: equal for equal paths, bytes and content types, in any order. */
export function listContents(files: readonly Pick<StoredFile, 'path' | 'hash' | 'contentType'>[]): string {
  const lines = files.map(({ path, hash, contentType }) => JSON.stringify([path, hash, contentType]))
  return lines.sort().join('\n')
}

/** The sum of the sizes in bytes. */
export function sumSizes(files: readonly { size: number }[]): number {
  return files.reduce((sum, file) => sum + file.size, 0)
}

/** A path of a manifest, of any type, and the field that has it. */
interface NamedPath {
  field: string
  path: unknown
}

function listPaths({ files, emptyFiles }: ManifestFields): NamedPath[] {
  const entries = Array.isArray(files) ? files : []
  const empty = Array.isArray(emptyFiles) ? emptyFiles : []
  return [
    ...entries.map((file, index) => {
      return { field: `files[${index}].path`, path: (file as { path?: unknown } | null)?.path }
    }),
    ...empty.map((path: unknown, index) => ({ field: `emptyFiles[${index}]`, path })),
  ]
}

function validateEmptyFile({ field, path }: NamedPath): FieldError | undefined {
  if (typeof path !== 'string') return { field, message: 'must be a path' }
  const problem = validatePath(path)
  return problem === undefined ? undefined : { field, message: `${problem} ('${sanitizePath(path)}')` }
}

function validateEntry(file: unknown, field: string, limits: FileLimits): FieldError[] {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    return [{ field, message: 'must be an object with path, size and contentType' }]
  }
  const { path, size, contentType, hash } = file as Record<string, unknown>
  const problems: FieldError[] = []
  const add = (name: string, message: string | undefined) => {
    if (message === undefined) return
    const of = typeof path === 'string' ? ` ('${sanitizePath(path)}')` : ''
    problems.push({ field: `${field}.${name}`, message: message + of })
  }
  add('path', typeof path === 'string' ? validatePath(path) : 'must be a string')
  add('size', validateSize(size, limits))
  add('contentType', validateType(contentType))
  if (hash !== undefined && !(typeof hash === 'string' && hash.length === 64 && !/[^0-9a-f]/.test(hash))) {
    add('hash', 'must be a SHA-256 of exactly 64 lowercase hex characters')
  }
  return problems
}

function validateSize(size: unknown, limits: FileLimits): string | undefined {
  if (size === undefined) return 'must be the number of bytes, or send content or contentBase64'
  if (!Number.isSafeInteger(size) || Number(size) <= 0) {
    return 'must be a positive whole number of bytes; name empty files in emptyFiles'
  }
  return Number(size) > limits.fileBytes ? describeSize(Number(size), limits.fileBytes) : undefined
}

function validateType(type: unknown): string | undefined {
  if (typeof type !== 'string') return 'must be a string'
  if (type.length > MAX_TYPE_LENGTH) return `must have at most ${MAX_TYPE_LENGTH} characters`
  return MIME_TYPE.test(type) ? undefined : "must be a MIME type such as 'text/html; charset=utf-8'"
}

function validateCollisions(paths: readonly NamedPath[], toNfc: typeof normalizeNfc): FieldError[] {
  const collisions = findCollisions(
    paths.map(({ path }) => path),
    toNfc,
  )
  const repeated = [...collisions.repeated].flatMap(([path, [first, ...others]]) =>
    others.map((index) => ({ index, message: `repeats ${paths[first!]!.field} ('${sanitizePath(path)}')` })),
  )
  repeated.sort((a, b) => a.index - b.index)
  return [...repeated, ...collisions.filesAsFolders].map(({ index, message }) => ({
    field: paths[index]!.field,
    message,
  }))
}

function validateTotal(files: readonly unknown[], limits: FileLimits): FieldError[] {
  const sizes = files.map((file) => Number((file as { size?: unknown } | null)?.size))
  const total = sizes.reduce((sum, size) => sum + (Number.isFinite(size) ? Math.max(size, 0) : 0), 0)
  return total > limits.siteBytes ? [{ field: 'files', message: describeTotal(total, limits.siteBytes) }] : []
}
