import type { FieldError } from '../../protocol/api/errors.ts'
import type { FileEntry, FileLimits, PublishRequest, Removal } from '../../protocol/api/publish.ts'
import { type StoredFile, validateManifest } from '../../protocol/manifest/manifest.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { validationError } from '../lib/errors.ts'

/** Violations that do not depend on the live version. */
export function validateMerge({ merge, delete: deleted }: PublishRequest): FieldError[] {
  return deleted !== undefined && merge !== true ? [{ field: 'delete', message: 'needs merge: true' }] : []
}

/** Whether a request without files is one that only deletes. */
export function onlyDeletes({ files, merge, delete: deleted }: PublishRequest): boolean {
  return (
    merge === true &&
    Array.isArray(files) &&
    files.length === 0 &&
    Array.isArray(deleted) &&
    deleted.length > 0
  )
}

/**
 * The files of a request laid over those of the live version: first the files of the request, so that their numbers
 * stay, then the others. Throws a VALIDATION_ERROR when the result is not a valid manifest.
 */
export function mergeManifest(
  { files, delete: deleted = [] }: Pick<PublishRequest, 'files' | 'delete'>,
  live: readonly StoredFile[],
  limits: FileLimits,
): FileEntry[] {
  const replaced = new Set(files.map(({ path }) => normalizeNfc(path)))
  const removed = deletedPaths(deleted, replaced, new Set(live.map(({ path }) => normalizeNfc(path))))
  const kept = live.filter(
    ({ path }) => !replaced.has(normalizeNfc(path)) && !removed.has(normalizeNfc(path)),
  )
  const merged = [...files, ...kept]
  const problems = validateManifest(merged, limits)
  if (problems.length > 0) throw validationError(problems.map((one) => withoutKeptIndex(one, files.length)))
  return merged
}

/**
 * The files of the live version that a new one does not have; undefined when it has all. A file whose name differs only
 * in a content hash, as build tools add it, has taken the place of the other.
 */
export function findRemoval(live: readonly StoredFile[], files: readonly FileEntry[]): Removal | undefined {
  const paths = new Set(files.map(({ path }) => withoutContentHash(path)))
  const removed = live.filter(({ path }) => !paths.has(withoutContentHash(path)))
  if (removed.length === 0) return undefined
  return {
    files: removed.length,
    liveFiles: live.length,
    index: removed.some(({ path }) => path === 'index.html'),
  }
}

/** 'assets/index-BX3k9a2c.js' and 'assets/index.1f2e3d4c.js' without their hashes. */
function withoutContentHash(path: string): string {
  const start = path.lastIndexOf('/') + 1
  const [stem = '', ...suffixes] = path.slice(start).split('.')
  const extension = suffixes.pop()
  if (extension === undefined) return path
  const others = suffixes.filter((suffix) => !isContentHash(suffix))
  return path.slice(0, start) + [withoutHashSuffix(stem), ...others, extension].join('.')
}

/** A hash of eight characters may contain the hyphen that separates it. */
function withoutHashSuffix(stem: string): string {
  const hyphen = stem.at(-9) === '-' ? stem.length - 9 : stem.lastIndexOf('-')
  return hyphen > 0 && isContentHash(stem.slice(hyphen + 1)) ? stem.slice(0, hyphen) : stem
}

function isContentHash(text: string): boolean {
  return /^[\w-]{8,}$/.test(text) && /[\dA-Z]/.test(text)
}

function deletedPaths(deleted: string[], replaced: Set<string>, live: Set<string>): Set<string> {
  const removed = new Set<string>()
  const problems = deleted.flatMap((path, index) => {
    const normalized = normalizeNfc(path)
    const problem = replaced.has(normalized)
      ? 'is also in files'
      : removed.has(normalized)
        ? 'is repeated'
        : live.has(normalized)
          ? undefined
          : 'is not a file of the live version'
    removed.add(normalized)
    return problem === undefined
      ? []
      : [{ field: `delete[${index}]`, message: `${problem} ('${sanitizePath(path)}')` }]
  })
  if (problems.length > 0) throw validationError(problems)
  return removed
}

/** Files of the live version have no number in the request. */
function withoutKeptIndex({ field, message }: FieldError, requested: number): FieldError {
  const [, index] = /^files\[(\d+)\]/.exec(field) ?? []
  return { field: Number(index) >= requested ? 'files' : field, message }
}
