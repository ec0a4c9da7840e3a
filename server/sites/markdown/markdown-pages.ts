import { on } from 'node:events'
import { Worker } from 'node:worker_threads'
import { SecondChanceCache } from '../../../packages/http-server/memory/second-chance-cache.ts'
import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import type { BlobReader } from '../../blobs/blob-reader.ts'
import { Component } from '../../lib/component.ts'
import { decodeUtf8 } from '../../lib/decode-utf8.ts'
import { ApiError } from '../../lib/errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { shareRunning } from '../../lib/share-result.ts'
import type { Parts } from '../../parts.ts'
import type { RenderedMarkdown } from './render-markdown.ts'

const MAX_SOURCE_BYTES = 256 * 1024
const MAX_HTML_CHARACTERS = 2 * 1024 * 1024

const WORKER_MEMORY_MB = 128

/** Loads of other sites do not wait for renderings. */
const RENDERINGS = { running: 2, waiting: 30 }

const RESULT_BYTES = 300

const WORKER = new URL('./markdown-worker.ts', import.meta.url)

type MarkdownPagesParts = Pick<Parts, 'budget' | 'log'> & {
  blobs: Pick<BlobReader, 'bytes'>
  timeoutMs: number
}

/** By the hash of the source, within a budget. A worker thread renders, so that no document delays requests. */
export class MarkdownPages extends Component<MarkdownPagesParts> {
  readonly #cache = new SecondChanceCache<{ rendered: RenderedMarkdown | undefined }>(this.parts.budget)
  readonly #semaphore = new Semaphore(RENDERINGS)
  readonly #load = shareRunning((hash: string) => this.#semaphore.run(() => this.#renderBlob(hash)))

  /** Undefined to show it as text: not UTF-8, or beyond the bounds. UNAVAILABLE when it cannot be read or must wait. */
  async get({ hash, size }: Pick<StoredFile, 'hash' | 'size'>): Promise<RenderedMarkdown | undefined> {
    if (hash === undefined || size > MAX_SOURCE_BYTES) return undefined
    const known = this.#cache.get(hash)
    return known ? known.rendered : this.#load(hash)
  }

  async #renderBlob(hash: string): Promise<RenderedMarkdown | undefined> {
    const bytes = await this.parts.blobs.bytes(hash)
    const rendered = bytes && (await this.#render(bytes))
    if (bytes) this.#cache.set(hash, { rendered }, RESULT_BYTES + 2 * (rendered?.html.length ?? 0))
    return rendered
  }

  async #render(bytes: Buffer): Promise<RenderedMarkdown | undefined> {
    const source = decodeUtf8(bytes)
    if (source === undefined) return undefined
    const worker = new Worker(WORKER, {
      workerData: source,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB },
    })
    const late = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const messages = on(worker, 'message', { signal: late.signal })
    worker.once('exit', () => late.abort())
    try {
      await messages.next()
      // A result that arrived while other work delayed the timer is received before it.
      timer = setTimeout(() => setImmediate(() => late.abort()), this.parts.timeoutMs)
      const [rendered] = (await messages.next()).value as [RenderedMarkdown]
      return rendered.html.length > MAX_HTML_CHARACTERS ? undefined : rendered
    } catch (error) {
      if (timer === undefined) throw this.#workerFailed(error)
      this.parts.log.debug('a Markdown document is shown as text', { bytes: bytes.length, error })
      return undefined
    } finally {
      clearTimeout(timer)
      await worker.terminate()
    }
  }

  /** Nothing that the document causes: it must not be kept as the result. */
  #workerFailed(cause: unknown): ApiError {
    const sentence = 'a worker that renders Markdown could not be started'
    this.parts.log.summarize('warn', sentence, { error: cause })
    return new ApiError('UNAVAILABLE', sentence, { cause, isIsolated: true })
  }
}
