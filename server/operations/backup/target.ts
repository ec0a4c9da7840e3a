import type { Readable } from 'node:stream'
import { UnreadableFileError } from '../../blobs/damage.ts'

export interface TargetFile {
  /** With slashes between folders. */
  name: string
  size: number
}

/**
 * Where backups are stored.
 *
 * - Atomic: a file has all of its bytes, or is absent or what it was before.
 * - Files that were put survive a power cut once `flush` has returned.
 * - BackupTargetError when the target is full, absent or refuses.
 */
export interface BackupTarget {
  /** Replaces a file of the same name. Rejects with the error of `body`, also when it has other bytes. */
  put(name: string, body: Readable, expected: ContentIdentity): Promise<void>

  /** The bytes of a file of this size; undefined when it is absent. UnreadableFileError, also of the stream. */
  read(file: TargetFile): Promise<Readable | undefined>

  /** Includes folders in the folder; in the byte order of names. */
  list(folder: string): AsyncGenerator<TargetFile>

  /** Absent files are ignored. */
  remove(names: readonly string[]): Promise<void>

  flush(): Promise<void>
}

export interface ContentIdentity {
  size: number
  /** SHA-256 as 64 lowercase hex characters. */
  hash: string
}

/** A sentence for the operator. */
export class BackupError extends Error {
  override name = 'BackupError'
}

export class BackupTargetError extends BackupError {
  constructor(problem: string, cause?: unknown) {
    super(`The backup target ${problem}.`, { cause })
  }
}

export async function withTargetErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toTargetError(error)
  }
}

export function toTargetError(error: unknown): BackupTargetError {
  if (error instanceof BackupTargetError) return error
  const { code, message, cause } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'INSUFFICIENT_STORAGE')
    return new BackupTargetError(
      'is full: make room there, and run the command again. It continues, and earlier backups are complete',
      error,
    )
  const reason = (cause as Error | undefined)?.message ?? message
  const sentence = `cannot be used (${reason}): run the command again when it works. It continues, and earlier backups are complete`
  return new BackupTargetError(sentence, error)
}

export function unreadableInTarget(name: string, cause?: unknown): UnreadableFileError {
  return new UnreadableFileError(`The backup target cannot read ${name}.`, cause)
}
