import { randomBytes } from 'node:crypto'
import { open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { formatBytes, formatNumber } from '../../../protocol/format.ts'
import { type ReserveSize, reserveBytes } from '../../blobs/disk-reserve.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

const FLUSHES = 10

/** A publish waits for several flushes. */
const SLOW_FLUSH_MS = 50

const LOW_FREE_INODES = 0.05

/** Measures flushes in the writable folder. `storesFiles`: whether the database or the files of sites are there. */
export async function checkDisk(
  folder: string,
  { reserve, storesFiles }: { reserve: ReserveSize | undefined; storesFiles: boolean },
): Promise<CheckResult[]> {
  const { bavail, blocks, bsize, files, ffree } = await statfs(folder)
  const freeBytes = bavail * bsize
  const needed = reserveBytes(reserve, blocks * bsize)
  const space = `${formatBytes(freeBytes)} are free of ${formatBytes(blocks * bsize)}`
  const inodes = `${formatNumber(ffree)} of ${formatNumber(files)} inodes are free`
  return [
    await checkFlushes(folder),
    freeBytes < needed
      ? describeShortage(`${space}, less than SLIPWAY_DISK_RESERVE (${formatBytes(needed)})`, storesFiles)
      : ok('disk space', space),
    // Some file systems have no limit, and report 0.
    files > 0 && ffree < files * LOW_FREE_INODES
      ? warning('disk inodes', `${inodes}: each published file needs one; delete files, or use a larger disk`)
      : ok('disk inodes', files > 0 ? inodes : 'the file system has no limit'),
  ]
}

function describeShortage(found: string, storesFiles: boolean): CheckResult {
  return storesFiles
    ? failed('disk space', `${found}: publishing is refused; make room`)
    : warning(
        'disk space',
        `${found}: zip archives above 1 MiB are refused, and no file is cached; make room`,
      )
}

async function checkFlushes(folder: string): Promise<CheckResult> {
  const file = join(folder, `.slipway-check-${randomBytes(8).toString('hex')}`)
  const times: number[] = []
  try {
    await using handle = await open(file, 'wx', 0o600)
    for (let flush = 0; flush < FLUSHES; flush++) {
      await handle.write(randomBytes(4096))
      const startedAt = performance.now()
      await handle.sync()
      times.push(performance.now() - startedAt)
    }
  } catch (error) {
    return failed('disk flush', `${dirname(file)}: ${(error as Error).message}`)
  } finally {
    await rm(file, { force: true })
  }
  const median = times.sort((one, other) => one - other)[FLUSHES / 2]!
  const found = `a flush takes ${median.toFixed(1)} ms`
  return median > SLOW_FLUSH_MS
    ? warning(
        'disk flush',
        `${found}: each publish waits for several; use a faster disk, or one that is not shared`,
      )
    : ok('disk flush', found)
}
