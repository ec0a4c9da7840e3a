import type {
  Digest,
  Digested,
  Fault,
  Source,
  WorkerRequest,
  WorkerResponse,
  WorkerTask,
  ZipListing,
} from './messages.ts'

/** Why the worker could not read something. */
export class ReadingFault extends Error {
  readonly kind: Fault['kind']
  /** The source concerned, if any. */
  readonly at: number | undefined

  constructor({ kind, why, at }: Fault) {
    super(why)
    this.kind = kind
    this.at = at
  }
}

interface PendingTask {
  settle(answer: unknown): void
  fail(reason: unknown): void
  onProgress?: ((progress: Digested) => void) | undefined
}

/** Reads files in a worker. Ends with `signal`, and then rejects with its reason. */
export class Reader implements Disposable {
  readonly #worker = new Worker(new URL('./reader-worker.ts', import.meta.url), { type: 'module' })
  readonly #waiting = new Map<number, PendingTask>()
  #lastId = 0
  #ended: { reason: unknown } | undefined

  constructor(signal: AbortSignal) {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<WorkerResponse>) =>
      this.#onMessage(data),
    )
    this.#worker.addEventListener('error', ({ message }) =>
      this.#end(new ReadingFault({ kind: 'missing', why: message ?? 'the reader could not be loaded' })),
    )
    signal.addEventListener('abort', () => this.#end(signal.reason))
  }

  /** The entries of a zip, which becomes the current one. */
  list(zip: Blob): Promise<ZipListing[]> {
    return this.#run({ ask: 'list', zip })
  }

  /** The bytes of an entry of the current zip. */
  inflate(entry: number): Promise<Blob> {
    return this.#run({ ask: 'inflate', entry })
  }

  /** The SHA-256 of each in hex, and the bytes of small ones. */
  digest(sources: Source[], tell?: (progress: Digested) => void): Promise<Digest> {
    return this.#run({ ask: 'digest', sources }, tell)
  }

  [Symbol.dispose](): void {
    this.#end(new DOMException('Nothing is read any more', 'AbortError'))
  }

  #run<T>(question: WorkerTask, onProgress?: PendingTask['onProgress']): Promise<T> {
    const id = this.#lastId++
    return new Promise((settle, fail) => {
      if (this.#ended) return fail(this.#ended.reason)
      this.#waiting.set(id, { settle: settle as PendingTask['settle'], fail, onProgress })
      this.#worker.postMessage({ id, ...question } satisfies WorkerRequest)
    })
  }

  #onMessage(told: WorkerResponse): void {
    const waiting = this.#waiting.get(told.id)
    if ('progress' in told) waiting?.onProgress?.(told.progress)
    else {
      this.#waiting.delete(told.id)
      if ('fault' in told) waiting?.fail(new ReadingFault(told.fault))
      else waiting?.settle(told.answer)
    }
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason }
    this.#worker.terminate()
    for (const { fail } of this.#waiting.values()) fail(reason)
    this.#waiting.clear()
  }
}
