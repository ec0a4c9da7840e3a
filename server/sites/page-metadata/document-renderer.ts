import { Readable } from 'node:stream'
import type { PublishWarning } from '../../../protocol/api/publish.ts'
import type { Blobs } from '../../blobs/blobs.ts'
import { readOrThrow } from '../../blobs/read-or-throw.ts'
import { ApiError } from '../../lib/errors.ts'
import { newId } from '../../lib/tokens.ts'
import type { VersionRow } from '../../store/schema.ts'
import type { Store, WriteTransaction } from '../../store/store.ts'
import { updateReferences } from '../blob-references.ts'
import type { UrlBuilder } from '../urls.ts'
import { parseWarnings, serializeWarnings } from '../warnings.ts'
import { type HeadMetadata, type RenderedIndex, type RenderInput, renderInput } from './rendered-document.ts'

/** Maximum size of a document, in bytes. */
const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024

/** Maximum number of attempts when inputs change concurrently. */
const MAX_ATTEMPTS = 20

interface IndexRendererOptions {
  store: Store
  blobs: Blobs
  addresses: UrlBuilder
  /** Precompresses a version. */
  precompressor: { enqueue(slug: string, versionId: string): void }
  clock: () => number
}

/** A site's slug and metadata. */
type RenderableSite = HeadMetadata & { slug: string }

/**
 * A rendered document that waits for its transaction; until it is disposed its bytes are protected from
 * collection.
 */
export interface PendingRender extends AsyncDisposable {
  /** Undefined when the document needs none. */
  key: string | undefined
  /** Null when the published document is served. */
  front: RenderedIndex | null
  /** Its bytes are new. */
  isNew: boolean
  warnings: PublishWarning[]
}

/**
 * Renders documents with injected metadata: before the transaction that references them, since no transaction
 * waits for bytes, and verified within it.
 */
export class IndexRenderer {
  readonly #options: IndexRendererOptions

  constructor(options: IndexRendererOptions) {
    this.#options = options
  }

  /**
   * Renders the document for a version and this metadata; reuses an existing one. Reads nothing without
   * metadata. UNAVAILABLE when its bytes cannot be read or stored.
   */
  async render(site: RenderableSite, version: VersionRow | undefined): Promise<PendingRender> {
    const { addresses, blobs } = this.#options
    const input = version && renderInput(site, version, addresses.site(site.slug))
    if (!input) return noRender(undefined)
    const has = version.front === null ? null : (JSON.parse(version.front) as RenderedIndex)
    if (has?.key === input.key) return { ...noRender(input), front: has }
    if (input.root.size > MAX_DOCUMENT_BYTES) {
      return noRender(input, `it has more than ${MAX_DOCUMENT_BYTES} bytes`)
    }
    const { injectHeadTags: frontOf } = await import('./head-injection.ts')
    const { title, description, og_image_path: path } = input.metadata
    const image = path === null ? null : addresses.file(site.slug, path)
    const published = await readOrThrow(blobs, input.root.hash!)
    const bytes = frontOf(published, { title, description, image }, input.root.contentType)
    if (!bytes) return noRender(input, 'it is in UTF-16 or another encoding that ASCII is no part of')
    return this.#store(version, input.key, bytes)
  }

  /**
   * Called in a transaction: stores the rendered document with the version and returns the row. Outdated
   * inputs are rejected with an error that `retryOnConflict` handles.
   */
  async commit(
    tx: WriteTransaction,
    made: PendingRender,
    site: RenderableSite,
    version: VersionRow,
    now: number,
  ): Promise<VersionRow> {
    const { key } = renderInput(site, version, this.#options.addresses.site(site.slug)) ?? {}
    if (key !== made.key) throw new StaleInputError()
    const front = made.front && JSON.stringify(made.front)
    const warnings = mergeWarnings(version, made)
    if (front === version.front && warnings === version.warnings) return version
    if (made.front && !made.isNew && front !== version.front) throw new StaleInputError()
    const change = { front, warnings, encoded: made.isNew ? 0 : version.encoded } as const
    await tx.versions.update(version.id, change)
    if (made.front) await tx.blobReferences.addReferences(site.slug, [made.front.hash])
    if (version.front !== null && front !== version.front) await updateReferences(tx, site.slug, now)
    return { ...version, ...change }
  }

  async #store({ slug, id }: VersionRow, key: string, bytes: Buffer): Promise<PendingRender> {
    const { store, blobs, precompressor, clock } = this.#options
    const batch = newId(clock())
    await using undo = new AsyncDisposableStack()
    undo.defer(() => this.#discard(batch))
    const received = await blobs.put(batch, Readable.from([bytes]), { size: bytes.length })
    // Protects the bytes from collection.
    const arrival = { version_id: batch, file_number: 0, ...received }
    await store.write('soft', (tx) => tx.versions.recordArrivals([arrival]))
    const lost = await blobs.commit(batch, [received])
    if (lost.length > 0) throw new ApiError('UNAVAILABLE', 'The service cannot keep files at the moment')
    const made = undo.move()
    return {
      key,
      front: { key, ...received },
      isNew: true,
      warnings: [],
      [Symbol.asyncDispose]: async () => {
        await made.disposeAsync()
        precompressor.enqueue(slug, id)
      },
    }
  }

  /** A job repeats a failed clean-up. */
  async #discard(batch: string): Promise<void> {
    const { store, blobs } = this.#options
    try {
      await store.write('soft', (tx) => tx.versions.clearArrivals(batch))
      await blobs.discard(batch)
    } catch {}
  }
}

/** Repeats work that renders a document while its inputs change concurrently. */
export async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let round = 1; round <= MAX_ATTEMPTS; round++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StaleInputError)) throw error
    }
  }
  throw new ApiError('UNAVAILABLE', 'The site is being changed by others all the time; try again')
}

class StaleInputError extends Error {}

function noRender(wish: RenderInput | undefined, reason?: string): PendingRender {
  const message = `The title, description and image of the site are not set in its head, because ${reason}`
  return {
    key: wish?.key,
    front: null,
    isNew: false,
    warnings: wish && reason ? [{ file: wish.root.path, message }] : [],
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** Replaces warnings about the root document. */
function mergeWarnings({ warnings }: VersionRow, made: PendingRender): string | null {
  const others = parseWarnings(warnings).filter(({ file }) => file !== 'index.html')
  return serializeWarnings([...others, ...made.warnings])
}
