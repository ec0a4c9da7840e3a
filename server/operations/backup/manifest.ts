import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { isDamage } from '../../blobs/damage.ts'
import { parseJsonObject } from '../../lib/json-object.ts'
import { findSecretProblem } from '../../lib/tokens.ts'
import type { SnapshotCounts } from '../../store/transfer.ts'
import {
  BackupError,
  type BackupTarget,
  BackupTargetError,
  type ContentIdentity,
  type TargetFile,
} from './target.ts'

/** Describes a complete backup, and is stored last. */
export interface BackupManifest {
  format: typeof FORMAT
  /** In the form of the name of the backup: `2026-11-23T10-32-02.123Z`. */
  time: string
  release: string
  service: string
  /** Compressed with Zstandard. `bytes` is its size when it is decompressed. */
  database: ContentIdentity & { bytes: number }
  /** Lists all other contents. */
  list: ContentIdentity
  counts: SnapshotCounts & { files: number; bytes: number }
  /** Hashes of files that the service had lost or damaged: they are in no list. */
  damaged: readonly string[]
  /** The secret of the service, unless it was left out. */
  secret?: string
}

/** The target can be read, but not this backup. */
class UnusableManifestError extends BackupTargetError {}

export const FORMAT = 1

const FOLDER = 'backups'

const COUNTS = ['accounts', 'sites', 'versions', 'files', 'bytes'] as const

const MAX_MANIFEST_BYTES = 2 ** 26

const TIME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/

/** ISO 8601, without colons, which some file systems refuse. */
export function toBackupTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replaceAll(':', '-')
}

export async function putManifest(target: BackupTarget, manifest: BackupManifest): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
  const hash = createHash('sha256').update(bytes).digest('hex')
  await target.put(toName(manifest.time), Readable.from([bytes]), { hash, size: bytes.length })
  await target.flush()
}

/** The times of complete backups, the newest first. */
export async function listBackups(target: BackupTarget): Promise<string[]> {
  return (await listFiles(target)).map(toTime)
}

/** The manifest of this time, or of the newest backup. BackupTargetError when there is none. */
export async function readManifest(target: BackupTarget, time?: string): Promise<BackupManifest> {
  const file = (await listFiles(target)).find((one) => time === undefined || toTime(one) === time)
  if (file) return readFile(target, file)
  throw new BackupTargetError(
    time === undefined
      ? 'has no complete backup'
      : `has no backup ${time}; \`slipway-server backup list\` lists those it has`,
  )
}

/** `problem` says why the backup cannot be restored. */
export type ListedBackup = { time: string } & ({ manifest: BackupManifest } | { problem: string })

/** All complete backups, the newest first, also those whose manifest is damaged or of a newer release. */
export async function* listManifests(target: BackupTarget): AsyncGenerator<ListedBackup> {
  for (const file of await listFiles(target)) {
    const time = toTime(file)
    try {
      yield { time, manifest: await readFile(target, file) }
    } catch (error) {
      if (!(error instanceof UnusableManifestError)) throw error
      yield { time, problem: error.message }
    }
  }
}

/** BackupError when the newest backup that can be read is of another service: it would not be restored any more. */
export async function assertNewestOf(target: BackupTarget, service: string): Promise<void> {
  for await (const one of listManifests(target)) {
    if (!('manifest' in one)) continue
    if (one.manifest.service === service) return
    throw new BackupError(
      `The newest backup in the target, ${one.time}, is of another service, ${one.manifest.service}; this one is ${service}. Nothing was copied. Check SLIPWAY_DATA, and whether the disk of the data folder is mounted. If this service is to use the target from now on, run once: slipway-server backup --other-service`,
    )
  }
}

export async function removeManifests(target: BackupTarget, times: readonly string[]): Promise<void> {
  await target.remove(times.map(toName))
}

async function listFiles(target: BackupTarget): Promise<TargetFile[]> {
  const files = await Array.fromAsync(target.list(FOLDER))
  return files.filter((file) => TIME.test(toTime(file)) && file.name === toName(toTime(file))).reverse()
}

async function readFile(target: BackupTarget, file: TargetFile): Promise<BackupManifest> {
  try {
    const body = file.size > MAX_MANIFEST_BYTES ? undefined : await target.read(file)
    if (body) return parseManifest(await buffer(body), toTime(file))
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  throw damagedManifest(file.name)
}

/** UnusableManifestError when a program or a person has changed it, or a newer release wrote it. */
function parseManifest(bytes: Buffer, time: string): BackupManifest {
  const manifest = parseJsonObject(bytes.toString())
  if (manifest?.time !== time) throw damagedManifest(toName(time))
  if (typeof manifest.format === 'number' && manifest.format > FORMAT)
    throw new UnusableManifestError(
      `has a backup of a newer release, ${isWord(manifest.release) ? manifest.release : 'not named'}: use that release`,
    )
  if (!isManifest(manifest)) throw damagedManifest(toName(time))
  const problem = manifest.secret === undefined ? undefined : findSecretProblem(manifest.secret)
  if (problem !== undefined)
    throw new UnusableManifestError(`has a backup with an unusable secret, ${toName(time)}: ${problem}`)
  return manifest
}

function isManifest(given: object): given is BackupManifest {
  const { secret = '', database, counts, ...more }: Partial<BackupManifest> = given
  return (
    more.format === FORMAT &&
    [more.service, more.release].every(isWord) &&
    typeof secret === 'string' &&
    [database, more.list].every(isIdentity) &&
    [database?.bytes, ...COUNTS.map((name) => counts?.[name])].every(isCount) &&
    Array.isArray(more.damaged)
  )
}

/** Terminals print it. */
function isWord(given: unknown): boolean {
  return typeof given === 'string' && /^[\w.+-]{1,64}$/.test(given)
}

function isIdentity(given?: Partial<ContentIdentity>): boolean {
  return /^[0-9a-f]{64}$/.test(String(given?.hash)) && isCount(given?.size)
}

function isCount(given: unknown): boolean {
  return Number.isSafeInteger(given) && (given as number) >= 0
}

function damagedManifest(name: string): UnusableManifestError {
  return new UnusableManifestError(
    `has a damaged manifest: ${name}. Use another backup; delete this file if it cannot be repaired`,
  )
}

function toName(time: string): string {
  return `${FOLDER}/${time}.json`
}

function toTime({ name }: TargetFile): string {
  return name.slice(FOLDER.length + 1, -'.json'.length)
}
