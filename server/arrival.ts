import { Failure } from './failure.ts'
import type { ArrivalRow } from './store/schema.ts'
import type { Store } from './store/store.ts'

interface Waiting {
  row: ArrivalRow
  resolve(): void
  reject(error: unknown): void
}

/** Milliseconds that a finished upload waits for others to share its transaction. */
const GATHER = 2

/**
 * Records which files of pending versions have come. Uploads that end close together share a transaction, so
 * that a thousand small files cost a fraction of as many; one that is alone waits for nobody.
 */
export class Arrivals {
  readonly #store: Store
  #waiting: Waiting[] = []
  #coming = 0
  #gathering: NodeJS.Timeout | undefined
  #writing = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Runs `receive` as one of the uploads that others may wait for. */
  async during<T>(receive: () => Promise<T>): Promise<T> {
    this.#coming++
    try {
      return await receive()
    } finally {
      this.#coming--
      if (this.#waiting.length > 0) this.#plan()
    }
  }

  /**
   * Resolves once every process knows that the bytes have come; from here on they are not collected. UPLOAD_EXPIRED when
   * the version is finalized or gone by then.
   */
  add(row: ArrivalRow): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ row, resolve, reject })
      this.#plan()
    })
  }

  #plan(): void {
    if (this.#writing) return
    if (this.#coming === 0) void this.#drain()
    else this.#gathering ??= setTimeout(() => void this.#drain(), GATHER)
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    if (this.#writing) return
    this.#writing = true
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
      return pending
    })
  }
}
