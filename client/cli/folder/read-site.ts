import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { OUTPUTS, withoutIndex } from '../../folder/first-page.ts'
import { caseTwins, refusals } from '../../folder/limits.ts'
import { count, harmless, names, size } from '../../words.ts'
import type { Workplace } from '../command.ts'
import { ProgressView } from '../terminal/progress.ts'
import { Trouble } from '../trouble.ts'
import { digestAll, type HashedFile } from './digest.ts'
import { type FoundFile, type Scan, scan } from './scan.ts'

type Setting = Pick<Workplace, 'terminal' | 'patience' | 'signal'>

/** Finds what there is to publish. Throws Trouble when the service would refuse it. */
export function lookThrough(folder: string): Scan {
  const found = scan(folder)
  const refused = refusals(found.files)
  if (refused.length > 0) throw new Trouble('This cannot be published as it is', ...refused.map(harmless))
  if (found.files.length === 0) {
    const reasons = exceptions(found)
    if (reasons.length === 0) reasons.push('It has no files')
    throw new Trouble(`There is nothing to publish in ${folder}`, ...reasons)
  }
  return found
}

/** Reads and hashes the files, showing how far it is where that takes a while. */
export async function readFiles(
  { terminal, patience, signal }: Setting,
  files: FoundFile[],
): Promise<HashedFile[]> {
  const view = new ProgressView(terminal, 'Reading', patience.now)
  const progress = { files: files.length, filesDone: 0, bytes: total(files), bytesDone: 0 }
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

/** The size of all files together, in bytes. */
export function total(files: { size: number }[]): number {
  return files.reduce((sum, file) => sum + file.size, 0)
}

/** What is worth saying about a folder before it is published: what is left out, and what looks like a mistake. */
export function remarks(found: Scan, folder: string): string[] {
  const twins = caseTwins(found.files).map((names) => `Careful: ${harmless(names)}`)
  return [...exceptions(found), ...twins, ...firstPage(found.files, folder)]
}

/** "12 files (340 KB)" */
export function amount(files: { size: number }[]): string {
  return `${count(files.length, 'file')} (${size(total(files))})`
}

/** What is in the folder and will not be in the site: all of it with its path, or a few names of each kind. */
export function exceptions({ leftOut, empty, links, odd }: Scan, all = false): string[] {
  const kinds: [string, string[]][] = [
    ['Left out', leftOut],
    ['Left out, being empty', empty],
    ['Left out, links that lead nowhere in the folder', links],
    ['Left out, not files', odd],
  ]
  return kinds
    .filter(([, paths]) => paths.length > 0)
    .map(([kind, paths]) => `${kind}: ${all ? paths.map(harmless).join(', ') : few(paths)}`)
}

function few(paths: string[]): string {
  const { said, more } = names(paths)
  return more === 0 ? said : `${said} and ${more} more (--dry-run names them all)`
}

function firstPage(files: FoundFile[], folder: string): string[] {
  const line = withoutIndex(files.map(({ path }) => path))
  if (line === undefined) return []
  const built = OUTPUTS.find((name) => existsSync(join(folder, name, 'index.html')))
  return built ? [line, `Did you mean the folder ${join(folder, built)}?`] : [line]
}
