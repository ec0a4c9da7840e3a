import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { FileLimits, PublishRequest } from '../../protocol/api/publish.schema.ts'
import { EMPTY_HASH, separateEmpty } from '../../protocol/manifest/empty-files.ts'
import { type StoredFile, validateManifest } from '../../protocol/manifest/manifest.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { sanitizePath } from '../../protocol/manifest/paths.ts'
import { normalizeNfc, rememberingNfc } from '../../protocol/manifest/unicode.ts'
import { validationError } from '../lib/errors.ts'

/** The files of the request first, whose numbers stay. VALIDATION_ERROR when the result is no valid manifest. */
export function mergeManifest(
  { files, emptyFiles = [], delete: deleted = [] }: Pick<PublishRequest, 'files' | 'emptyFiles' | 'delete'>,
  live: readonly StoredFile[],
  limits: FileLimits,
): FileEntry[] {
  const added = listRequestedFiles({ files, emptyFiles })
  const toNfc = rememberingNfc()
  const replaced = new Set(added.map(({ path }) => toNfc(path)))
  const livePaths = live.map(({ path }) => toNfc(path))
  const removed = deletedPaths(deleted, replaced, new Set(livePaths))
  const kept = live.filter((_, at) => !replaced.has(livePaths[at]!) && !removed.has(livePaths[at]!))
  const merged = [...added, ...kept]
  const problems = validateManifest(separateEmpty(merged), limits, 1, toNfc)
  const requested = { files: files.length, emptyFiles: emptyFiles.length }
  if (problems.length > 0) throw validationError(problems.map((one) => withoutKeptIndex(one, requested)))
  return merged
}

function deletedPaths(deleted: string[], replaced: Set<string>, live: Set<string>): Set<string> {
  const removed = new Set<string>()
  const problems = deleted.flatMap((path, index) => {
    const normalized = normalizeNfc(path)
    const problem = replaced.has(normalized)
      ? 'is also in files or emptyFiles'
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
function withoutKeptIndex(
  { field, message }: FieldError,
  requested: { files: number; emptyFiles: number },
): FieldError {
  const [, list, index] = /^(files|emptyFiles)\[(\d+)\]/.exec(field) ?? []
  return { field: Number(index) >= requested[list as keyof typeof requested] ? 'files' : field, message }
}

/** Files with bytes come first, so that their numbers are those of the request. */
export function listRequestedFiles(request: Pick<PublishRequest, 'files' | 'emptyFiles'>): FileEntry[] {
  const { files, emptyFiles = [] } = request
  const toEntry = (path: string) => {
    return { path, size: 0, contentType: mediaType(path, NO_BYTES), hash: EMPTY_HASH }
  }
  return [...files, ...emptyFiles.map(toEntry)]
}

const NO_BYTES = new Uint8Array()
