import type { FileLimits } from '../../protocol/api/publish.schema.ts'
import { groupProblems } from '../../protocol/folder/zip-problems.ts'
import { formatLimit } from '../../protocol/format.ts'
import { caseCollisions, validateFile, validateFolder } from '../../protocol/manifest/folder.ts'
import { BUILD_OUTPUT_DIRS, missingIndexWarning } from '../../protocol/manifest/root-document.ts'
import type { CollectedFile, CollectedFiles } from './collect-files.ts'

/** The findings of a drop before it is published. */
export interface Preflight extends CollectedFiles {
  /** Those of the target, if the server was asked. */
  limits: FileLimits | undefined
  /** Why it cannot be published. */
  errors: string[]
  /** Possible mistakes that do not prevent publishing. */
  warnings: string[]
  /** The publishable files; undefined when excluding the others does not help. */
  publishable?: CollectedFile[]
  /** The folder, with its `/`, that is probably the build output. */
  suggestedFolder?: string
}

/** Maximum size of a file in a zip that this page unpacks: it takes as much memory. */
export const MAX_UNPACKED_BYTES = 2 ** 28

/** Whether the user must decide first. */
export function hasQuestion({ errors, warnings, files }: Preflight): boolean {
  return errors.length > 0 || warnings.length > 0 || files.length === 0
}

export function runPreflight(gathered: CollectedFiles, limits: FileLimits | undefined): Preflight {
  const { files, isChange } = gathered
  const fine = files.filter((file) => !isUnpublishable(file, limits))
  const helps = fine.length > 0 && fine.length < files.length && validateFolder(fine, limits).length === 0
  const suggestedFolder = isChange ? undefined : suggestFolder(files)
  const paths = files.map(({ path }) => path)
  return {
    ...gathered,
    limits,
    errors: [
      ...groupProblems(files.flatMap(unpackProblem)).map(({ path, problem }) => `${path} ${problem}`),
      ...validateFolder(files, limits),
    ],
    warnings: [...caseCollisions(files), (!isChange && missingIndexWarning(paths)) || []].flat(),
    ...(helps && { publishable: fine }),
    ...(suggestedFolder !== undefined && { suggestedFolder }),
  }
}

/** The findings for one folder, as if it had been dropped. */
export function preflightFolder(found: Preflight, folder: string): Preflight {
  const within = (path: string) => path.startsWith(folder)
  const cut = (path: string) => path.slice(folder.length)
  const { ignored, notes, zip, limits } = found
  const files = found.files.filter(({ path }) => within(path))
  return runPreflight(
    {
      files: files.map((file) => ({ ...file, path: cut(file.path), local: cut(file.local) })),
      ignored: ignored
        .filter(({ path }) => within(path))
        .map(({ path, reason }) => ({ path: cut(path), reason })),
      notes,
      ...(zip !== undefined && { zip }),
    },
    limits,
  )
}

function isUnpublishable(file: CollectedFile, limits: FileLimits | undefined): boolean {
  return unpackProblem(file).length > 0 || validateFile(file, limits) !== undefined
}

/** Why a file cannot be extracted from its zip, if it cannot. */
function unpackProblem({ path, size, source, problem }: CollectedFile): { path: string; problem: string }[] {
  if (problem !== undefined) return [{ path, problem }]
  if (typeof source !== 'number' || size <= MAX_UNPACKED_BYTES) return []
  return [{ path, problem: TOO_LARGE }]
}

const TOO_LARGE = `has more than ${formatLimit(MAX_UNPACKED_BYTES)}, too many to unzip here; unzip it first, then drop the folder`

function suggestFolder(files: readonly CollectedFile[]): string | undefined {
  const paths = new Set(files.map(({ path }) => path))
  if (paths.has('index.html')) return undefined
  const name = BUILD_OUTPUT_DIRS.find((output) => paths.has(`${output}/index.html`))
  return name && `${name}/`
}
