import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, open, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A small file system that can be filled; tests use `requires('small-disk')`. */
export interface SmallDisk extends AsyncDisposable {
  folder: string
  /** Fills the disk except for `freeBytes`. */
  fill(freeBytes?: number): Promise<void>
  /** Creates empty files until the limit of `inodes`, except for this many. */
  fillInodes(free?: number): Promise<void>
  /** Frees what `fill` and `fillInodes` took. */
  clear(): Promise<void>
  /** Makes the file system read-only, or writable again. */
  readOnly(yes: boolean): Promise<void>
}

export async function mountSmallDisk(bytes: number, { inodes = 0 } = {}): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},nr_inodes=${inodes}`, 'slipway-test', folder])
  const [filler, empty] = [join(folder, 'filler'), join(folder, 'empty')]
  return {
    folder,
    async fill(freeBytes = 0) {
      await using file = await open(filler, 'a')
      await fillDisk(file)
      const { size } = await file.stat()
      await file.truncate(Math.max(0, size - freeBytes))
    },
    async fillInodes(free = 0) {
      await mkdir(empty, { recursive: true })
      const { ffree } = await statfs(folder)
      for (let count = free; count < ffree; count++) await writeFile(join(empty, `${count}`), '')
    },
    async clear() {
      for (const path of [filler, empty]) await rm(path, { recursive: true, force: true })
    },
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
