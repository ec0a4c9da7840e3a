import type { IncomingMessage } from 'node:http'
import type { RequestLike } from './clients/client-ip.ts'
import type { MemoryReservation } from './clients/client-memory.ts'

// The only interface between the protocols and what they serve.

/** Request headers that a handler gets, in lower case. */
export const RELEVANT_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'cookie',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'user-agent',
  'x-forwarded-for',
] as const

export type RequestHeaders = { readonly [K in (typeof RELEVANT_HEADERS)[number]]?: string | undefined }

/** A request target as received: percent-encoded, `query` with its question mark or empty. */
export interface RequestTarget {
  path: string
  query: string
}

export interface HttpRequest {
  host: string
  /** Whether it arrived over TLS that this process terminates. */
  isSecure: boolean
  target: RequestTarget
  headers: RequestHeaders
  socket: RequestLike['socket']
  isHead?: boolean
  /** Another method than GET and HEAD. */
  method?: string
}

/**
 * A response without connection headers and `Date`. It never changes, and equal responses are the same object where
 * that is possible: a protocol caches its serialized form by it.
 */
export interface HttpResponse {
  readonly status: number
  /** Header lines, name before value, with `Content-Length`. */
  readonly headers: readonly string[]
  /** The body, when it is in memory anyway. */
  readonly body?: Buffer
  /** Present when the body is stored: see `peekBody` and `openBody`. */
  readonly content?: object
}

/** A handler may add what it needs for `openBody` and `count`, which get the object that `respond` returned. */
export interface HttpResult {
  readonly response: HttpResponse
}

export interface ResultWithBody extends HttpResult {
  readonly body: Buffer | BodyReader | undefined
}

/** Bytes per read for a fast client, and for a slow one. */
export const FULL_READ_BYTES = 128 * 1024
export const SMALL_READ_BYTES = 32 * 1024

export interface BodyReader {
  /**
   * The next bytes, at most `limit`; undefined after the last. A promise only when they have to be read; it rejects
   * when they are missing, which is logged. With `FULL_READ_BYTES` more may be read ahead.
   */
  next(limit: number): Buffer | undefined | Promise<Buffer>
  /** Called when the client does not read: releases what `next` can open again. */
  stall(): void
  /** Releases what is open and what was read ahead, after the last call of `next`. */
  close(): void
}

/** Serves requests of any protocol. Nothing throws or rejects: errors are logged and have responses too. */
export interface HttpHandler {
  servesHost(host: string | undefined): boolean
  /** The response to a GET or HEAD; a promise only when it has to wait, undefined when the host is not served. */
  respond(request: HttpRequest): HttpResult | Promise<HttpResult> | undefined
  /** The response to any other method; `message` has the method and the body. */
  respondToMethod(request: HttpRequest, message: IncomingMessage): Promise<HttpResponse>
  /** 503 when the network of the client holds all memory that it may hold. */
  errorResponse(status: 400 | 404 | 421 | 503): HttpResponse
  /** Counts the response to a request that HTTP/2 rejects before it is known whose it is, as requests of the service. */
  countRejected(response: HttpResponse): void
  peekBody(response: HttpResponse): Buffer | undefined
  /** Resolves with another response if the body is unreadable. The caller must close the reader, held in `memory`. */
  openBody(request: HttpRequest, result: HttpResult, memory?: MemoryReservation): Promise<ResultWithBody>
  /** State of a client's connection, for `count`. */
  trackClient(socket: RequestLike['socket']): object
  count(request: HttpRequest, result: HttpResult, client: object): void
}
