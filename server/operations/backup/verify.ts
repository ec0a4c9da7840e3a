import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { BlobState } from '../../blobs/blobs.ts'
import { isDamage } from '../../blobs/damage.ts'
import { DAY_MS } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import type { BlobSource } from '../move.ts'
import { copyFile } from './backup.ts'
import { AscendingFiles, CONTENTS, hasContent, isListed, parseFileList, toContentName } from './file-list.ts'
import type { BackupManifest } from './manifest.ts'
import type { BackupTarget, ContentIdentity } from './target.ts'

export interface VerifyResult {
  files: number
  bytes: number
  missing: string[]
  /** The target has other bytes for these hashes. */
  damaged: string[]
}

/** `number` counts from 0 of `of` parts of about the same size. */
export interface FilePart {
  number: number
  of: number
}

/** Another part on each day of the local calendar, by which timers run. */
export function partOfDay(now: Date, of: number): FilePart {
  const days = Date.UTC(now.getFullYear(), now.getMonth(), now.getDate()) / DAY_MS
  return { number: days % of, of }
}

/** Reads all that a backup has, or only a part of its files, and compares it with its hashes. */
export async function verify(
  target: BackupTarget,
  { database, list }: BackupManifest,
  report: (result: VerifyResult) => void,
  part: FilePart = { number: 0, of: 1 },
): Promise<VerifyResult> {
  const result: VerifyResult = { files: 0, bytes: 0, missing: [], damaged: [] }
  const check = async (identity: ContentIdentity) => {
    const state = await compareContent(target, identity)
    if (state !== 'intact') result[state].push(identity.hash)
    result.files++
    result.bytes += identity.size
    report(result)
  }
  await check(database)
  await check(list)
  if (result.missing.includes(list.hash) || result.damaged.includes(list.hash)) return result
  for await (const identity of await openList(target, list))
    if (Number.parseInt(identity.hash.slice(0, 8), 16) % part.of === part.number) await check(identity)
  return result
}

/** Compares only names and sizes. */
export async function findMissing(
  target: BackupTarget,
  { database, list }: BackupManifest,
): Promise<string[]> {
  const missing: string[] = []
  for (const root of [database, list]) if (!(await hasContent(target, root))) missing.push(root.hash)
  if (missing.length > 0) return missing
  const stored = new AscendingFiles(target.list(CONTENTS))
  for await (const identity of await openList(target, list))
    if (!(await isListed(stored, identity))) missing.push(identity.hash)
  return missing
}

export function openContent(
  target: BackupTarget,
  { hash, size }: ContentIdentity,
): Promise<Readable | undefined> {
  return target.read({ name: toContentName(hash), size })
}

async function openList(
  target: BackupTarget,
  list: ContentIdentity,
): Promise<AsyncGenerator<ContentIdentity>> {
  return parseFileList((await openContent(target, list))!)
}

export async function compareContent(target: BackupTarget, identity: ContentIdentity): Promise<BlobState> {
  try {
    const body = await openContent(target, identity)
    if (!body) return 'missing'
    const hash = createHash('sha256')
    for await (const chunk of body) hash.update(chunk as Buffer)
    return hash.digest('hex') === identity.hash ? 'intact' : 'damaged'
  } catch (error) {
    if (isDamage(error)) return 'damaged'
    throw error
  }
}

/** Returns the contents that were copied. Call it with the lease of a backup. */
export async function repair(
  target: BackupTarget,
  { store, blobs }: { store: Store; blobs: BlobSource },
  hashes: readonly string[],
): Promise<string[]> {
  const repaired: string[] = []
  for (const hash of hashes) {
    const location = await store.read.blobs.find(hash)
    if (location && (await copyFile({ blobs, target }, location))) repaired.push(hash)
  }
  await target.flush()
  return repaired
}
