import type { SecretFinding } from '../../../protocol/api/errors.schema.ts'
import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { formatExcess, pluralize } from '../../../protocol/format.ts'
import { sumSizes } from '../../../protocol/manifest/manifest.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import type { BlobReader } from '../../blobs/blob-reader.ts'
import type { CodedContent } from '../../blobs/content-coding.ts'
import { toBatches } from '../../lib/batches.ts'
import { Component } from '../../lib/component.ts'
import { SharedSemaphore } from '../../lib/concurrency-limiter.ts'
import { ApiError } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time.ts'
import { type Secrets, Signer } from '../../lib/tokens.ts'
import { WorkerThread } from '../../lib/worker-thread.ts'
import type { Parts } from '../../parts.ts'
import { type ManifestFile, servedType } from '../../store/tables/versions.ts'
import type { VersionSource } from '../publish-queue.ts'

type SecretScanParts = Pick<Parts, 'log' | 'telemetry'> & {
  secrets: Secrets
  mode: 'refuse' | 'warn' | 'off'
  onFailure: 'refuse' | 'pass'
  timeoutMs: number
}

/** Text with a content coding is scanned decoded. */
export type FileToScan = Pick<ManifestFile, 'path' | 'size' | 'contentType' | 'coded'> & { hash: string }

type ScannedFile = FileToScan & Pick<FileContents, 'isText'>

export interface FileContents {
  /** Or where they are in a file of this machine. */
  bytes: Uint8Array | { path: string; offset: number; size: number }
  coded?: CodedContent | undefined
  /** Otherwise it is scanned only if its first bytes are text. */
  isText: boolean
}

export interface FoundSecret {
  /** What it is, for people, such as "GitHub token". */
  kind: string
  /** From 1. */
  line: number
  /** The part of it that every secret of its kind has, and no more. */
  excerpt: string
  value: string
}

/** What was found in a file, without the secrets; null for a file that cannot be scanned. */
export type ScanResult = (Omit<FoundSecret, 'value'> & { digest: string })[] | null

/** Files that are scanned together, and the largest file whose type does not say whether it is text. */
const BATCH_BYTES = 2 ** 20
const MAX_FILE_BYTES = 16 * 2 ** 20

/** Of a batch that is sent to the thread, which reads others of a local disk itself. */
const SMALL = { files: 8, bytes: 16 * 1024 }

const THREAD_MEMORY_MB = 128
/** Its start takes longer than a scan. */
const THREAD_IDLE_TIMEOUT_MS = 5 * MINUTE_MS

/** Publishes take turns, a batch each. The next ones are read at the same time, from a bucket that may be slow. */
const BATCHES = { running: 4, waiting: 1000 }

const MAX_REPORTED = 50

/** Hexadecimal characters. */
const FINGERPRINT_LENGTH = 20

const TEXT_TYPES =
  /^(?:text\/|image\/svg)|^application\/(?:.*\+(?:json|xml|text)|json5?|jsonl|(?:x-)?ndjson|xml|(?:x-)?javascript|ecmascript|(?:x-)?typescript|(?:x-)?yaml|toml|graphql|sql|x-sh|x-httpd-php|x-pem-file|x-x509-ca-cert|pgp-.*|pkcs8|vnd\.apple\.keynote)(?:;|$)/i

/** Types that no text has by its name; without them, each picture would be read from a bucket. */
const BINARY_TYPES =
  /^(?:font\/|image\/(?:avif|bmp|gif|hei[cf]|jpeg|jxl|png|tiff|webp|vnd\.microsoft\.icon|x-icon)|(?:audio|video)\/(?:aac|aiff|flac|iso\.segment|mp4|mpeg|ogg|quicktime|wav|webm)|application\/(?:gzip|vnd\.ms-fontobject|wasm|x-brotli|zip|zstd))(?:;|$)/i

/** Size of the largest file with this type that is scanned, in bytes. */
export function scanLimit(file: Pick<ManifestFile, 'path' | 'contentType' | 'coded'>): number {
  const type = servedType(file)
  if (TEXT_TYPES.test(type)) return MAX_FILE_BYTES
  return BINARY_TYPES.test(type) ? 0 : BATCH_BYTES
}

/** Finds secrets in the new text files of a version, before it is published (docs/decisions/050-secret-scan.md). */
export class SecretScan extends Component<SecretScanParts> implements Disposable {
  readonly #signer = new Signer(this.parts.secrets, 'secret findings')
  readonly #batches = new SharedSemaphore(BATCHES)
  readonly #thread = new WorkerThread<FileContents[], ScanResult[]>({
    program: new URL('./secret-worker.ts', import.meta.url),
    timeoutMs: this.parts.timeoutMs,
    idleTimeoutMs: THREAD_IDLE_TIMEOUT_MS,
    memoryMb: THREAD_MEMORY_MB,
  });

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]()
  }

  /**
   * SECRET_DETECTED unless the fingerprints of all secrets are in `allowed`, or secrets are warnings. A failure is a
   * warning, or by the setting SCAN_UNAVAILABLE, and CONTENT_REFUSED for a file that is too large. Returns the fingerprints
   * that were found and are allowed.
   */
  async check(
    files: readonly FileToScan[],
    { allowed, ...source }: VersionSource & { allowed: ReadonlySet<string> },
  ): Promise<{ warnings: PublishWarning[]; allowed: string[] }> {
    const { mode, onFailure, log } = this.parts
    if (mode === 'off') return { warnings: [], allowed: [] }
    const texts = files.flatMap((file) => {
      const limit = scanLimit(file)
      const isText = limit === MAX_FILE_BYTES
      const decoded = file.coded?.decodedSize ?? file.size
      const size = Math.max(file.size, decoded)
      return decoded > 0 && (isText || size <= limit) ? { ...file, size, isText } : []
    })
    const contents = new Map(texts.map((file) => [`${file.coded?.coding} ${file.hash}`, file])).values()
    const large = onFailure === 'refuse' && texts.find(({ size }) => size > MAX_FILE_BYTES)
    if (large) throw tooLarge(large)
    const version = new VersionScan({ signer: this.#signer, known: allowed })
    const { findings, unscanned } = version
    for (const batch of toBatches(contents, { maxBytes: BATCH_BYTES })) {
      version.add(batch, await this.#scan(batch, source))
      if (mode === 'refuse' && findings.length === MAX_REPORTED) break
    }
    if (findings.length > 0) {
      log.info('secrets found in a version', { secrets: findings.length, path: findings[0]!.path })
      if (mode === 'refuse') throw secretDetected(findings)
    }
    if (unscanned.length > 0 && onFailure === 'refuse') throw scanFailed(unscanned)
    return {
      warnings: [...findings.map(toWarning), ...describeUnscanned(unscanned)],
      allowed: version.allowed,
    }
  }

  /** Undefined when the batch cannot be scanned. */
  async #scan(
    batch: readonly ScannedFile[],
    { publisher, reader }: VersionSource,
  ): Promise<ScanResult[] | undefined> {
    if (batch.some(({ size }) => size > MAX_FILE_BYTES)) return undefined
    const isSmall = batch.length <= SMALL.files && sumSizes(batch) <= SMALL.bytes
    const send = async () =>
      this.#send(batch, await Promise.all(batch.map((file) => locate(reader, file, isSmall))))
    return isSmall ? send() : this.#batches.run(publisher, send)
  }

  async #send(batch: readonly ScannedFile[], contents: FileContents[]): Promise<ScanResult[] | undefined> {
    try {
      return await this.#thread.call(contents)
    } catch (error) {
      // A stop is no reason to publish files that were not scanned.
      if (error instanceof ApiError) throw error
      this.parts.telemetry.metrics.counter('slipway_scans_total', { outcome: 'failed' }).add()
      this.parts.log.warn('files could not be scanned for secrets', { path: batch[0]!.path, error })
      return undefined
    }
  }
}

async function locate(
  reader: BlobReader,
  { hash, coded, isText }: ScannedFile,
  isSmall: boolean,
): Promise<FileContents> {
  const place = isSmall ? undefined : await reader.localPlace(hash)
  // A copy, because the message has all of the memory that a buffer is a part of.
  const bytes = place ?? new Uint8Array((await reader.bytes(hash)) ?? [])
  return { bytes, coded, isText }
}

class VersionScan extends Component<{ signer: Signer; known: ReadonlySet<string> }> {
  readonly findings: SecretFinding[] = []
  readonly unscanned: string[] = []
  readonly allowed: string[] = []

  add(batch: readonly FileToScan[], results: readonly ScanResult[] | undefined): void {
    const signed = new Map<string, string[]>()
    for (const [index, { path }] of batch.entries()) {
      const secrets = results?.[index]
      if (!secrets) this.unscanned.push(path)
      for (const { digest, ...found } of secrets ?? []) {
        // An earlier secret of the server made those that were allowed before.
        const fingerprints =
          signed.get(digest) ?? this.parts.signer.signAll([found.kind, digest]).map(toFingerprint)
        signed.set(digest, fingerprints)
        const known = fingerprints.find((one) => this.parts.known.has(one))
        if (known !== undefined) this.allowed.push(known)
        else if (this.findings.length < MAX_REPORTED)
          this.findings.push({ path, ...found, fingerprint: fingerprints[0]! })
      }
    }
  }
}

function toFingerprint(signature: string): string {
  return Buffer.from(signature, 'base64url').toString('hex').slice(0, FINGERPRINT_LENGTH)
}

function secretDetected(findings: readonly SecretFinding[]): ApiError {
  const { path, line, kind } = findings[0]!
  const more = findings.length > 1 ? ` and ${pluralize(findings.length - 1, 'other place')}` : ''
  const sentence = `The files seem to contain a secret: ${sanitizePath(path)}:${line} (${kind})${more}. Nothing was published`
  return new ApiError('SECRET_DETECTED', sentence, { details: findings })
}

function toWarning({ path, line, kind, fingerprint }: SecretFinding): PublishWarning {
  return { file: path, line, message: `may be a secret (${kind}); fingerprint ${fingerprint}` }
}

function describeUnscanned(paths: readonly string[]): PublishWarning[] {
  const [file, ...others] = paths
  if (file === undefined) return []
  const more = others.length > 0 ? `, nor ${pluralize(others.length, 'other file')}` : ''
  return [{ file, message: `not scanned for secrets${more}` }]
}

function tooLarge({ path, size }: FileToScan): ApiError {
  const { found, limit } = formatExcess(size, MAX_FILE_BYTES)
  const sentence = `'${sanitizePath(path)}' has ${found}, and text is scanned for secrets up to ${limit}. Split the file, or publish without it`
  return new ApiError('CONTENT_REFUSED', sentence, { details: { path } })
}

function scanFailed([path]: readonly string[]): ApiError {
  const sentence = `'${sanitizePath(path!)}' cannot be scanned for secrets at the moment. Try again shortly.`
  return new ApiError('SCAN_UNAVAILABLE', sentence, { retryAfterSeconds: 30 })
}
