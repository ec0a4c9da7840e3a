import { randomUUID } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../../../packages/files/make-folder.ts'
import { CliError } from '../cli-error.ts'

/** Of places that cannot be written: those of another user, read-only mounts, full disks, `HOME=/dev/null`, `HOME=/proc`. */
const UNWRITABLE_CODES = new Set(
  'EACCES EPERM EROFS ENOTDIR ENOSPC EDQUOT ENOENT EEXIST ELOOP ENAMETOOLONG'.split(' '),
)

export function isUnwritable(error: unknown): error is NodeJS.ErrnoException {
  return UNWRITABLE_CODES.has(codeOf(error))
}

export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code)
}

/** The JSON in a file, or undefined when the file does not exist, or is in the folder of another user. */
export function readPrivate(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || !canEnter(dirname(file))) return undefined
    throw error
  }
  try {
    return JSON.parse(text)
  } catch {
    throw invalidFile(file, 'is not valid JSON')
  }
}

function canEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The error of a file that the program wrote and cannot read. */
export function invalidFile(file: string, problem: string): CliError {
  return new CliError(`${file} ${problem}`, 'Repair the file, or delete it to start over.')
}

/** Maximum time for which another command is expected to change a file; after it, that command has been killed. */
const LOCK_TIMEOUT_MS = 2000

const LOCK_INTERVAL_MS = 10

/** Reads and replaces a file while no other command does. Where nothing can be locked, `change` reports why. */
export function changePrivate<T>(file: string, change: () => T): T {
  const lock = `${file}.lock`
  const isLocked = isWritable(dirname(file)) && acquire(lock)
  try {
    return change()
  } finally {
    if (isLocked) rmSync(lock, { recursive: true, force: true })
  }
}

/** Creates the folder. */
function isWritable(folder: string): boolean {
  try {
    makeFolder(folder, 0o700)
    return true
  } catch {
    return false
  }
}

function acquire(lock: string): boolean {
  for (let waitedMs = 0; waitedMs < LOCK_TIMEOUT_MS; waitedMs += LOCK_INTERVAL_MS) {
    try {
      const held = lstatSync(lock, { throwIfNoEntry: false })
      // Renamed first, so that one of several commands removes it.
      if (held && Date.now() - held.mtimeMs > LOCK_TIMEOUT_MS) removeStale(lock)
      mkdirSync(lock)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_INTERVAL_MS)
  }
  return false
}

function removeStale(lock: string): void {
  const stale = `${lock}.${randomUUID()}`
  try {
    renameSync(lock, stale)
  } catch (error) {
    // Another command has removed it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  rmSync(stale, { recursive: true, force: true })
}

/** Atomically replaces a file by this JSON, with mode 0600 in a folder with mode 0700. */
export function writePrivate(file: string, value: unknown): void {
  writePrivateText(file, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** The same with this text. A link in place of the file is replaced. */
export function writePrivateText(file: string, text: string): void {
  const folder = dirname(file)
  try {
    makeFolder(folder, 0o700)
    chmodSync(folder, 0o700)
    replaceFile(file, text)
  } catch (error) {
    if (isUnwritable(error)) Object.assign(error, { path: folder })
    if (isUnwritable(error) && !isDiskFull(error))
      Object.assign(error, { hints: [`Make it writable for this user: ${folder}`] })
    throw error
  }
}

function replaceFile(file: string, text: string): void {
  const fresh = `${file}.${randomUUID()}`
  try {
    writeFileSync(fresh, text, { mode: 0o600, flag: 'wx' })
    renameSync(fresh, file)
  } finally {
    rmSync(fresh, { force: true })
  }
}
