import { createHash, createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { SignatureV4 } from '@smithy/signature-v4'
import { COPYING_BLOBS, type Deadlines } from '../../lib/deadlines.ts'
import type { Incidents } from '../../lib/incidents.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { BucketState } from './bucket-state.ts'
import type { Bucket } from './bucket-url.ts'
import { HangWatch } from './hang-watch.ts'
import { HttpExchanges, type S3Response, type SignedRequest } from './http-exchange.ts'
import { isRetryable, outcomeOf, type RequestOutcome, S3Error, WrongBytesError } from './s3-error.ts'

export interface S3Request {
  /** Of the metrics: `put` and so on. */
  kind: string
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Name of the object, without the prefix. */
  object?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: readonly Buffer[]
  /** SHA-256 of the body, which the server compares; hashed here when it is not known. */
  bodyHash?: string
  /** Whether it belongs to a transfer that has begun, which waits while the bucket hangs; others are then refused. */
  continues?: boolean
  /** Whether a successful response has the expected body; it is requested once more when it has not. */
  verify?(body: Buffer): boolean
}

export interface S3ClientOptions {
  bucket: Bucket
  metrics: Metrics
  incidents?: Incidents | undefined
  /** Milliseconds since 1970. */
  clock: () => number
  credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials']
  /** Those of a command by default. */
  timeouts?: Deadlines['blobs'] | undefined
}

const MAX_TRIES = 3

/** Bytes that are not those that were stored are requested once more: another server may have them. */
const MAX_WRONG_BODIES = 2

/** Pause before the first retry, doubled for the next; a random part of it. */
const MAX_FIRST_PAUSE_MS = 100

const EMPTY_HASH = createHash('sha256').digest('hex')

/** Content that streams is compared with the MD5 of the response. */
const UNSIGNED = 'UNSIGNED-PAYLOAD'

export class S3Client {
  readonly #bucket: Bucket
  readonly #metrics: Metrics
  readonly #clock: () => number
  readonly #exchanges: HttpExchanges
  readonly #signer: SignatureV4
  readonly #budget = new RetryBudget()
  readonly #state = new BucketState()
  readonly #hangs: HangWatch
  /** Time of the server less that of the clock: a signature is valid for 15 minutes. */
  #clockOffsetMs = 0

  constructor(options: S3ClientOptions) {
    const { bucket, metrics, incidents, clock, credentials, timeouts = COPYING_BLOBS } = options
    this.#bucket = bucket
    this.#metrics = metrics
    this.#clock = clock
    this.#hangs = new HangWatch({ hangMs: timeouts.hang, probe: () => this.#probe() })
    if (incidents) this.#state.watch(incidents, bucket, this.#hangs)
    const host = bucket.isPathStyle ? bucket.endpoint.host : `${bucket.name}.${bucket.endpoint.host}`
    const endpoint = new URL(`${bucket.endpoint.protocol}//${host}`)
    this.#exchanges = new HttpExchanges(endpoint, timeouts.request, this.#hangs)
    this.#signer = new SignatureV4({
      service: 's3',
      region: bucket.region,
      credentials,
      sha256: NodeSha256,
      uriEscapePath: false,
      applyChecksum: false,
    })
  }

  /**
   * Rejects with an S3Error for error responses, after at most three tries; with an S3HangError while the bucket hangs. A
   * GET without a response ends when that begins; what may have stored something waits for its time-out.
   */
  async send(request: S3Request): Promise<S3Response> {
    const { body = [], bodyHash = body.length === 0 ? EMPTY_HASH : hashParts(body) } = request
    const length = body.reduce((sum, part) => sum + part.length, 0)
    return this.#withRetries(request.kind, async () => {
      const signal = this.#admit(request)
      const signed = await this.#sign(request, { length, hash: bodyHash })
      const response = this.#assertSuccess(await this.#exchanges.send(signed, body, signal))
      if (request.verify && !request.verify(response.body))
        throw new WrongBytesError(`S3 returned wrong bytes of ${request.object}`)
      return response
    })
  }

  /** Sends a body as it arrives. A request that is refused before its body is sent again; afterwards nothing is. */
  async upload(request: S3Request, length: number, content: AsyncIterator<Buffer>): Promise<S3Response> {
    const upload = await this.#withRetries(`${request.kind}.begin`, async () => {
      this.#admit(request)
      const signed = await this.#sign(request, { length, hash: UNSIGNED })
      return this.#exchanges.open(signed, (response) => this.#toError(response))
    })
    return this.#count(request.kind, async () => this.#assertSuccess(await upload.send(content)))
  }

  /** Rejects what the bucket would not answer; returns what ends the wait for an answer. */
  #admit({ method, continues = false }: S3Request): AbortSignal | undefined {
    if (continues) return undefined
    const { signal } = this.#hangs
    signal.throwIfAborted()
    return method === 'GET' ? signal : undefined
  }

  /** The smallest request that the service needs permissions for. Any response is a sign of life. */
  async #probe(): Promise<void> {
    const query = { 'list-type': '2', 'max-keys': '1', prefix: this.#bucket.prefix }
    const signed = await this.#sign({ kind: 'probe', method: 'GET', query }, { length: 0, hash: EMPTY_HASH })
    await this.#count('probe', async () => this.#assertSuccess(await this.#exchanges.probe(signed)))
  }

  async #withRetries<T>(kind: string, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1, wrongBodies = 0; ; tries++) {
      try {
        const result = await this.#count(kind, attempt)
        this.#budget.refund()
        return result
      } catch (error) {
        if (error instanceof WrongBytesError) wrongBodies++
        const isLast = tries === MAX_TRIES || wrongBodies === MAX_WRONG_BODIES
        if (isLast || !isRetryable(error) || !this.#budget.take()) throw error
        this.#metrics.counter('slipway_s3_retries_total').add()
        await pause(Math.random() * MAX_FIRST_PAUSE_MS * 2 ** (tries - 1))
      }
    }
  }

  async #count<T>(kind: string, work: () => Promise<T>): Promise<T> {
    let outcome: RequestOutcome = 'ok'
    try {
      return await work()
    } catch (error) {
      outcome = outcomeOf(error)
      this.#state.fail(outcome, error as Error)
      throw error
    } finally {
      if (outcome === 'ok') this.#state.succeed()
      this.#metrics.counter('slipway_s3_requests_total', { operation: kind, outcome }).add()
    }
  }

  #assertSuccess(response: S3Response): S3Response {
    if (response.status >= 300) throw this.#toError(response)
    return response
  }

  #toError({ status, headers, body }: S3Response): S3Error {
    const error = new S3Error(status, body)
    if (error.code === 'RequestTimeTooSkewed' && headers.date)
      this.#clockOffsetMs = Date.parse(headers.date) - this.#clock()
    return error
  }

  async #sign(
    { method, object, query = {}, headers = {} }: S3Request,
    body: { length: number; hash: string },
  ): Promise<SignedRequest> {
    const { name, prefix, endpoint, isPathStyle } = this.#bucket
    const key = object === undefined ? '' : `${prefix}${object}`
    const segments = [...(isPathStyle ? [name] : []), ...(object === undefined ? [] : key.split('/'))]
    const path = `/${segments.map(escapeUri).join('/')}`
    const host = isPathStyle ? endpoint.host : `${name}.${endpoint.host}`
    const signed = await this.#signer.sign(
      {
        method,
        protocol: endpoint.protocol,
        hostname: host,
        path,
        query,
        headers: {
          ...headers,
          host,
          ...(method === 'PUT' || method === 'POST' ? { 'content-length': `${body.length}` } : {}),
          'x-amz-content-sha256': body.hash,
        },
      },
      { signingDate: new Date(this.#clock() + this.#clockOffsetMs) },
    )
    const search = Object.entries(query).map(([key, value]) => `${escapeUri(key)}=${escapeUri(value)}`)
    return { method, path: search.length > 0 ? `${path}?${search.join('&')}` : path, headers: signed.headers }
  }
}

class NodeSha256 {
  readonly #hash: { update(bytes: Uint8Array | string): unknown; digest(): Buffer }

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', key as string | Uint8Array)
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    throw new Error('not supported')
  }
}

function hashParts(parts: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** The escapes of Signature Version 4: everything but unreserved characters (RFC 3986, 2.3). */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

const MAX_TOKENS = 200

/** A retry takes a token, a success returns one: when all requests fail, retries end (docs/decisions/022-s3.md). */
class RetryBudget {
  #tokens = MAX_TOKENS

  take(): boolean {
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  refund(): void {
    this.#tokens = Math.min(MAX_TOKENS, this.#tokens + 1)
  }
}
