import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Blobs } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { MINUTE_MS } from '../lib/time.ts'
import type { Parts } from '../parts.ts'
import { INDEPENDENT, type Store, type WriteTransaction } from '../store/store.ts'
import type { Arrival } from '../store/tables/versions.ts'
import { notInManifest, notPending, type PendingManifestCache } from './pending-uploads.ts'

type UploadRecorderParts = Pick<Parts, 'store' | 'log'> & {
  blobs: Pick<Blobs, 'remove'>
  manifests: PendingManifestCache
}

/** Recorded all together or not at all. */
interface QueuedRows {
  slug: string
  rows: readonly Arrival[]
  resolve(): void
  reject(error: unknown): void
}

interface Recorded {
  pending: ReadonlyMap<string, string>
  accepted: Set<Arrival>
  /** Objects of earlier uploads of the same files, and of rows that are not accepted. */
  discarded: string[]
}

/** Unless a single bundle has more. */
const MAX_TRANSACTION_ROWS = 1000

/** Uploads of a site that end in one turn, or while others are recorded, share a transaction: a thousand would be expensive. */
export class UploadRecorder extends Component<UploadRecorderParts> {
  /** What waits for each site that is being written: a site whose write waits does not delay others. */
  readonly #queues = new Map<string, QueuedRows[]>()

  /**
   * Resolves once the files are recorded; replaced ones are deleted. UPLOAD_EXPIRED when the version has been finalized
   * or deleted, and INVALID_UPLOAD_TOKEN when its manifest has no such file; in both cases the files are deleted. After
   * any other error they may have been recorded.
   */
  add(slug: string, rows: readonly Arrival[]): Promise<void> {
    if (rows.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const added = { slug, rows, resolve, reject }
      const queue = this.#queues.get(slug)
      if (queue) return void queue.push(added)
      this.#queues.set(slug, [added])
      void this.#flush(slug)
    })
  }

  async #flush(slug: string): Promise<void> {
    const queue = this.#queues.get(slug)!
    await nextTurn()
    while (queue.length > 0) {
      const uploads = takeFirst(queue)
      try {
        const recorded = await this.#record(uploads)
        // A client that repeats an upload waits for the deletion of the first one; what comes later does not.
        void this.#delete(recorded.discarded).then(() => settle(uploads, recorded))
      } catch (error) {
        for (const { reject } of uploads) reject(error)
      }
    }
    this.#queues.delete(slug)
  }

  /** `accepted`: rows that match a pending version. */
  async #record(uploads: readonly QueuedRows[]): Promise<Recorded> {
    const slugs = new Set(uploads.map(({ slug }) => slug))
    for (;;) {
      const recorded = await this.#recordWithin(slugs, uploads)
      if (!Array.isArray(recorded)) return recorded
      for (const slug of recorded) slugs.add(slug)
    }
  }

  /** Changes nothing when sites have been renamed: returns their present names, which `slugs` lacks. */
  #recordWithin(slugs: ReadonlySet<string>, uploads: readonly QueuedRows[]): Promise<Recorded | string[]> {
    const rows = uploads.flatMap((one) => one.rows)
    // No version ceases to be pending between the check and the commit.
    const scope = { site: [...slugs] }
    return this.parts.store.write('unread', scope, async (tx) => {
      const pending = await tx.versions.pendingAmong([...new Set(rows.map((row) => row.versionId))])
      const renamed = [...pending.values()].filter((slug) => !slugs.has(slug))
      if (renamed.length > 0) return renamed
      const accepted = await this.#selectValid(tx, rows, pending)
      const replaced = await tx.versions.recordArrivals([...accepted])
      const refused = rows.filter((row) => !accepted.has(row)).map(({ object }) => object)
      await tx.blobs.discard(refused)
      return { pending, accepted, discarded: [...replaced, ...refused] }
    })
  }

  /** The rows that match a file of their manifest by number, size and hash. */
  async #selectValid(
    tx: WriteTransaction,
    rows: readonly Arrival[],
    pending: ReadonlyMap<string, string>,
  ): Promise<Set<Arrival>> {
    const valid = new Set<Arrival>()
    for (const [id, own] of Map.groupBy(rows, (row) => row.versionId)) {
      const manifest = pending.has(id) ? await this.parts.manifests.load(id, tx) : undefined
      for (const row of own) if (manifest?.has(row)) valid.add(row)
    }
    return valid
  }

  /** Without waiting for a sweep: repeated uploads of a file take no more space than one. */
  async #delete(objects: readonly string[]): Promise<void> {
    if (objects.length === 0) return
    try {
      await removeDiscarded(this.parts.store, this.parts.blobs, objects)
    } catch (error) {
      this.parts.log.warn('cannot delete replaced uploads; a sweep will retry', { error })
    }
  }
}

function takeFirst(queue: QueuedRows[]): QueuedRows[] {
  let rows = 0
  const end = queue.findIndex((one) => {
    rows += one.rows.length
    return rows > MAX_TRANSACTION_ROWS
  })
  return queue.splice(0, end < 0 ? queue.length : Math.max(end, 1))
}

function settle(uploads: readonly QueuedRows[], { pending, accepted }: Recorded): void {
  for (const { rows, resolve, reject } of uploads) {
    if (rows.every((row) => accepted.has(row))) resolve()
    else reject(pending.has(rows[0]!.versionId) ? notInManifest() : notPending())
  }
}

/** After this time a sweep deletes what could not be deleted. */
const RETRY_MS = 5 * MINUTE_MS

/** Returns how many. Rejects when some could not be deleted: a sweep deletes these later. */
export async function removeDiscarded(
  store: Store,
  blobs: Pick<Blobs, 'remove'>,
  objects: readonly string[],
): Promise<number> {
  // Durable: a power cut must not restore a row that uses an object which no longer exists.
  const unused = await store.write('durable', INDEPENDENT, (tx) =>
    tx.blobs.postponeDiscarded(objects, store.clock() + RETRY_MS),
  )
  await blobs.remove(unused)
  await store.write('relaxed', INDEPENDENT, (tx) => tx.blobs.forgetDiscarded(unused))
  return unused.length
}
