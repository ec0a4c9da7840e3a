import { execFile } from 'node:child_process'
import { mkdtemp, open, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A small file system that can be filled; tests use `requires('small-disk')`. */
export interface SmallDisk extends AsyncDisposable {
  folder: string
  /** Fills the disk except for `freeBytes`. */
  fill(freeBytes?: number): Promise<void>
  /** Frees the space that `fill` took. */
  clear(): Promise<void>
  /** Makes the file system read-only, or writable again. */
  readOnly(yes: boolean): Promise<void>
}

export async function mountSmallDisk(bytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'slipway-test', folder])
  const ballast = join(folder, 'ballast')
  return {
    folder,
    async fill(freeBytes = 0) {
      await using file = await open(ballast, 'a')
      await fillDisk(file)
      const { size } = await file.stat()
      await file.truncate(Math.max(0, size - freeBytes))
    },
    clear: () => rm(ballast, { force: true }),
    async readOnly(yes) {
      await run('mount', ['-o', `remount,${yes ? 'ro' : 'rw'}`, folder])
    },
    async [Symbol.asyncDispose]() {
      await run('umount', ['--lazy', folder])
      await rmdir(folder)
    },
  }
}

/** Writes until the disk is full, in decreasing chunks. */
async function fillDisk(file: Awaited<ReturnType<typeof open>>): Promise<void> {
  const zeros = Buffer.alloc(2 ** 20)
  for (let piece = zeros.length; piece >= 4096; ) {
    try {
      await file.write(zeros, 0, piece)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      piece /= 2
    }
  }
}
