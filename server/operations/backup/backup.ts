import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { BlobLocation } from '../../blobs/blobs.ts'
import { isDamage } from '../../blobs/damage.ts'
import { Component } from '../../lib/component.ts'
import { forEachConcurrent } from '../../lib/concurrency.ts'
import { MINUTE_MS } from '../../lib/time.ts'
import { INDEPENDENT, type Store } from '../../store/store.ts'
import { BACKUP_LEASE, BACKUP_LEASE_MS } from '../../store/tables/nodes.ts'
import type { Snapshot } from '../../store/transfer.ts'
import type { BlobSource } from '../move.ts'
import { AscendingFiles, CONTENTS, FileListWriter, isListed, toContentName } from './file-list.ts'
import { type BackupManifest, FORMAT, putManifest, toBackupTime } from './manifest.ts'
import { BackupError, type BackupTarget, type ContentIdentity } from './target.ts'

export interface BackupProgress {
  files: number
  copiedFiles: number
  copiedBytes: number
}

export interface BackupOptions {
  target: BackupTarget
  database: string
  snapshot: Snapshot
  /** Milliseconds since 1970. */
  at: number
  blobs: BlobSource
  lease: BackupLease
  workFolder: string
  release: string
  service: string
  secret: string | undefined
  signal?: AbortSignal | undefined
  report(progress: BackupProgress): void
}

const MAX_CONCURRENT_FILES = 16

/** Longer files are streamed. */
const MAX_BUFFERED_BYTES = 2 ** 20

/** Stores the database, and the files it names that the target does not have. Throws the reason of `signal`. */
export async function backUp(options: BackupOptions): Promise<BackupManifest & BackupProgress> {
  try {
    return await copyAll(options)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw error
  }
}

async function copyAll(options: BackupOptions): Promise<BackupManifest & BackupProgress> {
  const { target, database, snapshot, at, lease, workFolder, release, service, secret } = options
  const copied = await copyFiles(options)
  const compressed = join(workFolder, 'slipway.db.zst')
  const { size: bytes } = await stat(database)
  const identity = await compress(database, compressed)
  await putFile(target, compressed, identity)
  await putFile(target, copied.listFile, copied.list)
  await target.flush()
  await lease.assertHeld()
  options.signal?.throwIfAborted()
  const manifest: BackupManifest = {
    format: FORMAT,
    time: toBackupTime(at),
    release,
    service,
    database: { ...identity, bytes },
    list: copied.list,
    counts: { ...(await snapshot.count()), files: copied.progress.files, bytes: copied.bytes },
    damaged: copied.damaged,
    ...(secret !== undefined && { secret }),
  }
  await putManifest(target, manifest)
  return { ...manifest, ...copied.progress }
}

interface CopiedFiles {
  listFile: string
  list: ContentIdentity
  bytes: number
  damaged: string[]
  progress: BackupProgress
}

async function copyFiles(options: BackupOptions): Promise<CopiedFiles> {
  const { target, snapshot, blobs, workFolder, signal, report } = options
  const listFile = join(workFolder, 'list')
  await using list = await FileListWriter.create(listFile)
  const stored = new AscendingFiles(target.list(CONTENTS))
  const damaged = new Set<string>()
  const progress: BackupProgress = { files: 0, copiedFiles: 0, copiedBytes: 0 }
  let bytes = 0
  for await (const page of snapshot.blobs()) {
    const missing: BlobLocation[] = []
    for (const location of page) if (!(await isListed(stored, location))) missing.push(location)
    await forEachConcurrent(MAX_CONCURRENT_FILES, missing, async (location) => {
      if (await copyFile({ blobs, target, signal }, location)) {
        progress.copiedFiles++
        progress.copiedBytes += location.size
      } else damaged.add(location.hash)
    })
    for (const location of page) {
      if (damaged.has(location.hash)) continue
      await list.add(location)
      progress.files++
      bytes += location.size
    }
    report(progress)
  }
  return { listFile, list: await list.finish(), bytes, damaged: [...damaged], progress }
}

/** Compares it with its hash. False when the service has lost the file, or has other bytes. */
export async function copyFile(
  { blobs, target, signal }: Pick<BackupOptions, 'blobs' | 'target' | 'signal'>,
  location: BlobLocation,
): Promise<boolean> {
  signal?.throwIfAborted()
  let body: Readable | undefined
  try {
    body = await openFile(blobs, location)
    if (!body) return false
    if (signal) addAbortSignal(signal, body)
    // `put` gets the error when it reads.
    body.on('error', () => undefined)
    await target.put(toContentName(location.hash), body, location)
    return true
  } catch (error) {
    if (isDamage(error)) return false
    throw error
  } finally {
    body?.destroy()
  }
}

async function openFile(blobs: BlobSource, location: BlobLocation): Promise<Readable | undefined> {
  if (location.size > MAX_BUFFERED_BYTES) return blobs.read(location)
  const bytes = await blobs.bytes(location)
  return bytes && Readable.from([bytes])
}

async function compress(file: string, compressed: string): Promise<ContentIdentity> {
  const hash = createHash('sha256')
  let size = 0
  await using output = await open(compressed, 'w', 0o600)
  await pipeline(createReadStream(file), createZstdCompress(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
      await output.appendFile(chunk)
    }
  })
  return { hash: hash.digest('hex'), size }
}

async function putFile(target: BackupTarget, file: string, identity: ContentIdentity): Promise<void> {
  await target.put(toContentName(identity.hash), createReadStream(file), identity)
}

const RENEWAL_INTERVAL_MS = MINUTE_MS

/** While it is held, no file that the database names is deleted, and no other backup runs. */
export class BackupLease
  extends Component<{ store: Store; holder: string; fence: number }>
  implements AsyncDisposable
{
  // A failed renewal is found before the backup is complete.
  readonly #timer = setInterval(
    () => void this.assertHeld().catch(() => undefined),
    RENEWAL_INTERVAL_MS,
  ).unref()

  /** BackupError while another backup runs. */
  static async acquire(store: Store): Promise<BackupLease> {
    const holder = randomUUID()
    const now = store.clock()
    const fence = await store.write('durable', INDEPENDENT, ({ leases }) =>
      leases.acquire(BACKUP_LEASE, holder, now, now + BACKUP_LEASE_MS),
    )
    if (fence !== undefined) return new BackupLease({ store, holder, fence })
    throw new BackupError(
      'Another backup of this service is running, or was killed within the last ten minutes.',
    )
  }

  /** Renews the lease. Throws when it ended before, because files of the backup may have been deleted. */
  async assertHeld(): Promise<void> {
    const { store, ...lease } = this.parts
    const isHeld = await store.write('relaxed', INDEPENDENT, async ({ leases }) => {
      const now = store.clock()
      const until = now + BACKUP_LEASE_MS
      const isTaken = await leases.isTaken(BACKUP_LEASE, now, until)
      return isTaken && leases.extend({ name: BACKUP_LEASE, ...lease, until })
    })
    if (!isHeld) throw new BackupError('The backup was interrupted for ten minutes. Run the command again.')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    const { store, holder } = this.parts
    await store.write('relaxed', INDEPENDENT, ({ leases }) => leases.release(BACKUP_LEASE, holder))
  }
}
