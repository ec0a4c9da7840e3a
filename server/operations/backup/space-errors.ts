import { toStorageError } from '../../lib/errors.ts'
import { BackupError } from './target.ts'

/** SQLITE_FULL (sqlite3.h). */
const SQLITE_FULL = 13

/** Throws a BackupError when the disk of the data folder is full: the messages of the service are for publishers. */
export async function withSpaceErrors<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BackupError || !isFull(error)) throw error
    throw new BackupError(
      `The disk of ${folder} has too little free space besides SLIPWAY_DISK_RESERVE. Make room there, or lower that setting for this command, and run it again.`,
      { cause: error },
    )
  }
}

function isFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number }
  return code === 'INSUFFICIENT_STORAGE' || errcode === SQLITE_FULL || toStorageError(error) !== undefined
}
