import { createHash, createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { SignatureV4 } from '@smithy/signature-v4'
import type { Bucket } from './bucket-url.ts'
import { isRetryable, outcomeOf, type RequestOutcome, S3Error, WrongBytesError } from './errors.ts'
import { HangWatch } from './hang-watch.ts'
import { HttpExchanges, type S3Response, type SignedRequest } from './http-exchange.ts'

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
  credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials']
  /**
   * Milliseconds without a byte: of one request, and of all after which the bucket hangs; and of a whole exchange whose
   * bodies are in memory.
   */
  timeouts: { request: number; exchange: number; hang: number }
  /** Milliseconds since 1970. */
  clock?: () => number
  observer?: S3Observer
  /** Frees the buffers of streamed bodies, which V8 keeps longer than it should; called after each 16 MiB. */
  collectYoung?: () => void
}

export interface S3Observer {
  /** After each request that was sent or refused, with its error unless the outcome is `ok`. */
  onRequest(kind: string, outcome: RequestOutcome, error?: Error): void
  /** Before a request is sent again. */
  onRetry(): void
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
  readonly bucket: Bucket
  readonly #observer: S3Observer | undefined
  readonly #clock: () => number
  readonly #exchanges: HttpExchanges
  readonly #signer: SignatureV4
  readonly #budget = new RetryBudget()
  readonly #hangs: HangWatch
  /** Time of the server less that of the clock: a signature is valid for 15 minutes. */
  #clockOffsetMs = 0

  constructor(options: S3ClientOptions) {
    const { bucket, credentials, timeouts, clock = Date.now, observer, collectYoung } = options
    this.bucket = bucket
    this.#observer = observer
    this.#clock = clock
    this.#hangs = new HangWatch({ hangMs: timeouts.hang, probe: () => this.#probe() })
    const host = bucket.isPathStyle ? bucket.endpoint.host : `${bucket.name}.${bucket.endpoint.host}`
    const endpoint = new URL(`${bucket.endpoint.protocol}//${host}`)
    this.#exchanges = new HttpExchanges({
      endpoint,
      timeoutMs: timeouts.request,
      exchangeMs: timeouts.exchange,
      hangs: this.#hangs,
      collectYoung,
    })
    this.#signer = new SignatureV4({
      service: 's3',
      region: bucket.region,
      credentials,
      sha256: NodeSha256,
      uriEscapePath: false,
      applyChecksum: false,
    })
  }

  get isHanging(): boolean {
    return this.#hangs.isHanging
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
        throw new WrongBytesError(`S3 returned wrong bytes for ${request.object ?? request.kind}`)
      return response
    })
  }

  /**
   * Sends a body as it arrives, and compares the MD5 of what was stored. A request that is refused before its body is
   * sent again; afterwards nothing is.
   */
  async upload(request: S3Request, length: number, content: AsyncIterator<Buffer>): Promise<S3Response> {
    const upload = await this.#withRetries(`${request.kind}.begin`, async () => {
      this.#admit(request)
      const signed = await this.#sign(request, { length, hash: UNSIGNED })
      return this.#exchanges.open(signed, (response) => this.#toError(response))
    })
    const md5 = createHash('md5')
    const hashed = {
      async next() {
        const result = await content.next()
        if (!result.done) md5.update(result.value)
        return result
      },
    }
    const response = await this.#count(request.kind, async () =>
      this.#assertSuccess(await upload.send(hashed)),
    )
    assertStored(response, md5.digest('hex'))
    return response
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
    const query = { 'list-type': '2', 'max-keys': '1', prefix: this.bucket.prefix }
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
        this.#observer?.onRetry()
        await pause(Math.random() * MAX_FIRST_PAUSE_MS * 2 ** (tries - 1))
      }
    }
  }

  async #count<T>(kind: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.#observer?.onRequest(kind, 'ok')
      return result
    } catch (error) {
      this.#observer?.onRequest(kind, outcomeOf(error), error as Error)
      throw error
    }
  }

  #assertSuccess(response: S3Response): S3Response {
    if (response.status >= 300) throw this.#toError(response)
    return response
  }

  #toError({ status, headers, body }: S3Response): S3Error {
    const error = new S3Error(status, body)
    const serverTime = Date.parse(headers.date ?? '')
    if (error.code === 'RequestTimeTooSkewed' && Number.isFinite(serverTime))
      this.#clockOffsetMs = serverTime - this.#clock()
    return error
  }

  async #sign(
    { method, object, query = {}, headers = {} }: S3Request,
    body: { length: number; hash: string },
  ): Promise<SignedRequest> {
    const { name, prefix, endpoint, isPathStyle } = this.bucket
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

/**
 * The tag of an object is its MD5, unless it is encrypted with a key of its own or was stored in parts: the bytes may
 * have changed on their way to a server without TLS.
 */
function assertStored({ headers }: S3Response, md5: string): void {
  const tag = /^"?([0-9a-f]{32})"?$/i.exec(headers.etag ?? '')?.[1]
  const encryption = headers['x-amz-server-side-encryption']
  const isComparable = tag !== undefined && (encryption === undefined || encryption === 'AES256')
  if (isComparable && tag.toLowerCase() !== md5) throw new Error('S3 stored other bytes than it received')
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
