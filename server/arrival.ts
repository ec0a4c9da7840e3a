import { Failure } from './failure.ts'
import type { ArrivalRow } from './store/schema.ts'
import type { Store } from './store/store.ts'

interface Waiting {
  slug: string
  row: ArrivalRow
  resolve(): void
  reject(error: unknown): void
}

/**
 * Records which files of pending versions have come. Uploads that end while a write is under way share the
 * next one, so that a thousand small files cost a fraction of as many transactions.
 */
export class Arrivals {
  readonly #store: Store
  #waiting: Waiting[] = []
  #writing = false

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Resolves once every process knows that the bytes have come and the site names them. UPLOAD_EXPIRED when
   * the version is finalized or gone by then.
   */
  add(slug: string, row: ArrivalRow): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ slug, row, resolve, reject })
      if (!this.#writing) {
        this.#writing = true
        setImmediate(() => void this.#drain())
      }
    })
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, 200)
      try {
        const pending = await this.#record(batch)
        for (const { row, resolve, reject } of batch) {
          if (pending.has(row.version_id)) resolve()
          else
            reject(
              new Failure('UPLOAD_EXPIRED', 'This version takes no more uploads: it is finalized or gone'),
            )
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#writing = false
  }

  #record(batch: readonly Waiting[]): Promise<Set<string>> {
    return this.#store.write('soft', async (tx) => {
      const pending = await tx.versions.pendingAmong([...new Set(batch.map(({ row }) => row.version_id))])
      const kept = batch.filter(({ row }) => pending.has(row.version_id))
      const latest = new Map(kept.map(({ row }) => [`${row.version_id} ${row.file_number}`, row]))
      await tx.versions.arrive([...latest.values()])
      for (const [slug, waiting] of Map.groupBy(kept, (one) => one.slug)) {
        await tx.blobNames.name(
          slug,
          waiting.map(({ row }) => row.hash),
        )
      }
      return pending
    })
  }
}
