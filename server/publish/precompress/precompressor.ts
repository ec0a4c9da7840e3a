import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import { isDamage } from '../../blobs/damage.ts'
import { type Encoding, shouldPrecompress, storeEncodings } from '../../blobs/encoding.ts'
import { Component } from '../../lib/component.ts'
import { ApiError } from '../../lib/errors.ts'
import { WorkerProcess } from '../../lib/worker-process.ts'
import type { Parts } from '../../parts.ts'
import {
  type InjectedDocument,
  type InjectedDocuments,
  injectionKey,
  readInjected,
} from '../../sites/page-metadata/injected-document.ts'
import { findInjection, type HeadInjection } from '../../sites/site-metadata.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import { releaseBlobs, writeOfVersion } from '../../sites/version.ts'
import type { Queries } from '../../store/queries.ts'
import { INDEPENDENT, type Store, type WriteTransaction } from '../../store/store.ts'
import type { BlobEncodings } from '../../store/tables/blobs.ts'
import { encodingsLease, type Version } from '../../store/tables/versions.ts'
import { FairQueue, type Turn } from './fair-queue.ts'

type PrecompressorParts = Pick<Parts, 'store' | 'blobs' | 'blobReader' | 'addresses' | 'clock' | 'log'> & {
  injectedDocuments: InjectedDocuments
}

type PrecompressionCandidate = Pick<StoredFile, 'path' | 'size' | 'contentType'> & {
  hash: string
  /** The injected document, whose identity bytes are not stored. */
  injected?: InjectedDocument
}

interface PrecompressionJob {
  version: Version
  injection: HeadInjection | undefined
  document: InjectedDocument | undefined
  attempted: Set<string>
  rows: BlobEncodings[]
  bytes: number
  nextBytes?: number
  isDone: boolean
}

const INDEX_PATH = 'index.html'

/** Maximum number of queued versions in one process, and per site; the job enqueues further ones later. */
const MAX_WAITING_VERSIONS = 1000
const MAX_WAITING_VERSIONS_OF_SITE = 10

/** In one turn while other sites wait; a larger file takes a turn of its own. */
const TURN_BYTES = 256 * 1024

const RECORD_INTERVAL_MS = 1000

/** Duration of the claim on a version since its last recorded progress, in milliseconds. */
const LEASE_DURATION_MS = 120_000

/** A file that failed this often is served without encodings. */
const MAX_FAILURES_PER_FILE = 3
const MAX_REMEMBERED_FAILURES = 10_000

const WORKER_IDLE_TIMEOUT_MS = 5000

/** Answers bytes with the encodings that reduce their size (docs/decisions/004-encodings.md). */
export function compressionProcess(idleTimeoutMs: number): WorkerProcess<Buffer, Map<Encoding, Buffer>> {
  const program = new URL('./compression-process.ts', import.meta.url)
  return new WorkerProcess({ program, idleTimeoutMs, priority: constants.priority.PRIORITY_LOW })
}

/** Sites take turns; files in the order of their requests. Progress is recorded, so that another process can resume. */
export class Precompressor extends Component<PrecompressorParts> implements AsyncDisposable {
  readonly #worker = compressionProcess(WORKER_IDLE_TIMEOUT_MS)
  readonly #holder = randomUUID()
  readonly #waiting = new FairQueue({
    maxItems: MAX_WAITING_VERSIONS,
    maxItemsOfFlow: MAX_WAITING_VERSIONS_OF_SITE,
  })
  /** Files that could not be encoded in an earlier turn of a version that waits for the next. */
  readonly #failedFiles = new Map<string, Set<string>>()
  readonly #failures = new Map<string, number>()
  #current: Promise<void> | undefined
  #stopped = false

  get queueLength(): number {
    return this.#waiting.size
  }

  /** The job continues what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#waiting.clear()
    this.#worker[Symbol.dispose]()
    await this.#current
  }

  get pid(): number | undefined {
    return this.#worker.pid
  }

  enqueue(slug: string, versionId: string): void {
    if (this.#stopped) return
    this.#waiting.add(slug, versionId)
    this.#current ??= this.#run()
  }

  async onIdle(): Promise<void> {
    while (this.#current) await this.#current
  }

  async #run(): Promise<void> {
    // Lets the caller send its response first.
    await turn()
    for (let next = this.#waiting.take(); next; next = this.#waiting.take()) {
      let work: PrecompressionJob | undefined
      try {
        work = await this.#precompress(next)
      } catch (error) {
        const { flow: slug, item: version } = next
        this.parts.log.warn('precompression failed; a sweep will retry', { slug, version, error })
      }
      const nextCost = this.#stopped ? undefined : work?.nextBytes
      if (nextCost === undefined) this.#failedFiles.delete(next.item)
      this.#waiting.finish(next, { cost: work?.bytes ?? 0, nextCost })
    }
    this.#current = undefined
  }

  async #precompress(turn: Turn): Promise<PrecompressionJob | undefined> {
    const { item: versionId } = turn
    const { addresses, blobs, injectedDocuments, store } = this.parts
    const { read } = store
    const found = await read.versions.find(versionId)
    if (found?.state !== 'ready' || found.isEncoded) return undefined
    const injection = await loadInjection(read, found, addresses)
    const document = injection && (await injectedDocuments.get(injection))
    const version = await nameDocument(this.parts, found, { injection, document })
    const candidates = findCandidates(version, document)
    const skipped = candidates.filter((file) => this.#hasFailedTooOften(file))
    const attempted = candidates.length > 0 ? await read.blobs.encodedHashes(versionId) : new Set<string>()
    for (const { hash } of skipped) attempted.add(hash)
    const failed = this.#failedFiles.get(versionId)
    const untried = candidates.filter(({ hash }) => !attempted.has(hash) && !failed?.has(hash))
    if (untried.length > 0) await blobs.assertSpace()
    if (untried.length > 0 && !(await this.#acquireLease(versionId))) return undefined
    const progress = { rows: [], isDone: false, bytes: 0 }
    const work: PrecompressionJob = { version, injection, document, attempted, ...progress }
    try {
      await this.#encodeSome(untried, work, Math.max(TURN_BYTES, turn.expectedCost))
    } finally {
      work.isDone = true
      await this.#record(work)
    }
    return work
  }

  /** Encodes as many files as a turn allows when others wait. */
  async #encodeSome(
    files: readonly PrecompressionCandidate[],
    work: PrecompressionJob,
    turnBytes: number,
  ): Promise<void> {
    let recorded = performance.now()
    for (const file of files) {
      if (this.#stopped || work.isDone) return
      if (work.bytes + file.size > turnBytes && this.#waiting.size > 0) {
        work.nextBytes = file.size
        return
      }
      work.bytes += file.size
      const row = await this.#encodeFile(file)
      if (row) work.rows.push(row)
      if (row || this.#hasFailedTooOften(file)) work.attempted.add(file.hash)
      else this.#skipFrom(work.version.id, file)
      if (performance.now() - recorded < RECORD_INTERVAL_MS) continue
      await this.#record(work)
      recorded = performance.now()
    }
  }

  /** A file that failed is not tried again in the next turns: a later visit to the version does that. */
  #skipFrom(versionId: string, { hash }: PrecompressionCandidate): void {
    // A version that gave way to newer ones of its site may have left its own.
    if (this.#failedFiles.size > MAX_WAITING_VERSIONS) this.#failedFiles.clear()
    const failed = this.#failedFiles.get(versionId) ?? new Set()
    this.#failedFiles.set(versionId, failed.add(hash))
  }

  /** False while another process works on the version. */
  async #acquireLease(versionId: string): Promise<boolean> {
    const fence = await this.parts.store.write('relaxed', INDEPENDENT, (tx) =>
      this.#renewLease(tx, versionId),
    )
    return fence !== undefined
  }

  #renewLease(tx: WriteTransaction, versionId: string): Promise<number | undefined> {
    const now = this.parts.clock()
    return tx.leases.acquire(encodingsLease(versionId), this.#holder, now, now + LEASE_DURATION_MS)
  }

  async #encodeFile(file: PrecompressionCandidate): Promise<BlobEncodings | undefined> {
    const encodings = await this.#compress(file).catch((error: unknown) => this.#countFailure(file, error))
    if (!encodings) return undefined
    return { hash: file.hash, ...(await storeEncodings(this.parts.blobs, encodings)) }
  }

  async #compress(file: PrecompressionCandidate): Promise<Map<Encoding, Buffer>> {
    const published = await this.parts.blobReader.bytes(file.injected?.publishedHash ?? file.hash)
    const bytes = file.injected ? readInjected(published, file.injected) : published
    if (bytes?.length !== file.size) throw new Error(`The blob ${file.hash} is not there`)
    return this.#worker.call(bytes)
  }

  /** Counts only failures of the file itself. */
  #countFailure({ path, hash }: PrecompressionCandidate, error: unknown): undefined {
    if (this.#stopped) return
    if (error instanceof ApiError && !isDamage(error)) throw error
    if (this.#failures.size >= MAX_REMEMBERED_FAILURES) this.#failures.clear()
    const failures = (this.#failures.get(hash) ?? 0) + 1
    this.#failures.set(hash, failures)
    this.parts.log.error('precompressing a file failed', { path, hash, failures, error })
  }

  #hasFailedTooOften({ hash }: PrecompressionCandidate): boolean {
    return (this.#failures.get(hash) ?? 0) >= MAX_FAILURES_PER_FILE
  }

  /** Invalidates caches once, after the last turn. Discards the encodings for a version that was deleted since. */
  async #record(work: PrecompressionJob): Promise<void> {
    const { addresses, store } = this.parts
    const { id } = work.version
    const rows = [...work.rows]
    await writeOfVersion(store, 'relaxed', work.version, async (tx, version) => {
      const wanted = new Set(version && findCandidates(version, work.document).map((file) => file.hash))
      const orphans = rows.filter((row) => !wanted.has(row.hash))
      await tx.blobs.recordEncodings(rows.filter((row) => wanted.has(row.hash)))
      await tx.blobs.discard(orphans.flatMap(({ br, zstd, gzip }) => (br ?? zstd ?? gzip)?.object ?? []))
      work.isDone ||= version === undefined
      if (!work.isDone) return void (await this.#renewLease(tx, id))
      if (version && wanted.size > 0 && work.nextBytes === undefined)
        await tx.notifyChanged(version.slug, 'improvable')
      // The metadata may have changed since it was injected.
      const isCurrent =
        version && isSameInjection(await loadInjection(tx, version, addresses), work.injection)
      if (isCurrent && [...wanted].every((hash) => work.attempted.has(hash)))
        await tx.versions.update(id, { isEncoded: true })
      await tx.leases.release(encodingsLease(id), this.#holder)
    })
    work.rows.splice(0, rows.length)
  }
}

/** Each content once, in the order in which visitors request them. */
function findCandidates(version: Version, document: InjectedDocument | undefined): PrecompressionCandidate[] {
  const candidates = version.files.filter(({ coded }) => !coded) as PrecompressionCandidate[]
  if (document && version.injectedDocumentHash === document.hash) {
    const { hash, size } = document
    candidates.unshift({ path: INDEX_PATH, contentType: 'text/html', hash, size, injected: document })
  }
  const inOrder = candidates
    .filter(shouldPrecompress)
    .sort((one, other) => servingOrder(one) - servingOrder(other) || one.size - other.size)
  return [...new Map(inOrder.map((file) => [file.hash, file])).values()]
}

function servingOrder({ path, contentType }: PrecompressionCandidate): number {
  if (path === INDEX_PATH) return 0
  return /html|css|javascript/i.test(contentType) ? 1 : 2
}

async function loadInjection(
  queries: Queries,
  version: Version,
  addresses: UrlBuilder,
): Promise<HeadInjection | undefined> {
  const site = await queries.sites.find(version.slug)
  return site && findInjection(site, version, addresses)
}

function isSameInjection(one: HeadInjection | undefined, other: HeadInjection | undefined): boolean {
  return (one && injectionKey(one)) === (other && injectionKey(other))
}

/** So that its encodings are not collected; releases an earlier one. Returns `version` if the metadata has changed. */
async function nameDocument(
  { store, addresses, clock }: { store: Store; addresses: UrlBuilder; clock: () => number },
  version: Version,
  { injection, document }: { injection: HeadInjection | undefined; document: InjectedDocument | undefined },
): Promise<Version> {
  const injectedDocumentHash = document?.hash ?? null
  if (version.injectedDocumentHash === injectedDocumentHash) return version
  return writeOfVersion(store, 'relaxed', version, async (tx, current) => {
    const { id } = version
    if (!current || !isSameInjection(await loadInjection(tx, current, addresses), injection)) return version
    await tx.versions.update(id, { injectedDocumentHash })
    const site = (await tx.sites.find(current.slug))!
    if (document) await tx.blobs.addReferences(site.visitsKey, [document.hash])
    if (current.injectedDocumentHash !== null)
      await releaseBlobs(tx, site, { hashes: [current.injectedDocumentHash], now: clock() })
    // Read again: a copy of the object would parse its rules and its manifest.
    return (await tx.versions.find(id))!
  })
}
