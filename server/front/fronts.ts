import { Readable } from 'node:stream'
import type { PublishWarning } from '../../client/wire.ts'
import type { Addresses } from '../address.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { neededBytes } from '../blobs/needed.ts'
import type { Encodings } from '../encodings/encodings.ts'
import { Failure } from '../failure.ts'
import { newId } from '../key.ts'
import { releaseNames } from '../named-blobs.ts'
import type { VersionRow } from '../store/schema.ts'
import type { Store, Writing } from '../store/store.ts'
import { warningsColumn, warningsIn } from '../warnings.ts'
import { type Front, type FrontWish, frontWish, type Said } from './front.ts'

/** Bytes of the largest document whose head is set. */
const MOST_DOCUMENT_BYTES = 2 * 1024 * 1024

/** How often work is done again because what its front was made of changed meanwhile. */
const MOST_ROUNDS = 20

interface FrontsOptions {
  store: Store
  blobs: Blobs
  addresses: Addresses
  encodings: Pick<Encodings, 'prepare'>
  clock: () => number
}

/** Whom a front is for: its slug, and what is said of it. */
type FrontedSite = Said & { slug: string }

/** A front that waits for the transaction that keeps it; until it is disposed its bytes are not collected. */
export interface MadeFront extends AsyncDisposable {
  /** Undefined when the document needs none. */
  key: string | undefined
  /** Null when the document is served as it was published. */
  front: Front | null
  /** Its bytes are new. */
  isNew: boolean
  warnings: PublishWarning[]
}

/**
 * The fronts of versions: made before the transaction that names them, since no transaction waits for bytes, and
 * checked within it against what is true by then.
 */
export class Fronts {
  readonly #options: FrontsOptions

  constructor(options: FrontsOptions) {
    this.#options = options
  }

  /**
   * The front that a version needs when this is said of its site; the one it has, if that will do. Reads nothing when
   * nothing is said. UNAVAILABLE when its bytes cannot be read or kept.
   */
  async make(site: FrontedSite, version: VersionRow | undefined): Promise<MadeFront> {
    const { addresses, blobs } = this.#options
    const wish = version && frontWish(site, version, addresses.site(site.slug))
    if (!wish) return unmade(undefined)
    const has = version.front === null ? null : (JSON.parse(version.front) as Front)
    if (has?.key === wish.key) return { ...unmade(wish), front: has }
    if (wish.root.size > MOST_DOCUMENT_BYTES) {
      return unmade(wish, `it has more than ${MOST_DOCUMENT_BYTES} bytes`)
    }
    const { frontOf } = await import('./front-document.ts')
    const { title, description, og_image_path: path } = wish.said
    const image = path === null ? null : addresses.file(site.slug, path)
    const published = await neededBytes(blobs, wish.root.hash!)
    const bytes = frontOf(published, { title, description, image }, wish.root.contentType)
    if (!bytes) return unmade(wish, 'it is in UTF-16 or another encoding that ASCII is no part of')
    return this.#settle(version, wish.key, bytes)
  }

  /**
   * Within a transaction: the version has this front from here on. Answers the version as it is kept. What was made of
   * something that is no longer true is refused in a way that `upToDate` understands.
   */
  async keep(
    tx: Writing,
    made: MadeFront,
    site: FrontedSite,
    version: VersionRow,
    now: number,
  ): Promise<VersionRow> {
    const { key } = frontWish(site, version, this.#options.addresses.site(site.slug)) ?? {}
    if (key !== made.key) throw new Outdated()
    const front = made.front && JSON.stringify(made.front)
    const warnings = withWarnings(version, made)
    if (front === version.front && warnings === version.warnings) return version
    if (made.front && !made.isNew && front !== version.front) throw new Outdated()
    const change = { front, warnings, encoded: made.isNew ? 0 : version.encoded } as const
    await tx.versions.update(version.id, change)
    if (made.front) await tx.blobNames.name(site.slug, [made.front.hash])
    if (version.front !== null && front !== version.front) await releaseNames(tx, site.slug, now)
    return { ...version, ...change }
  }

  async #settle({ slug, id }: VersionRow, key: string, bytes: Buffer): Promise<MadeFront> {
    const { store, blobs, encodings, clock } = this.#options
    const batch = newId(clock())
    await using undo = new AsyncDisposableStack()
    undo.defer(() => this.#letGo(batch))
    const received = await blobs.receive(batch, Readable.from([bytes]), { size: bytes.length })
    // From here on no sweep takes the bytes for something that nobody wants.
    const arrival = { version_id: batch, file_number: 0, ...received }
    await store.write('soft', (tx) => tx.versions.arrive([arrival]))
    const lost = await blobs.settle(batch, [received])
    if (lost.length > 0) throw new Failure('UNAVAILABLE', 'The service cannot keep files at the moment')
    const made = undo.move()
    return {
      key,
      front: { key, ...received },
      isNew: true,
      warnings: [],
      [Symbol.asyncDispose]: async () => {
        await made.disposeAsync()
        encodings.prepare(slug, id)
      },
    }
  }

  /** What fails here, a sweep does again. */
  async #letGo(batch: string): Promise<void> {
    const { store, blobs } = this.#options
    try {
      await store.write('soft', (tx) => tx.versions.clearArrivals(batch))
      await blobs.discard(batch)
    } catch {}
  }
}

/** Does work that makes and keeps a front; again when what the front was made of is no longer true. */
export async function upToDate<T>(work: () => Promise<T>): Promise<T> {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Outdated)) throw error
    }
  }
  throw new Failure('UNAVAILABLE', 'The site is being changed by others all the time; try again')
}

class Outdated extends Error {}

function unmade(wish: FrontWish | undefined, reason?: string): MadeFront {
  const message = `The title, description and image of the site are not set in its head, because ${reason}`
  return {
    key: wish?.key,
    front: null,
    isNew: false,
    warnings: wish && reason ? [{ file: wish.root.path, message }] : [],
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** What is said of the root document is about its front alone. */
function withWarnings({ warnings }: VersionRow, made: MadeFront): string | null {
  const others = warningsIn(warnings).filter(({ file }) => file !== 'index.html')
  return warningsColumn([...others, ...made.warnings])
}
