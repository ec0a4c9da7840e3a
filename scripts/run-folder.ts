import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREFIX = 'slipway-tests-'

/** In memory, where the system has such a folder: tests write and flush gigabytes. */
const MEMORY_FOLDER = '/dev/shm'

/** Free bytes of memory that a run needs there, with a margin. */
const MIN_FREE_BYTES = 8 * 2 ** 30

/** Processes that were killed may still write for a moment. */
const DELETE = { recursive: true, force: true, maxRetries: 3 }

/**
 * The temporary folder of a run: everything that tests create is in it, so that nothing is left when it is deleted.
 * Deletes those of runs that were killed. TEST_TEMPORARY in the environment chooses another place.
 */
export function createRunFolder(): Disposable & { path: string } {
  const parents = [MEMORY_FOLDER, tmpdir()]
  for (const parent of parents) deleteLeftovers(parent)
  const parent = process.env.TEST_TEMPORARY ?? parents.find(hasSpace) ?? tmpdir()
  const path = join(parent, `${PREFIX}${process.pid}`)
  mkdirSync(path)
  // Servers that refuse to run as root use it as another user.
  chmodSync(path, 0o755)
  return { path, [Symbol.dispose]: () => rmSync(path, DELETE) }
}

function hasSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= MIN_FREE_BYTES
  } catch {
    return false
  }
}

function deleteLeftovers(parent: string): void {
  for (const name of listFolder(parent)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)$`).exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(parent, name), DELETE)
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** The id of this process is one of an earlier process: it has no folder yet. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
