import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { createSecureContext, getCACertificates } from 'node:tls'
import { AcmeError } from './acme.ts'

interface AcmeTransportOptions {
  /** PEM of additional trusted roots. */
  caFile?: string | undefined
  /** For the User-Agent (RFC 8555, 6.1). */
  version: string
  /** Time-out of one request in milliseconds. */
  requestTimeoutMs: number
}

interface HttpRequest {
  method: 'GET' | 'HEAD' | 'POST'
  url: string
  body?: string
}

export interface HttpResponse {
  url: string
  status: number
  headers: IncomingHttpHeaders
  body: string
}

const MAX_RESPONSE_LENGTH = 1024 * 1024
const MAX_URL_LENGTH = 2048
const MAX_CONNECTIONS = 8

/** Idle time-out in milliseconds, shorter than that of most servers. */
const IDLE_TIMEOUT_MS = 4000

/** HTTPS to a CA: verified, bounded in bytes and time; redirects are returned like any response. */
export class AcmeTransport implements Disposable {
  readonly #agent: Agent
  readonly #headers: Record<string, string>
  readonly #requestTimeoutMs: number

  /** Throws when the file of roots cannot be read. */
  constructor({ caFile, version, requestTimeoutMs }: AcmeTransportOptions) {
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: MAX_CONNECTIONS,
      timeout: IDLE_TIMEOUT_MS,
      ...trustOptions(caFile),
    })
    this.#headers = { 'user-agent': `slipway/${version}`, 'accept-language': 'en' }
    this.#requestTimeoutMs = requestTimeoutMs
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  /** Returns any response; throws `AcmeError` when there is none. */
  async request(httpRequest: HttpRequest, deadline: Deadline): Promise<HttpResponse> {
    const url = parseHttpsUrl(httpRequest.url)
    const timeoutMs = deadline.atMost(this.#requestTimeoutMs)
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      return await this.#once(httpRequest, url, signal)
    } catch (error) {
      if (signal.aborted)
        throw unreachable(`did not respond within ${Math.round(timeoutMs / 1000)} seconds`, error)
      if (!(error instanceof StaleConnectionError)) throw toAcmeError(error)
    }
    return this.#once(httpRequest, url, signal).catch((error) => Promise.reject(toAcmeError(error)))
  }

  async #once({ method, body }: HttpRequest, url: URL, signal: AbortSignal): Promise<HttpResponse> {
    const headers = { ...this.#headers, ...(body === undefined ? {} : bodyHeaders(body)) }
    const options: RequestOptions = { method, headers, agent: this.#agent, signal }
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const outgoing = request(url, options, resolve).on('error', (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET' && method !== 'POST'
      reject(isStale ? new StaleConnectionError() : error)
    })
    // An upgrade response closes the request without an error.
    outgoing.on('close', () => reject(new Error('the connection is closed')))
    outgoing.end(body)
    const response = await promise
    return {
      url: url.href,
      status: response.statusCode!,
      headers: response.headers,
      body: await readBody(response),
    }
  }
}

const LAST_REQUEST_MS = 5000

/** The remaining time of a call in milliseconds, independent of the system clock. */
export class Deadline {
  readonly #limitMs: number
  readonly #pause: (ms: number) => Promise<void>
  #start = performance.now()
  #pausedMs = 0

  constructor(limitMs: number, pause: (ms: number) => Promise<void>) {
    this.#limitMs = limitMs
    this.#pause = pause
  }

  /** Time-out of one request: the remaining time, at most `maxMs`. */
  atMost(maxMs: number): number {
    const remaining = this.#remaining()
    if (remaining <= 0) throw timeoutError()
    return Math.ceil(Math.min(remaining, maxMs))
  }

  allows(ms: number): boolean {
    return ms < this.#remaining()
  }

  /** Waits, or ends the call when the wait would exceed the remaining time. `now` is used for `notBefore`. */
  async pause(ms: number, now: number): Promise<void> {
    if (!this.allows(ms)) throw timeoutError(now + ms)
    this.#pausedMs += ms
    await this.#pause(ms)
  }

  /** Waits until little is left for a last request; false when that is not possible any more. */
  async pauseUntilLast(): Promise<boolean> {
    const ms = this.#remaining() - LAST_REQUEST_MS
    if (ms < LAST_REQUEST_MS) return false
    await this.pause(ms, 0)
    return true
  }

  /** Runs `work` without charging its time to the deadline. */
  async excluding<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.#start += performance.now() - start
    }
  }

  #remaining(): number {
    return this.#limitMs - Math.max(this.#pausedMs, performance.now() - this.#start)
  }
}

/** The server closed a kept-alive connection. It may have received the request, which is safe to repeat. */
class StaleConnectionError extends Error {}

function trustOptions(caFile: string | undefined): object {
  if (!caFile) return {}
  const ca = [...getCACertificates('default'), readFileSync(caFile, 'utf8')]
  return { secureContext: createSecureContext({ ca }) }
}

function parseHttpsUrl(address: string): URL {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:' || address.length > MAX_URL_LENGTH) {
    throw unreachable('returned a URL that is not HTTPS')
  }
  return url
}

function bodyHeaders(body: string): Record<string, string | number> {
  return { 'content-type': 'application/jose+json', 'content-length': Buffer.byteLength(body) }
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_RESPONSE_LENGTH) throw unreachable('returned more than a megabyte')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function toAcmeError(error: unknown): AcmeError {
  if (error instanceof AcmeError) return error
  const code = (error as NodeJS.ErrnoException).code ?? 'no reason given'
  if (/CERT|SIGNED|ISSUER|SIGNATURE|ALTNAME/.test(code))
    return unreachable(`has an untrusted certificate (${code}; see SLIPWAY_ACME_CA_FILE)`, error)
  return unreachable(`is unreachable (${code})`, error)
}

/** `what` completes the sentence "The CA …". */
export function unreachable(what: string, cause?: unknown): AcmeError {
  return new AcmeError('unreachable', `The certificate authority ${what}`, { cause })
}

function timeoutError(notBefore?: number): AcmeError {
  const sentence = 'The certificate authority has not finished yet; retrying later'
  return new AcmeError('timeout', sentence, { notBefore })
}
