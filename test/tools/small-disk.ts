import { execFile } from 'node:child_process'
import { mkdtemp, open, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A disk of its own that can be filled; a test says `needs('small-disk')`. */
export interface SmallDisk extends AsyncDisposable {
  folder: string
  /** Takes all the space that is left but so many bytes. */
  fill(but?: number): Promise<void>
  /** Gives back what `fill` took. */
  clear(): Promise<void>
  /** While it is so, nothing can be written at all. */
  readOnly(yes: boolean): Promise<void>
}

export async function mountSmallDisk(bytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'slipway-test', folder])
  const ballast = join(folder, 'ballast')
  return {
    folder,
    async fill(but = 0) {
      await using file = await open(ballast, 'a')
      await takeAll(file)
      const { size } = await file.stat()
      await file.truncate(Math.max(0, size - but))
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

/** Writes until the disk takes no more, in smaller and smaller pieces. */
async function takeAll(file: Awaited<ReturnType<typeof open>>): Promise<void> {
  for (let piece = 65_536; piece >= 4096; ) {
    try {
      await file.write(Buffer.alloc(piece))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      piece /= 2
    }
  }
}
