import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { SecretFinding } from '../../../protocol/api/errors.schema.ts'
import type { PublishWarning } from '../../../protocol/api/publish.schema.ts'
import { pluralize } from '../../../protocol/format.ts'
import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import { sanitizePath } from '../../../protocol/manifest/paths.ts'
import type { BlobReader } from '../../blobs/blob-reader.ts'
import { ApiError } from '../../lib/errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { SECOND_MS } from '../../lib/time.ts'
import { type Secrets, Signer } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { FoundSecret } from './secret-rules.ts'

type SecretScanParts = Pick<Parts, 'log'> & {
  secrets: Secrets
  mode: 'refuse' | 'warn' | 'off'
  onFailure: 'refuse' | 'pass'
  /** For one batch. */
  timeoutMs?: number
}

type FileToScan = Pick<StoredFile, 'path' | 'size' | 'contentType'> & { hash: string }

/** Without the secret. */
type Found = Omit<FoundSecret, 'value'> & { digest: string }

/** Files that are sent to the worker together, and the size of a larger one that is scanned. */
const BATCH_BYTES = 2 ** 20
const MAX_FILE_BYTES = 16 * 2 ** 20

/** A batch of the largest size takes a fraction of a second. */
const BATCH_TIMEOUT_MS = 10 * SECOND_MS

const WORKER_MEMORY_MB = 128
const WORKER_IDLE_TIMEOUT_MS = 10 * SECOND_MS

/** Publishes take turns, a batch each. */
const BATCHES = { running: 1, waiting: 1000 }

const MAX_REPORTED = 50

/** Hexadecimal characters. */
const FINGERPRINT_LENGTH = 20

const TEXT_TYPES =
  /^(?:text\/|image\/svg)|^application\/(?:.*\+(?:json|xml|text)|json5?|jsonl|(?:x-)?ndjson|xml|(?:x-)?javascript|ecmascript|(?:x-)?typescript|(?:x-)?yaml|toml|graphql|sql|x-sh|x-httpd-php|x-pem-file|x-x509-ca-cert|pgp-.*|pkcs8|vnd\.apple\.keynote)(?:;|$)/i

const WORKER = new URL('./secret-worker.ts', import.meta.url)

/** Finds secrets in the new text files of a version, before it is published (docs/decisions/049-secret-scan.md). */
export class SecretScan implements AsyncDisposable {
  readonly #parts: SecretScanParts
  readonly #signer: Signer
  readonly #semaphore = new Semaphore(BATCHES)
  #worker: Worker | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(parts: SecretScanParts) {
    this.#parts = parts
    this.#signer = new Signer(parts.secrets, 'secret findings')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end()
  }

  /**
   * SECRET_DETECTED unless the fingerprints of all secrets are in `allowed`, or secrets are warnings. A failure is a
   * warning, or SCAN_UNAVAILABLE by the setting. Returns the fingerprints that were found and are allowed.
   */
  async check(
    files: readonly FileToScan[],
    reader: BlobReader,
    allowed: ReadonlySet<string>,
  ): Promise<{ warnings: PublishWarning[]; allowed: string[] }> {
    const { mode, log } = this.#parts
    if (mode === 'off') return { warnings: [], allowed: [] }
    const scan = new VersionScan(this.#signer, allowed)
    for (const batch of toBatches(files.filter(isText))) scan.add(batch, await this.#scan(batch, reader))
    const { findings, unscanned } = scan
    if (findings.length > 0) {
      log.info('secrets found in a version', { secrets: findings.length, path: findings[0]!.path })
      if (mode === 'refuse') throw secretDetected(findings)
    }
    if (unscanned.length > 0 && this.#parts.onFailure === 'refuse') throw scanFailed(unscanned)
    return { warnings: [...findings.map(toWarning), ...describeUnscanned(unscanned)], allowed: scan.allowed }
  }

  /** Undefined when the batch cannot be scanned, as each file of it that cannot. */
  async #scan(
    batch: readonly FileToScan[],
    reader: BlobReader,
  ): Promise<(Found[] | undefined)[] | undefined> {
    if (batch.some(({ size }) => size > MAX_FILE_BYTES)) return undefined
    const contents = await Promise.all(batch.map(({ hash }) => reader.bytes(hash)))
    return this.#semaphore.run(async () => {
      clearTimeout(this.#idleTimer)
      try {
        this.#worker ??= this.#start()
        this.#worker.postMessage(contents.map((bytes) => bytes ?? Buffer.alloc(0)))
        const signal = AbortSignal.timeout(this.#parts.timeoutMs ?? BATCH_TIMEOUT_MS)
        const [found] = (await once(this.#worker, 'message', { signal })) as [(Found[] | undefined)[]]
        return found
      } catch (error) {
        this.#parts.log.warn('files could not be scanned for secrets', { path: batch[0]!.path, error })
        await this.#end()
        return undefined
      } finally {
        this.#idleTimer = setTimeout(() => void this.#end(), WORKER_IDLE_TIMEOUT_MS).unref()
      }
    })
  }

  #start(): Worker {
    const worker = new Worker(WORKER, { resourceLimits: { maxOldGenerationSizeMb: WORKER_MEMORY_MB } })
    worker.unref()
    const forget = () => {
      if (this.#worker === worker) this.#worker = undefined
    }
    // Its error also ends the wait for a message.
    return worker.on('error', forget).on('exit', forget)
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

/** What the batches of a version have. */
class VersionScan {
  readonly findings: SecretFinding[] = []
  readonly unscanned: string[] = []
  readonly allowed: string[] = []
  readonly #signer: Signer
  readonly #allowed: ReadonlySet<string>

  constructor(signer: Signer, allowed: ReadonlySet<string>) {
    this.#signer = signer
    this.#allowed = allowed
  }

  add(batch: readonly FileToScan[], results: readonly (Found[] | undefined)[] | undefined): void {
    for (const [index, { path }] of batch.entries()) {
      const secrets = results?.[index]
      if (!secrets) this.unscanned.push(path)
      for (const { digest, ...found } of secrets ?? []) {
        // An earlier secret of the server made those that were allowed before.
        const fingerprints = this.#signer.signAll([found.kind, digest]).map(toFingerprint)
        const known = fingerprints.find((one) => this.#allowed.has(one))
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

function isText({ contentType, size }: FileToScan): boolean {
  return size > 0 && TEXT_TYPES.test(contentType)
}

/** Each content once; a large one alone. */
function toBatches(files: readonly FileToScan[]): FileToScan[][] {
  const batches: FileToScan[][] = []
  let bytes = Infinity
  for (const file of new Map(files.map((one) => [one.hash, one])).values()) {
    bytes += file.size
    if (bytes > BATCH_BYTES) {
      batches.push([])
      bytes = file.size
    }
    batches.at(-1)!.push(file)
  }
  return batches
}

function describeFinding({ path, line, kind }: SecretFinding): string {
  return `${sanitizePath(path)}:${line} (${kind})`
}

function secretDetected(findings: readonly SecretFinding[]): ApiError {
  const more = findings.length > 1 ? ` and ${pluralize(findings.length - 1, 'other place')}` : ''
  const sentence = `The files seem to contain a secret: ${describeFinding(findings[0]!)}${more}. Nothing was published`
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

function scanFailed([path]: readonly string[]): ApiError {
  const sentence = `'${sanitizePath(path!)}' cannot be scanned for secrets at the moment. Try again shortly.`
  return new ApiError('SCAN_UNAVAILABLE', sentence, { retryAfterSeconds: 30 })
}
