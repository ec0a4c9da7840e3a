import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Validity } from '../../../packages/http-server/tls/certificate-files.ts'
import { formatBytes, formatNumber } from '../../../protocol/format.ts'
import { type ReserveSize, reserveBytes } from '../../blobs/disk-reserve.ts'
import type { Config } from '../../config/settings.ts'
import { attempt } from '../../lib/attempt.ts'
import { DAY_MS, formatUtc } from '../../lib/time.ts'
import { findSecretProblem } from '../../lib/tokens.ts'
import { drawPage } from '../../sites/draw-page.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

/** Whether the data folder, or the folder that it would be created in, can be written, and its disk. */
export async function checkFolder(config: Config): Promise<CheckResult[]> {
  const { data: folder, diskReserve: reserve, databaseUrl, blobsUrl } = config
  const storesFiles = databaseUrl === '' || blobsUrl === ''
  const name = 'data folder'
  let existing = folder
  while (!existsSync(existing)) existing = dirname(existing)
  if (!isWritableFolder(existing)) {
    const message = `SLIPWAY_DATA: ${existing} is not a folder that the user of this process can write to`
    return [failed(name, message)]
  }
  const found = existing === folder ? folder : `${folder} can be created`
  return [ok(name, found), ...(await checkDisk(existing, { reserve, storesFiles }))]
}

function isWritableFolder(path: string): boolean {
  const stats = attempt(() => {
    accessSync(path, constants.W_OK)
    return statSync(path)
  })
  return stats?.isDirectory() === true
}

const FLUSHES = 10

const SLOW_FLUSH_MS = 50

const LOW_FREE_INODES = 0.05

/** Measures flushes in the writable folder. `storesFiles`: whether the database or the files of sites are there. */
async function checkDisk(
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

export function checkAccessLog({ accessLog: path }: Config): CheckResult[] {
  if (path === 'off' || path === 'stdout') return []
  const name = 'access log'
  const target = existsSync(path) ? path : dirname(path)
  try {
    accessSync(target, constants.W_OK)
    if (statSync(target).isDirectory() === (target !== path)) return [ok(name, path)]
  } catch {
    // The message names what is missing.
  }
  const advice = 'create its folder, owned by the user of the service'
  return [failed(name, `SLIPWAY_ACCESS_LOG: the user of this process cannot write to ${path}: ${advice}`)]
}

/** A certificate that is valid for less than both should have been replaced; some are valid for days only. */
const LATE_RENEWAL_MS = 10 * DAY_MS
const LATE_RENEWAL_PART = 1 / 8

/** Whether the certificate file of the operator can be used, and for how long: nothing here renews it. */
export function checkCertificateFile(
  now: number,
  read: () => (Validity & { problem: string | undefined }) | undefined,
): CheckResult[] {
  const name = 'certificate file'
  try {
    const life = read()
    if (life === undefined) return []
    const left = life.notAfter - now
    const found = `SLIPWAY_TLS_CERT_FILE is valid until ${formatUtc(life.notAfter)}`
    if (now < life.notBefore)
      return [
        failed(name, `${found}, but only from ${formatUtc(life.notBefore)}: browsers refuse it until then`),
      ]
    if (left <= 0) return [failed(name, `${found}: browsers refuse it; replace it`)]
    if (life.problem) return [warning(name, `SLIPWAY_TLS_CERT_FILE: ${life.problem}`)]
    return left < Math.min(LATE_RENEWAL_MS, (life.notAfter - life.notBefore) * LATE_RENEWAL_PART)
      ? [warning(name, `${found}: replace it, or find out why its renewal fails`)]
      : [ok(name, found)]
  } catch (error) {
    return [failed(name, (error as Error).message)]
  }
}

export function checkSecret({ secret, data }: Config): CheckResult {
  const file = join(data, 'secret')
  const stored = secret || readSecret(data)
  if (stored === undefined) return ok('secret', `${file} is created by the first start`)
  const place = secret ? 'SLIPWAY_SECRET' : file
  const problem = findSecretProblem(stored)
  if (problem !== undefined) return failed('secret', `${place}: ${problem}`)
  const mode = secret ? 0 : statSync(file).mode & 0o077
  if (mode !== 0) return failed('secret', `${file} can be read by other users: chmod 600 ${file}`)
  return ok('secret', `${place} has ${stored.length} characters`)
}

/** Undefined when there is no secret, or when it belongs to another user. */
export function readSecret(data: string): string | undefined {
  return attempt(() => readFileSync(join(data, 'secret'), 'utf8').trim())
}

const DRAWN_PAGE = {
  status: 200,
  headers: ['Content-Type', 'text/html'],
  body: Buffer.from('<!doctype html><p>Page'),
}

export async function checkChromium(program: Config, timeoutMs: number): Promise<CheckResult[]> {
  if (program.chromium === '') return []
  try {
    await drawPage({ program, url: 'https://check.invalid/', respond: async () => DRAWN_PAGE, timeoutMs })
    return [ok('thumbnails', `${program.chromium} has drawn a page`)]
  } catch (error) {
    return [failed('thumbnails', `SLIPWAY_CHROMIUM: ${(error as Error).message}`)]
  }
}
