import { http } from '../lib/node-http.ts'
import type { RequestMessage } from './request-message.ts'

/** A response that counts the bytes of its body. */
export class CountedResponse extends http.ServerResponse<RequestMessage> {
  #bodyBytes = 0

  /** Bytes of the body that were written; those of a HEAD are not sent. */
  get bodyBytes(): number {
    return this.req.method === 'HEAD' ? 0 : this.#bodyBytes
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

function byteLength(chunk: unknown): number {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk)
  return chunk instanceof Uint8Array ? chunk.byteLength : 0
}
