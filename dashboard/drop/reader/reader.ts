import type {
  Digest,
  DigestProgress,
  Fault,
  NamedSource,
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

  constructor({ kind, message, at }: Fault) {
    super(message)
    this.kind = kind
    this.at = at
  }
}

interface PendingTask {
  resolve(result: unknown): void
  reject(reason: unknown): void
  onProgress?: ((progress: DigestProgress) => void) | undefined
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
      this.#end(new ReadingFault({ kind: 'missing', message: message ?? 'the reader could not be loaded' })),
    )
    signal.addEventListener('abort', () => this.#end(signal.reason))
  }

  /** The entries of a zip, which becomes the current one. */
  list(zip: Blob): Promise<ZipListing> {
    return this.#run({ kind: 'list', zip })
  }

  /** The bytes of an entry of the current zip. */
  inflate(entry: number): Promise<Blob> {
    return this.#run({ kind: 'inflate', entry })
  }

  /** The SHA-256 in hex and the content type of each, and the bytes of small ones. */
  digest(files: NamedSource[], onProgress?: (progress: DigestProgress) => void): Promise<Digest> {
    return this.#run({ kind: 'digest', files }, onProgress)
  }

  [Symbol.dispose](): void {
    this.#end(new DOMException('The reader was closed', 'AbortError'))
  }

  #run<T>(task: WorkerTask, onProgress?: PendingTask['onProgress']): Promise<T> {
    const id = this.#lastId++
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended.reason)
      this.#waiting.set(id, { resolve: resolve as PendingTask['resolve'], reject, onProgress })
      this.#worker.postMessage({ id, ...task } satisfies WorkerRequest)
    })
  }

  #onMessage(response: WorkerResponse): void {
    const waiting = this.#waiting.get(response.id)
    if ('progress' in response) waiting?.onProgress?.(response.progress)
    else {
      this.#waiting.delete(response.id)
      if ('fault' in response) waiting?.reject(new ReadingFault(response.fault))
      else waiting?.resolve(response.result)
    }
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason }
    this.#worker.terminate()
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }
}
