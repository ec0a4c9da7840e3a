import type { Blobs } from './blobs/blobs.ts'
import { Failure } from './failure.ts'
import type { ArrivalRow } from './store/schema.ts'
import type { Store, Writing } from './store/store.ts'

/** What one upload or one bundle brought for a version: known altogether or not at all. */
interface Waiting {
  rows: readonly ArrivalRow[]
  resolve(): void
  reject(error: unknown): void
}

/** Rows of a transaction, unless one bundle alone has more. */
const ROWS = 1000

/** Milliseconds that a finished upload waits for others to share its transaction. */
const GATHER = 2

/**
 * Records which files of pending versions have come. Uploads that end close together share a transaction, so
 * that a thousand small files cost a fraction of as many; one that is alone waits for nobody.
 */
export class Arrivals {
  readonly #store: Store
  readonly #blobs: Blobs
  #waiting: Waiting[] = []
  #coming = 0
  #gathering: NodeJS.Timeout | undefined
  #writing = false

  constructor({ store, blobs }: { store: Store; blobs: Blobs }) {
    this.#store = store
    this.#blobs = blobs
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
   * Resolves once every process knows that the bytes of these files of one version have come; from here on they are not
   * collected, and those that they replace are gone. UPLOAD_EXPIRED when the version is finalized or gone by then; so
   * are the bytes.
   */
  add(rows: readonly ArrivalRow[]): Promise<void> {
    if (rows.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
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
      const batch = this.#next()
      try {
        const { pending, again } = await this.#record(batch)
        await this.#tidy(again)
        for (const { rows, resolve, reject } of batch) {
          if (pending.has(rows[0]!.version_id)) resolve()
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

  #next(): Waiting[] {
    let rows = 0
    const end = this.#waiting.findIndex((one) => {
      rows += one.rows.length
      return rows > ROWS
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : Math.max(end, 1))
  }

  /** `again` are the rows of files that had come before, and of versions that wait for none. */
  #record(batch: readonly Waiting[]): Promise<{ pending: Set<string>; again: ArrivalRow[] }> {
    const rows = batch.flatMap((one) => one.rows)
    return this.#store.write('soft', async (tx) => {
      const pending = await tx.versions.pendingAmong([...new Set(rows.map((row) => row.version_id))])
      const kept = rows.filter((row) => pending.has(row.version_id))
      const latest = new Map(kept.map((row) => [placeOf(row), row]))
      const before = await earlier(tx, [...latest.values()])
      await tx.versions.arrive([...latest.values()])
      const once = new Set(before.map(placeOf))
      const repeated = rows.filter((row) => latest.get(placeOf(row)) !== row || once.has(placeOf(row)))
      return { pending, again: [...before, ...repeated] }
    })
  }

  /**
   * A file may be put again without end, and late ones come too: whatever was sent, each is on the disk once. Who puts
   * different bytes at the same time may lose both, which finalize tells.
   */
  async #tidy(again: readonly ArrivalRow[]): Promise<void> {
    for (const [id, rows] of Map.groupBy(again, (row) => row.version_id)) {
      const wanted = new Set((await this.#store.read.versions.arrivalsOf(id)).map((row) => row.hash))
      await this.#blobs.discard(id, new Map(rows.map(({ hash }) => [hash, wanted.has(hash) ? 1 : 0])))
    }
  }
}

function placeOf(row: ArrivalRow): string {
  return `${row.version_id} ${row.file_number}`
}

/** What came before for the files of these rows. */
async function earlier(tx: Writing, rows: readonly ArrivalRow[]): Promise<ArrivalRow[]> {
  const found: ArrivalRow[] = []
  for (const [id, files] of Map.groupBy(rows, (row) => row.version_id)) {
    const numbers = files.map((file) => file.file_number)
    found.push(...(await tx.versions.arrivalsAmong(id, numbers)))
  }
  return found
}
