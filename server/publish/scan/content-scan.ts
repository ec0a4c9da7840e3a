import type { Readable } from 'node:stream'
import type { BlobReader } from '../../blobs/blob-reader.ts'
import { Component } from '../../lib/component.ts'
import { SharedSemaphore } from '../../lib/concurrency-limiter.ts'
import { ApiError } from '../../lib/errors.ts'
import { DAY_MS, SECOND_MS } from '../../lib/time.ts'
import type { Parts } from '../../parts.ts'
import type { VersionSource } from '../publish-queue.ts'

export interface ScannedFile {
  path: string
  hash: string
  size: number
  contentType: string
  open(): Promise<Readable>
}

export interface Refusal {
  /** Undefined when the scanner does not name the file. */
  path: string | undefined
  reason: string
}

export interface Scanner {
  readonly name: string
  /** Identifies all that the verdict depends on; 64 hexadecimal characters. */
  identify(file: Omit<ScannedFile, 'open'>): string
  /** The refusal of the first file that it refuses. Rejects when it fails, and when `signal` is aborted. */
  scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined>
}

type ContentScanParts = Pick<Parts, 'store' | 'clock' | 'log' | 'telemetry'> & {
  scanner: Scanner | undefined
  /** In all for the files of one version. */
  timeoutMs: number
  onFailure: 'refuse' | 'pass'
}

type FileToScan = Omit<ScannedFile, 'open'>

const SCANS = { running: 4, waiting: 64 }

/** How long a file counts as accepted: scanners learn. */
export const VERDICT_LIFETIME_MS = 30 * DAY_MS

const RETRY_SECONDS = 30

/** Scans the files of a version before it is published. Accepted files are not scanned again for 30 days. */
export class ContentScan extends Component<ContentScanParts> {
  readonly #semaphore = new SharedSemaphore(SCANS)

  /**
   * CONTENT_REFUSED when a file is refused, SCAN_UNAVAILABLE when the scanner fails, unless such versions pass.
   * UNAVAILABLE when too many versions wait, in all or of this publisher, whatever the setting.
   */
  async check(files: readonly FileToScan[], { reader, publisher }: VersionSource): Promise<void> {
    const { scanner, store, clock } = this.parts
    if (!scanner) return
    const unknown = new Map(files.map((file) => [scanner.identify(file), file]))
    const since = clock() - VERDICT_LIFETIME_MS
    for (const id of await store.read.scans.acceptedAmong(scanner.name, [...unknown.keys()], since))
      unknown.delete(id)
    if (unknown.size === 0) return
    const toScan = [...unknown.values()].map((file) => ({ ...file, open: () => openBlob(reader, file) }))
    // The time limit of the scanner begins when it can read.
    await reader.durable
    const outcome = await this.#semaphore.run(publisher, () => this.#scan(scanner, toScan))
    if (outcome === 'failed') return
    if (outcome) throw contentRefused(outcome)
    await store.execute('relaxed', ({ scans }) => scans.accept(scanner.name, [...unknown.keys()], clock()))
  }

  async #scan(scanner: Scanner, files: readonly ScannedFile[]): Promise<Refusal | 'failed' | undefined> {
    const { timeoutMs, onFailure, log, telemetry } = this.parts
    const count = (outcome: string) => telemetry.metrics.counter('slipway_scans_total', { outcome }).add()
    try {
      const refusal = await scanner.scan(files, AbortSignal.timeout(timeoutMs))
      count(refusal ? 'refused' : 'accepted')
      if (refusal) log.warn('the scanner refused a file', { ...refusal })
      return refusal
    } catch (error) {
      // The stored files cannot be read.
      if (error instanceof ApiError) throw error
      count('failed')
      const seconds = timeoutMs / SECOND_MS
      const failure = { scanner: scanner.name, files: files.length, seconds, error }
      const effect = onFailure === 'pass' ? 'published' : 'refused'
      log.error(`the scanner failed: the version is ${effect}`, failure)
      if (onFailure === 'pass') return 'failed'
      const sentence = 'The files cannot be scanned at the moment. Try again shortly.'
      throw new ApiError('SCAN_UNAVAILABLE', sentence, { retryAfterSeconds: RETRY_SECONDS, cause: error })
    }
  }
}

async function openBlob(reader: BlobReader, { hash, path }: FileToScan) {
  const body = await reader.read(hash)
  if (!body) throw new Error(`The blob ${hash} of '${path}' is missing`)
  return body
}

function contentRefused({ path, reason }: Refusal): ApiError {
  const what = path === undefined ? 'a file' : `the file '${path}'`
  const sentence = `The scanner of this service refuses ${what}: ${reason}`
  return new ApiError('CONTENT_REFUSED', sentence, {
    details: { ...(path !== undefined && { path }), reason },
  })
}
