import type { Asked, Digest, Digested, Fault, Question, Source, Told, ZipListing } from './messages.ts'

/** Why the worker could not read something. */
export class ReadingFault extends Error {
  readonly kind: Fault['kind']
  /** The source that it is about, where it is about one. */
  readonly at: number | undefined

  constructor({ kind, why, at }: Fault) {
    super(why)
    this.kind = kind
    this.at = at
  }
}

interface Waiting {
  settle(answer: unknown): void
  fail(reason: unknown): void
  tell?: ((progress: Digested) => void) | undefined
}

/** Reads files in a worker of its own. Ends with `signal`, and then whoever waits is told its reason. */
export class Reader implements Disposable {
  readonly #worker = new Worker(new URL('./reader-worker.ts', import.meta.url), { type: 'module' })
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #ended: { reason: unknown } | undefined

  constructor(signal: AbortSignal) {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Told>) => this.#hear(data))
    this.#worker.addEventListener('error', ({ message }) =>
      this.#end(new ReadingFault({ kind: 'missing', why: message ?? 'the reader could not be loaded' })),
    )
    signal.addEventListener('abort', () => this.#end(signal.reason))
  }

  /** What is in a zip, which is read from then on. */
  list(zip: Blob): Promise<ZipListing[]> {
    return this.#ask({ ask: 'list', zip })
  }

  /** The bytes of an entry of that zip. */
  inflate(entry: number): Promise<Blob> {
    return this.#ask({ ask: 'inflate', entry })
  }

  /** The SHA-256 of each, in hex, and the bytes of small ones. */
  digest(sources: Source[], tell?: (progress: Digested) => void): Promise<Digest> {
    return this.#ask({ ask: 'digest', sources }, tell)
  }

  [Symbol.dispose](): void {
    this.#end(new DOMException('Nothing is read any more', 'AbortError'))
  }

  #ask<T>(question: Question, tell?: Waiting['tell']): Promise<T> {
    const id = this.#asked++
    return new Promise((settle, fail) => {
      if (this.#ended) return fail(this.#ended.reason)
      this.#waiting.set(id, { settle: settle as Waiting['settle'], fail, tell })
      this.#worker.postMessage({ id, ...question } satisfies Asked)
    })
  }

  #hear(told: Told): void {
    const waiting = this.#waiting.get(told.id)
    if ('progress' in told) waiting?.tell?.(told.progress)
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
