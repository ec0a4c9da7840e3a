import type { ClientRequest, Agent as HttpAgent, IncomingHttpHeaders, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { S3QueueFullError, S3TimeoutError } from './errors.ts'
import type { HangWatch } from './hang-watch.ts'

export interface S3Response {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface SignedRequest {
  method: string
  path: string
  headers: Record<string, string>
}

/** Of a body that is longer than its declared length, and of responses without one. */
const MAX_BODY_BYTES = 64 * 2 ** 20

/** Connections for requests whose bodies are in memory. Further requests wait for one. */
const MAX_SOCKETS = 64

/** Requests that wait for a connection or a response, each with its body; further ones are refused. */
const MAX_PENDING_REQUESTS = 4096

/** How long an upload waits for the response "100 Continue" of a server that may not know it. */
const CONTINUE_TIMEOUT_MS = 1000

/** Bytes of streamed bodies after which their buffers are freed. Measured: 34 MB in place of 84 for a file of 1 GiB. */
const COLLECTION_BYTES = 16 * 2 ** 20

/** Without an import, which evaluates all exports: `WebSocket` loads an HTTP client, a tenth of the start time. */
const http = process.getBuiltinModule('node:http')

interface HttpExchangesOptions {
  endpoint: URL
  /** The maximum time without a byte in either direction, including that to connect. */
  timeoutMs: number
  /** Of an exchange whose bodies are in memory, with its wait for a connection. */
  exchangeMs: number
  hangs: Hangs
  collectYoung?: (() => void) | undefined
}

export class HttpExchanges {
  readonly #endpoint: URL
  readonly #timeoutMs: number
  readonly #exchangeMs: number
  readonly #agent: HttpAgent
  /** Uploads wait for their clients, so they have connections of their own: as many as the service accepts uploads. */
  readonly #uploadAgent: HttpAgent
  /** All others may be in use, or lead to a server that has gone. */
  readonly #probeAgent: HttpAgent
  readonly #hangs: Hangs
  readonly #collectYoung: (() => void) | undefined
  #pending = 0
  #streamedBytes = 0
  #sendsContinue = false

  constructor({ endpoint, timeoutMs, exchangeMs, hangs, collectYoung }: HttpExchangesOptions) {
    this.#endpoint = endpoint
    this.#timeoutMs = timeoutMs
    this.#exchangeMs = exchangeMs
    this.#hangs = hangs
    this.#collectYoung = collectYoung
    const Agent = endpoint.protocol === 'https:' ? HttpsAgent : http.Agent
    const options = { keepAlive: true, noDelay: true, scheduling: 'lifo', timeout: timeoutMs } as const
    this.#agent = new Agent({ ...options, maxSockets: MAX_SOCKETS })
    this.#uploadAgent = new Agent(options)
    this.#probeAgent = new Agent({ ...options, keepAlive: false })
  }

  /** Sends a request with a body in memory and receives the response; `signal` ends it with its reason. */
  async send(signed: SignedRequest, body: readonly Buffer[], signal?: AbortSignal): Promise<S3Response> {
    if (this.#pending >= MAX_PENDING_REQUESTS) throw new S3QueueFullError('too many requests are waiting')
    this.#pending++
    try {
      return await this.#exchange(this.#request(signed, this.#agent), body, signal)
    } finally {
      this.#pending--
    }
  }

  probe(signed: SignedRequest): Promise<S3Response> {
    return this.#exchange(this.#request(signed, this.#probeAgent), [])
  }

  #exchange(request: ClientRequest, body: readonly Buffer[], signal?: AbortSignal): Promise<S3Response> {
    request.on('timeout', () => request.destroy(this.#timeoutError()))
    // A request without a connection emits nothing when it is destroyed.
    const deadline = Promise.withResolvers<never>()
    const end = (error: Error) => {
      deadline.reject(error)
      request.destroy(error)
    }
    const timer = setTimeout(() => end(this.#timeoutError()), this.#exchangeMs)
    const abort = () => end(signal!.reason)
    signal?.addEventListener('abort', abort)
    // While the request was signed.
    if (signal?.aborted) abort()
    const response = receive(request, this.#hangs)
    for (const part of body) request.write(part)
    request.end()
    return this.#hangs.during(Promise.race([response, deadline.promise])).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    })
  }

  /** Resolves when the server is ready for the body; otherwise rejects before a byte of the body is needed. */
  async open(signed: SignedRequest, toError: (response: S3Response) => Error): Promise<OpenUpload> {
    const headers = { ...signed.headers, expect: '100-continue' }
    const request = this.#request({ ...signed, headers }, this.#uploadAgent)
    const upload = new OpenUpload(request, {
      timeoutError: () => this.#timeoutError(),
      onSent: (bytes) => this.#countStreamed(bytes),
      hangs: this.#hangs,
    })
    request.flushHeaders()
    try {
      const ready = Promise.race([this.#waitUntilReady(request), upload.response])
      const refused = await this.#hangs.during(ready)
      if (refused) throw toError(refused)
      return upload
    } catch (error) {
      upload.destroy()
      throw error
    }
  }

  async #waitUntilReady(request: ClientRequest): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    request.once('continue', () => {
      this.#sendsContinue = true
      this.#hangs.hear()
      resolve(undefined)
    })
    let timer: NodeJS.Timeout | undefined
    request.once('socket', (socket) => {
      const start = () => {
        if (!this.#sendsContinue) timer = setTimeout(resolve, CONTINUE_TIMEOUT_MS, undefined)
      }
      if (socket.connecting) socket.once('connect', start)
      else start()
    })
    request.once('close', resolve)
    return promise.finally(() => clearTimeout(timer))
  }

  #countStreamed(bytes: number): void {
    this.#streamedBytes += bytes
    if (this.#streamedBytes < COLLECTION_BYTES) return
    this.#streamedBytes = 0
    this.#collectYoung?.()
  }

  #request({ method, path, headers }: SignedRequest, agent: HttpAgent): ClientRequest {
    const { protocol, hostname, port } = this.#endpoint
    const options: RequestOptions = {
      method,
      path,
      headers,
      agent,
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
    }
    return protocol === 'https:' ? httpsRequest(options) : http.request(options)
  }

  #timeoutError(): Error {
    return new S3TimeoutError(`no response for ${this.#timeoutMs} ms`)
  }
}

type Hangs = Pick<HangWatch, 'during' | 'hear'>

interface UploadHandlers {
  timeoutError: () => Error
  onSent: (bytes: number) => void
  hangs: Hangs
}

export class OpenUpload {
  readonly response: Promise<S3Response>
  readonly #request: ClientRequest
  readonly #onSent: (bytes: number) => void
  readonly #hangs: Hangs
  #isWaitingForContent = false
  /** Continues after the connection has sent what was written, or after the response or its failure. */
  #resume: () => void = () => undefined
  /** Whether there is a response, or will be none. */
  #isSettled = false

  constructor(request: ClientRequest, { timeoutError, onSent, hangs }: UploadHandlers) {
    this.#request = request
    this.#onSent = onSent
    this.#hangs = hangs
    this.response = receive(request, hangs)
    const settle = () => {
      this.#isSettled = true
      this.#resume()
    }
    this.response.then(settle, settle)
    request.on('drain', () => this.#resume())
    request.on('timeout', () => {
      // The time that the client takes is not that of the server.
      if (!this.#isWaitingForContent) request.destroy(timeoutError())
    })
  }

  /** Sends the body to its end and receives the response, which may come earlier when it is an error. */
  async send(content: AsyncIterator<Buffer>): Promise<S3Response> {
    try {
      for (;;) {
        this.#isWaitingForContent = true
        const { value, done } = await content.next()
        this.#isWaitingForContent = false
        if (done) break
        // The connection may be lost while the client sends nothing.
        if (!this.#isSettled && !this.#request.write(value)) await this.#drain()
        this.#onSent(value.length)
        if (this.#isSettled) {
          const response = await this.response
          this.destroy()
          return response
        }
      }
      this.#request.end()
      return await this.#hangs.during(this.response)
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /** Without its last bytes the server stores nothing. */
  destroy(): void {
    this.#request.destroy()
  }

  /** `drain` is not emitted after the request has failed, which may have been before the write. */
  async #drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#resume = resolve
    if (!this.#isSettled) await this.#hangs.during(promise)
  }
}

function receive(request: ClientRequest, hangs: Hangs): Promise<S3Response> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    request.on('close', () =>
      reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })),
    )
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      hangs.hear()
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        hangs.hear()
        length += chunk.length
        if (length > MAX_BODY_BYTES) return void request.destroy(new Error('the response is too long'))
        chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status, headers, body: Buffer.concat(chunks, length) }))
    })
  })
}
