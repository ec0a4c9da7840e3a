import type { Blobs } from '../blobs/blobs.ts'
import type { Log } from '../lib/log.ts'
import type { Arrival } from '../store/contract/versions.ts'
import { INDEPENDENT, type Store, type WriteTransaction } from '../store/store.ts'
import { notInManifest, notPending, type PendingManifestCache } from './pending-manifest-cache.ts'

interface UploadRecorderOptions {
  store: Store
  blobs: Blobs
  manifests: PendingManifestCache
  log: Log
}

/** The received files of one upload or bundle: recorded all together or not at all. */
interface QueuedRows {
  rows: readonly Arrival[]
  resolve(): void
  reject(error: unknown): void
}

interface Recorded {
  /** The versions that are pending. */
  pending: Set<string>
  accepted: Set<Arrival>
  replaced: Arrival[]
}

/** Rows of a transaction, unless a single bundle has more. */
const MAX_TRANSACTION_ROWS = 1000

/** Milliseconds that a finished upload waits for others to share its transaction. */
const COMMIT_DELAY_MS = 2

/**
 * Records received files of pending versions. Uploads that end close together share a transaction, so that a
 * thousand small files cost a fraction of a thousand transactions; a single upload is recorded immediately.
 */
export class UploadRecorder {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #manifests: PendingManifestCache
  readonly #log: Log
  #queued: QueuedRows[] = []
  #inFlight = 0
  #commitTimer: NodeJS.Timeout | undefined
  #writing = false

  constructor({ store, blobs, manifests, log }: UploadRecorderOptions) {
    this.#store = store
    this.#blobs = blobs
    this.#manifests = manifests
    this.#log = log
  }

  /** Runs `receive` as an upload that others may wait for. */
  async track<T>(receive: () => Promise<T>): Promise<T> {
    this.#inFlight++
    try {
      return await receive()
    } finally {
      this.#inFlight--
      if (this.#queued.length > 0) this.#scheduleFlush()
    }
  }

  /**
   * Resolves once the store has recorded the received files of one version: their bytes are then protected from
   * collection, and replaced ones are deleted. UPLOAD_EXPIRED when the version has been finalized or deleted, and
   * INVALID_UPLOAD_TOKEN when its manifest has no such file; in both cases the bytes are deleted.
   */
  add(rows: readonly Arrival[]): Promise<void> {
    if (rows.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#queued.push({ rows, resolve, reject })
      this.#scheduleFlush()
    })
  }

  #scheduleFlush(): void {
    if (this.#writing) return
    if (this.#inFlight === 0) void this.#flush()
    else this.#commitTimer ??= setTimeout(() => void this.#flush(), COMMIT_DELAY_MS)
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#commitTimer)
    this.#commitTimer = undefined
    if (this.#writing) return
    this.#writing = true
    while (this.#queued.length > 0) {
      const uploads = this.#takeQueued()
      try {
        const { pending, accepted, replaced } = await this.#record(uploads)
        await this.#deleteReplaced(replaced)
        for (const { rows, resolve, reject } of uploads) {
          if (rows.every((row) => accepted.has(row))) resolve()
          else reject(pending.has(rows[0]!.versionId) ? notInManifest() : notPending())
        }
      } catch (error) {
        for (const { reject } of uploads) reject(error)
      }
    }
    this.#writing = false
  }

  #takeQueued(): QueuedRows[] {
    let rows = 0
    const end = this.#queued.findIndex((one) => {
      rows += one.rows.length
      return rows > MAX_TRANSACTION_ROWS
    })
    return this.#queued.splice(0, end < 0 ? this.#queued.length : Math.max(end, 1))
  }

  /**
   * `accepted`: rows that match a pending version; `replaced`: earlier rows of the same files, and rows not
   * recorded.
   */
  #record(uploads: readonly QueuedRows[]): Promise<Recorded> {
    const rows = uploads.flatMap((one) => one.rows)
    return this.#store.write('relaxed', INDEPENDENT, async (tx) => {
      const pending = await tx.versions.pendingAmong([...new Set(rows.map((row) => row.versionId))])
      const accepted = await this.#selectValid(tx, rows, pending)
      const latest = new Map([...accepted].map((row) => [fileKey(row), row]))
      const replacedRows = await findEarlier(tx, [...latest.values()])
      await tx.versions.recordArrivals([...latest.values()])
      const earlier = new Set(replacedRows.map(fileKey))
      const repeated = rows.filter((row) => latest.get(fileKey(row)) !== row || earlier.has(fileKey(row)))
      return { pending, accepted, replaced: [...replacedRows, ...repeated] }
    })
  }

  /** The rows that match a file in the manifest of their version by number, size and hash. */
  async #selectValid(
    tx: WriteTransaction,
    rows: readonly Arrival[],
    pending: ReadonlySet<string>,
  ): Promise<Set<Arrival>> {
    const valid = new Set<Arrival>()
    for (const [id, own] of Map.groupBy(rows, (row) => row.versionId)) {
      const manifest = pending.has(id) ? await this.#manifests.load(id, tx) : undefined
      for (const row of own) if (manifest?.has(row)) valid.add(row)
    }
    return valid
  }

  /**
   * A file may be uploaded repeatedly, and late uploads arrive too: only one copy stays on the disk.
   * Concurrent uploads of different bytes may both be lost, which finalize reports.
   */
  async #deleteReplaced(replaced: readonly Arrival[]): Promise<void> {
    for (const [version, rows] of Map.groupBy(replaced, (row) => row.versionId)) {
      try {
        const wanted = new Set((await this.#store.read.versions.listArrivals(version)).map((row) => row.hash))
        await this.#blobs.discard(version, new Map(rows.map(({ hash }) => [hash, wanted.has(hash) ? 1 : 0])))
      } catch (error) {
        // The uploads are recorded, also those of other versions; finalize and a sweep delete what is left.
        this.#log.warn('cannot delete replaced uploads; a sweep will retry', { version, error })
      }
    }
  }
}

function fileKey(row: Arrival): string {
  return `${row.versionId} ${row.fileNumber}`
}

/** Earlier rows of the same files. */
async function findEarlier(tx: WriteTransaction, rows: readonly Arrival[]): Promise<Arrival[]> {
  const found: Arrival[] = []
  for (const [id, files] of Map.groupBy(rows, (row) => row.versionId)) {
    const numbers = files.map((file) => file.fileNumber)
    found.push(...(await tx.versions.arrivalsAmong(id, numbers)))
  }
  return found
}
