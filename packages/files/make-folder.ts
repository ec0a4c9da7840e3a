import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and those above it that are missing, all with this mode; several processes may do so at the same time.
 * Throws the error of the first one that cannot be created. The recursive `mkdir` of Node does not end where the system
 * says ENOENT for a folder whose parent exists, as below /proc, and says ENOENT for a disk that cannot be written.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  const missing: string[] = []
  for (let at = resolve(folder); !isFolder(at); at = dirname(at)) missing.unshift(at)
  for (const path of missing) {
    try {
      mkdirSync(path, mode)
    } catch (error) {
      if (!isFolder(path)) throw error
    }
  }
}

/** False for the root of a disk that does not exist. */
function isFolder(path: string): boolean {
  return dirname(path) === path || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
