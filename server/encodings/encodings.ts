import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { Blobs } from '../blobs/blobs.ts'
import { inParallel } from '../blobs/in-parallel.ts'
import { Failure } from '../failure.ts'
import type { StoredFile } from '../file.ts'
import type { Front } from '../front/front.ts'
import type { Log } from '../log.ts'
import type { EncodingRow, VersionRow } from '../store/schema.ts'
import type { Store, Writing } from '../store/store.ts'
import { Encoder } from './encoder.ts'
import { ENCODINGS, type Encoding, isPrepared } from './encoding.ts'

interface EncodingsOptions {
  store: Store
  blobs: Blobs
  clock: () => number
  log: Log
}

/** A file whose encodings are wanted. */
type Wanted = Pick<StoredFile, 'path' | 'size' | 'contentType'> & { hash: string }

/** A version that is worked on. */
interface Work {
  version: VersionRow
  /** Hashes of the files that nothing is left to do for. */
  tried: Set<string>
  /** What is still to be recorded. */
  rows: EncodingRow[]
  over: boolean
}

const ROOT = 'index.html'

/** Versions that wait in one process; the sweep finds those beyond. */
const MOST_WAITING = 1000

/** How often what was prepared is recorded and seen while a version is worked on (milliseconds). */
const RECORD_EVERY = 1000

/** How long others leave a version alone since something was recorded of it (milliseconds). */
const CLAIM = 120_000

/** A file that could not be encoded so often is served as it is. */
const MOST_FAILURES = 3
const MOST_FAILED_FILES = 10_000

/** Milliseconds without work after which the encoding process ends. */
const PATIENCE = 5000

/**
 * Prepares the encodings of finalized versions in the background: one version after another, and of it those files
 * first that visitors ask for first. What is done is recorded as it goes, so that whoever takes up a version that was
 * left goes on from there.
 */
export class Encodings implements AsyncDisposable {
  readonly #options: EncodingsOptions
  readonly #encoder = new Encoder({ patience: PATIENCE })
  readonly #holder = randomUUID()
  /** Versions to come, and whose they are. */
  readonly #waiting = new Map<string, string>()
  /** How often each file could not be encoded. */
  readonly #failures = new Map<string, number>()
  #working: Promise<void> | undefined
  #stopped = false

  constructor(options: EncodingsOptions) {
    this.#options = options
  }

  /** Stops within a moment; the sweep takes up what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#waiting.clear()
    this.#encoder[Symbol.dispose]()
    await this.#working
  }

  /** The encoding process, while there is one. */
  get pid(): number | undefined {
    return this.#encoder.pid
  }

  /** Takes up a version that was finalized or has a new front, after all that wait already. Returns at once. */
  prepare(slug: string, versionId: string): void {
    if (this.#stopped || this.#waiting.size >= MOST_WAITING) return
    this.#waiting.set(versionId, slug)
    this.#working ??= this.#work()
  }

  /** Resolves when nothing is under way and nothing waits. */
  async idle(): Promise<void> {
    while (this.#working) await this.#working
  }

  async #work(): Promise<void> {
    // Whoever called goes first with its answer.
    await turn()
    for (const [versionId, slug] of this.#waiting) {
      this.#waiting.delete(versionId)
      try {
        await this.#prepare(slug, versionId)
      } catch (error) {
        const { log } = this.#options
        log.warn('encodings could not be prepared; a sweep tries again', { slug, version: versionId, error })
      }
    }
    this.#working = undefined
  }

  async #prepare(slug: string, versionId: string): Promise<void> {
    const { read } = this.#options.store
    const version = await read.versions.byId(versionId)
    if (version?.state !== 'ready' || version.encoded === 1) return
    const tried = new Set((await read.encodings.ofSite(slug)).map((row) => row.hash))
    const untried = wantedOf(version).filter((file) => !tried.has(file.hash))
    if (untried.length > 0 && !(await this.#claim(versionId))) return
    const work: Work = { version, tried, rows: [], over: false }
    try {
      await this.#encodeAll(untried, work)
    } finally {
      work.over = true
      await this.#record(work)
    }
  }

  async #encodeAll(files: readonly Wanted[], work: Work): Promise<void> {
    let recorded = performance.now()
    for (const file of files) {
      if (this.#stopped || work.over) return
      const row = this.#isGivenUp(file) ? undefined : await this.#encoded(file)
      if (row) work.rows.push(row)
      if (row || this.#isGivenUp(file)) work.tried.add(file.hash)
      if (performance.now() - recorded < RECORD_EVERY) continue
      await this.#record(work)
      recorded = performance.now()
    }
  }

  /** Whether nobody else is at this version; others leave it alone from here on. */
  async #claim(versionId: string): Promise<boolean> {
    const fence = await this.#options.store.write('soft', (tx) => this.#hold(tx, versionId))
    return fence !== undefined
  }

  #hold(tx: Writing, versionId: string): Promise<number | undefined> {
    const now = this.#options.clock()
    return tx.leases.take(leaseOf(versionId), this.#holder, now, now + CLAIM)
  }

  /** What is to be recorded of a file once its encodings are kept; undefined when it could not be encoded. */
  async #encoded(file: Wanted): Promise<EncodingRow | undefined> {
    const { blobs } = this.#options
    const bytes = await blobs.bytes(file.hash)
    const encodings = await this.#encodingsOf(file, bytes).catch((error: unknown) =>
      this.#failed(file, error),
    )
    if (!encodings) return undefined
    await inParallel(ENCODINGS.length, [...encodings], ([encoding, encoded]) =>
      blobs.keepEncoding(file.hash, encoding, encoded),
    )
    const sizeOf = (encoding: Encoding) => encodings.get(encoding)?.length ?? null
    return { hash: file.hash, br: sizeOf('br'), zstd: sizeOf('zstd'), gzip: sizeOf('gzip') }
  }

  async #encodingsOf(file: Wanted, bytes: Buffer | undefined): Promise<Map<Encoding, Buffer>> {
    if (bytes?.length !== file.size) throw new Error(`The blob ${file.hash} is not there`)
    return this.#encoder.encode(bytes)
  }

  /** Counts what the file is to blame for. */
  #failed({ path, hash }: Wanted, error: unknown): undefined {
    if (this.#stopped) return
    if (error instanceof Failure) throw error
    if (this.#failures.size >= MOST_FAILED_FILES) this.#failures.clear()
    const failures = (this.#failures.get(hash) ?? 0) + 1
    this.#failures.set(hash, failures)
    this.#options.log.error('a file could not be encoded', { path, hash, failures, error })
  }

  #isGivenUp({ hash }: Wanted): boolean {
    return (this.#failures.get(hash) ?? 0) >= MOST_FAILURES
  }

  /**
   * Makes what was prepared known to everybody. As long as a version is there its blobs are, and with them what was kept
   * beside them; what was kept for one that went meanwhile is collected like every blob that nobody names.
   */
  async #record(work: Work): Promise<void> {
    const { store, clock } = this.#options
    const { id, slug } = work.version
    const rows = work.rows.splice(0)
    await store.write('soft', async (tx) => {
      const version = await tx.versions.byId(id)
      const wanted = new Set(version && wantedOf(version).map((file) => file.hash))
      const orphans = rows.filter((row) => !wanted.has(row.hash)).map((row) => row.hash)
      await tx.encodings.record(rows.filter((row) => wanted.has(row.hash)))
      await tx.blobNames.condemn(await tx.blobNames.unnamedAmong(orphans), clock())
      if (wanted.size > 0) await tx.changed(slug)
      work.over ||= version === undefined
      if (!work.over) return void (await this.#hold(tx, id))
      // Also those of a front that it got meanwhile.
      if ([...wanted].every((hash) => work.tried.has(hash))) await tx.versions.update(id, { encoded: 1 })
      await tx.leases.drop(leaseOf(id), this.#holder)
    })
  }
}

function leaseOf(versionId: string): string {
  return `encodings of ${versionId}`
}

/** The files of a version that may shrink, each content once, in the order in which visitors ask for them. */
function wantedOf({ files, front }: VersionRow): Wanted[] {
  const published = (JSON.parse(files) as StoredFile[]).filter(isPrepared) as Wanted[]
  const fronts = front ? [{ ...(JSON.parse(front) as Front), path: ROOT, contentType: 'text/html' }] : []
  const inOrder = [...fronts.filter(isPrepared), ...published].sort(
    (one, other) => rank(one) - rank(other) || one.size - other.size,
  )
  return [...new Map(inOrder.map((file) => [file.hash, file])).values()]
}

function rank({ path, contentType }: Wanted): number {
  if (path === ROOT) return 0
  return /html|css|javascript/i.test(contentType) ? 1 : 2
}
