import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { caseCollisions, truncateList } from '../../../protocol/manifest/folder.ts'
import { sumSizes } from '../../../protocol/manifest/manifest.ts'
import {
  BUILD_OUTPUT_DIRS,
  describeIndexAlias,
  isLikelySpa,
  missingIndexWarning,
} from '../../../protocol/manifest/root-document.ts'
import { describeSkipped } from '../../../protocol/publish-story.ts'
import { digestAll, type HashedFile } from '../../sdk/folder/digest.ts'
import {
  type FolderScan,
  type FoundFile,
  fileExclusion,
  folderProblems,
  linkTarget,
  type ScanOptions,
  scan,
} from '../../sdk/folder/scan.ts'
import { exceededLimits, type LimitsClient } from '../../sdk/limits.ts'
import { RefusedError } from '../cli-error.ts'
import type { CommandContext } from '../command.ts'
import { quoteArgument } from '../quote-argument.ts'
import { ProgressView } from '../terminal/progress.ts'

type ReadDeps = Pick<CommandContext, 'terminal' | 'retryPolicy' | 'signal'>

/**
 * Scans the files to publish. Throws a CliError when any service would reject them, or a link has replaced the folder; see
 * `assertWithinLimits`.
 */
export function scanOrThrow(folder: string, include: ScanOptions = {}): FolderScan {
  const target = linkTarget(folder)
  if (target !== undefined) throw new RefusedError(`${folder} has become a link to ${target}`)
  const found = scanReadable(folder, include)
  const [excluded] = found.excluded
  if (excluded !== undefined && !statSync(folder).isDirectory()) throw excludedFile(folder, excluded.path)
  const refused = folderProblems(found)
  assertPublishable(refused)
  if (found.files.length === 0) {
    const reasons = skippedFiles(found)
    if (reasons.length === 0) reasons.push('The folder is empty.')
    throw new RefusedError(`No files to publish in ${folder}`, ...reasons)
  }
  return found
}

/** Asks the server for the limits before a large folder is read. Throws a RefusedError for what exceeds them. */
export async function assertWithinLimits(
  client: LimitsClient,
  { files }: FolderScan,
  site: string | undefined,
): Promise<void> {
  assertPublishable(await exceededLimits(client, files, site))
}

function assertPublishable(refused: readonly string[]): void {
  if (refused.length > 0) throw new RefusedError("This can't be published yet", ...refused)
}

/** Names the option, the line of `.slipwayignore`, or both, that let the file be published, if anything does. */
function excludedFile(file: string, name: string): RefusedError {
  const rule = `!${name}`
  const line = `add this line to ${join(dirname(file), '.slipwayignore')}: ${rule}`
  const ways: [way: string, include: ScanOptions, slipwayignore?: string][] = [
    [line, {}, rule],
    ['pass --include-secrets', { secrets: true }],
    [`pass --include-secrets, and ${line}`, { secrets: true }, rule],
  ]
  const way = ways.find(([, ...included]) => fileExclusion(file, ...included) === undefined)
  return new RefusedError(
    `Refusing to publish ${name}: it is private, no regular file, or excluded by .slipwayignore`,
    ...(way ? [`To publish it, ${way[0]}`] : []),
  )
}

/** Reads and hashes the files, with progress when it takes a while. */
export async function readFiles(
  { terminal, retryPolicy, signal }: ReadDeps,
  files: FoundFile[],
): Promise<HashedFile[]> {
  const view = new ProgressView(terminal, 'Reading', retryPolicy.now)
  const progress = { files: files.length, filesDone: 0, bytes: sumSizes(files), bytesDone: 0 }
  const onBytes = (bytes: number) => {
    progress.bytesDone += bytes
    view.show(progress)
  }
  const onFile = () => {
    progress.filesDone++
  }
  return digestAll(files, { signal, onBytes, onFile }).catch((error: unknown) => {
    throw withReadHints(error)
  })
}

function scanReadable(folder: string, include: ScanOptions): FolderScan {
  try {
    return scan(folder, include)
  } catch (error) {
    throw withReadHints(error, folder)
  }
}

/** An error of the system about a file or folder that this user may not read, with what to do. */
function withReadHints(error: unknown, folder?: string): unknown {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  if (path === undefined || (code !== 'EACCES' && code !== 'EPERM')) return error
  const command = `chmod -R u+rX ${quoteArgument(path)}`
  const hints =
    path === folder
      ? [`Make it readable: ${command}`]
      : [
          `If the site needs it, make it readable: ${command}`,
          'If not, leave it out: add its path to .slipwayignore',
        ]
  return Object.assign(error as Error, { hints })
}

/** Notices before publishing: excluded files, and likely mistakes. Files that are added need no `index.html`. */
export function notices(
  found: FolderScan,
  folder: string,
  { isMerged, asksForRouting }: { isMerged: boolean; asksForRouting: boolean },
): { skipped: string[]; warnings: string[] } {
  const collisions = caseCollisions(found.files).map((names) => `Warning: ${names}`)
  const missing = isMerged ? [] : missingIndexNotice(found.files, folder)
  const routing = asksForRouting && isLikelySpa(found.files.map(({ path }) => path)) ? [SPA_HINT] : []
  return {
    skipped: [...skippedFiles(found), ...indexNotices(found), ...routing],
    warnings: [...collisions, ...missing],
  }
}

const SPA_HINT = 'Single-page app? With --spa, index.html is served for unknown paths, too.'

/** The files that are published as an `index.html` as well. */
export function indexNotices({ indexes }: FolderScan): string[] {
  return truncateList(indexes.map(describeIndexAlias))
}

/** The output folder of a build tool that has a site in it. */
export function builtFolder(folder: string): string | undefined {
  return BUILD_OUTPUT_DIRS.find((name) => existsSync(join(folder, name, 'index.html')))
}

/** Files of the folder that will not be in the site: the first ones, or all of them. */
export function skippedFiles({ excluded }: FolderScan, all = false): string[] {
  const skipped = describeSkipped(excluded, all)
  if (skipped === undefined) return []
  return [/ more$/.test(skipped) ? `${skipped} (list all: --dry-run)` : skipped]
}

function missingIndexNotice(files: FoundFile[], folder: string): string[] {
  const line = missingIndexWarning(files.map(({ path }) => path))
  if (line === undefined) return []
  const built = builtFolder(folder)
  return built ? [line, `Did you mean the folder ${join(folder, built)}?`] : [line]
}
