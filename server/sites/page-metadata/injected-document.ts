import { createHash, hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import {
  type MemoryBudget,
  SecondChanceCache,
} from '../../../packages/http-server/memory/second-chance-cache.ts'
import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import type { BlobReader } from '../../blobs/blob-reader.ts'
import { Component } from '../../lib/component.ts'
import { MAX_CONCURRENT_LOADS } from '../../lib/loading-cache.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { shareRunning } from '../../lib/share-result.ts'
import type { HeadInjection } from '../site-metadata.ts'

const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024

/** Documents in memory at a time while they are parsed; a load of each site may wait. */
const INJECTIONS = { running: 8, waiting: MAX_CONCURRENT_LOADS }

const NO_BYTES = Buffer.alloc(0)

/** Measured: what an injected document takes in memory beside its head. */
const DOCUMENT_BYTES = 600

/** A head of its own, the published bytes from `tailStart`, and a tail. */
export interface InjectedDocument {
  /** Without a tail the SHA-256 of the bytes. Encodings are stored under this hash, the bytes are not. */
  hash: string
  size: number
  head: Buffer
  publishedHash: string
  tailStart: number
  /** After the published bytes; such a document has no encodings. */
  tail?: Buffer
}

/** Has neither when the published document is absent. */
interface InjectionResult {
  document?: InjectedDocument
  obstacle?: string
}

/** Caches documents by their inputs within a budget, so that loading a site again parses nothing. */
export class InjectedDocuments extends Component<{ blobs: BlobReader; budget: MemoryBudget }> {
  readonly #cache = new SecondChanceCache<InjectionResult>(this.parts.budget)
  readonly #semaphore = new Semaphore(INJECTIONS)
  readonly #load = shareRunning((key: string, injection: HeadInjection) => this.#inject(key, injection))

  /** Undefined to serve the published document. UNAVAILABLE when that cannot be read, or too many documents wait. */
  async get(injection: HeadInjection): Promise<InjectedDocument | undefined> {
    const key = injectionKey(injection)
    const result = this.#cache.get(key) ?? (await this.#load(key, injection))
    return result.document
  }

  async #inject(key: string, injection: HeadInjection): Promise<InjectionResult> {
    const result = await this.#semaphore.run(() => injectDocument(this.parts.blobs, injection))
    const { document, obstacle } = result
    if (document || obstacle) this.#cache.set(key, result, DOCUMENT_BYTES + (document?.head.length ?? 0))
    return result
  }
}

/** UNAVAILABLE when the published document cannot be read. */
async function injectDocument(
  blobs: BlobReader,
  { published, tags }: HeadInjection,
): Promise<InjectionResult> {
  if (published.size > MAX_DOCUMENT_BYTES)
    return { obstacle: `it is larger than ${MAX_DOCUMENT_BYTES} bytes` }
  const bytes = await blobs.bytes(published.hash)
  if (bytes?.length !== published.size) return {}
  // Loaded on first use: the parser would take part of the start time.
  const { injectHeadTags } = await import('./head-injection.ts')
  const injected = injectHeadTags(bytes, tags, published.contentType)
  // Parsing may take as long as a turn of the event loop is allowed to.
  await turn()
  if (!injected) return { obstacle: 'its encoding is not ASCII-compatible (UTF-16, for example)' }
  const { head, tailStart } = injected
  const tail = bytes.subarray(tailStart)
  return {
    document: {
      hash: createHash('sha256').update(head).update(tail).digest('hex'),
      size: head.length + tail.length,
      // A copy of its own: a small buffer would keep the memory of those it shares a pool with.
      head: Buffer.from(new Uint8Array(head).buffer),
      publishedHash: published.hash,
      tailStart,
    },
  }
}

/** Undefined when the published bytes are absent. */
export function readInjected(
  bytes: Buffer | undefined,
  { head, tailStart, tail = NO_BYTES }: InjectedDocument,
): Buffer | undefined {
  return bytes && Buffer.concat([head, bytes.subarray(tailStart), tail])
}

/** `tail` follows the bytes of the document. */
export function appendToDocument(
  document: { hash: string; size: number } | InjectedDocument,
  tail: Buffer,
): InjectedDocument {
  const before =
    'head' in document ? document : { head: NO_BYTES, publishedHash: document.hash, tailStart: 0 }
  return {
    ...before,
    hash: hash('sha256', JSON.stringify([document.hash, tail.toString()])),
    size: document.size + tail.length,
    tail,
  }
}

export function injectionKey({ published, tags }: HeadInjection): string {
  return hash('sha256', JSON.stringify([published.hash, published.contentType, tags]))
}

/** None when the root document cannot be read. */
export async function injectionWarnings(
  blobs: BlobReader,
  injection: HeadInjection,
): Promise<PublishWarning[]> {
  const { obstacle } = await injectDocument(blobs, injection).catch((): InjectionResult => ({}))
  if (obstacle === undefined) return []
  const message = `The title, description and image were not added to this page, because ${obstacle}`
  return [{ file: injection.published.path, message }]
}
