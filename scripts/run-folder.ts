import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
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
  return { path, [Symbol.dispose]: () => deleteLeftover(path) }
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
    if (pid !== undefined && !isRunning(Number(pid))) deleteLeftover(join(parent, name))
  }
}

/** Ends the mounts of its tests first. What another user left, or a mount that cannot be ended, stays. */
function deleteLeftover(folder: string): void {
  for (const mount of listMounts().filter((path) => path.startsWith(`${folder}/`)))
    spawnSync('umount', ['--lazy', mount])
  try {
    rmSync(folder, DELETE)
  } catch {
    // The next run tries again.
  }
}

/** The paths of all mounts, the last one first; empty where the system does not list them. */
function listMounts(): string[] {
  try {
    const lines = readFileSync('/proc/self/mounts', 'utf8').trimEnd().split('\n')
    return lines.map((line) => line.split(' ')[1]!).reverse()
  } catch {
    return []
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
