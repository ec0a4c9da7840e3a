import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripControlChars } from '../../../protocol/format.ts'
import { caseCollisions, validateFolder } from '../../../protocol/manifest/folder.ts'
import { sumSizes } from '../../../protocol/manifest/manifest.ts'
import { BUILD_OUTPUT_DIRS, missingIndexWarning } from '../../../protocol/manifest/root-document.ts'
import { CliError } from '../cli-error.ts'
import type { CommandContext } from '../command.ts'
import { ProgressView } from '../terminal/progress.ts'
import { digestAll, type HashedFile } from './digest.ts'
import { type FolderScan, type FoundFile, scan } from './scan.ts'

type ReadDeps = Pick<CommandContext, 'terminal' | 'retryPolicy' | 'signal'>

/** Scans the files to publish. Throws a CliError when the service would reject them. */
export function scanOrThrow(folder: string): FolderScan {
  const found = scan(folder)
  const refused = validateFolder(found.files)
  if (refused.length > 0)
    throw new CliError('This cannot be published as it is', ...refused.map(stripControlChars))
  if (found.files.length === 0) {
    const reasons = skippedFiles(found)
    if (reasons.length === 0) reasons.push('It has no files')
    throw new CliError(`There is nothing to publish in ${folder}`, ...reasons)
  }
  return found
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
  const hashed = await digestAll(files, { signal, onBytes, onFile })
  return hashed.filter((file) => file.size > 0)
}

/** Notices before publishing: excluded files, and likely mistakes. Files that are added need no `index.html`. */
export function notices(found: FolderScan, folder: string, isMerged: boolean): string[] {
  const collisions = caseCollisions(found.files).map((names) => `Careful: ${stripControlChars(names)}`)
  const missing = isMerged ? [] : missingIndexNotice(found.files, folder)
  return [...skippedFiles(found), ...collisions, ...missing]
}

/** The output folder of a build tool that has a site in it. */
export function builtFolder(folder: string): string | undefined {
  return BUILD_OUTPUT_DIRS.find((name) => existsSync(join(folder, name, 'index.html')))
}

/** Files of the folder that will not be in the site: all of them, or a few of each kind. */
export function skippedFiles({ ignored, empty, links, unsupported }: FolderScan, all = false): string[] {
  const kinds: [string, string[]][] = [
    ['Left out', ignored],
    ['Left out, being empty', empty],
    ['Left out, links that lead nowhere in the folder', links],
    ['Left out, not files', unsupported],
  ]
  return kinds
    .filter(([, paths]) => paths.length > 0)
    .map(
      ([kind, paths]) => `${kind}: ${all ? paths.map(stripControlChars).join(', ') : formatFewPaths(paths)}`,
    )
}

function formatFewPaths(paths: string[]): string {
  const { shown, more } = summarizeNames(paths)
  return more === 0 ? shown : `${shown} and ${more} more (--dry-run names them all)`
}

/** A short list of names with counts: ".DS_Store (2), .env"; and how many more there are. */
export function summarizeNames(paths: string[], maxNames = 8): { shown: string; more: number } {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const name = stripControlChars(path.replace(/^.*\/(?=[^/])/, ''))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const all = [...counts].map(([name, times]) => (times > 1 ? `${name} (${times})` : name))
  return { shown: all.slice(0, maxNames).join(', '), more: Math.max(0, all.length - maxNames) }
}

function missingIndexNotice(files: FoundFile[], folder: string): string[] {
  const line = missingIndexWarning(files.map(({ path }) => path))
  if (line === undefined) return []
  const built = builtFolder(folder)
  return built ? [line, `Did you mean the folder ${join(folder, built)}?`] : [line]
}
