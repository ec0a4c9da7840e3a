import { http } from './node-http.ts'
import type { RequestMessage } from './request-message.ts'

/** Maximum rest of a body that is read and dropped after the response, so that the connection can continue. */
const MAX_DISCARDED_BODY_BYTES = 4 * 2 ** 20

/** Ends the connection if it begins before a request with a long rest has ended (RFC 9110, 10.1.1; RFC 9112, 9.6). */
export class CountedResponse extends http.ServerResponse<RequestMessage> {
  /** Whether a client that has closed its sending side still gets all of it. Of other responses, the client has left. */
  allowsHalfClose = false
  #bodyBytes = 0

  /** Bytes of the body that were written; those of a HEAD are not sent. */
  get bodyBytes(): number {
    return this.req.method === 'HEAD' ? 0 : this.#bodyBytes
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    if (!this.req.complete && hasLongRest(this.req)) this.shouldKeepAlive = false
    return super.writeHead(status, ...(rest as []))
  }

  override write(chunk: unknown, ...rest: unknown[]): boolean {
    this.#bodyBytes += byteLength(chunk)
    return super.write(chunk, ...(rest as []))
  }

  override end(chunk?: unknown, ...rest: unknown[]): this {
    this.#bodyBytes += byteLength(chunk)
    return super.end(chunk, ...(rest as []))
  }
}

function hasLongRest({ awaitsContinue, headers }: RequestMessage): boolean {
  return (
    awaitsContinue ||
    headers['transfer-encoding'] !== undefined ||
    Number(headers['content-length'] ?? 0) > MAX_DISCARDED_BODY_BYTES
  )
}

function byteLength(chunk: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk)
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}
