import { chmodSync, cpSync, lutimesSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../root.mjs'

/** A file of a package. */
export interface PackageFile {
  /** In the package, without a slash at its beginning. */
  path: string
  /** The path of the file in the project, or its content. */
  from: string | { content: string }
  /** Permissions, other than those for everyone to read, and to execute what can be executed. */
  mode?: number
}

/** The files of a folder of the project, at the same paths. */
export function listFolder(folder: string, isWanted = (_path: string) => true): PackageFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFolder(path, isWanted)
    return entry.isFile() && isWanted(path) ? [{ path, from: path }] : []
  })
}

/** Writes the files below a folder, which has only these. All have the time of the release. */
export function writeFiles(folder: string, files: readonly PackageFile[], epoch: number): void {
  const mask = process.umask(0o022)
  for (const file of files) writeOne(join(folder, file.path), file)
  process.umask(mask)
  setTimes(folder, epoch)
}

function writeOne(path: string, { from, mode }: PackageFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  if (typeof from === 'string') cpSync(join(root, from), path)
  else writeFileSync(path, from.content)
  const isProgram = typeof from === 'string' && (statSync(path).mode & 0o100) !== 0
  chmodSync(path, mode ?? (isProgram ? 0o755 : 0o644))
}

/** Folders last: each file that is created in one changes its time. */
function setTimes(folder: string, epoch: number): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) setTimes(path, epoch)
    else lutimesSync(path, epoch, epoch)
  }
  chmodSync(folder, 0o755)
  lutimesSync(folder, epoch, epoch)
}
