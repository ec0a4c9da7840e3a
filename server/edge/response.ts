import type { Encoding } from '../blobs/encoding.ts'
import type { InjectedDocument } from '../sites/page-metadata/injected-document.ts'

/** Stored bytes of a response body. */
export interface BlobSlice {
  /** The file, for the log. */
  path: string
  /** Hash of the blob, or of the injected document. */
  hash: string
  /** Size of the whole blob, or of its encoding. */
  size: number
  /** The stored encoding; absent for the blob itself. */
  encoding?: Encoding
  /** The document whose bytes are not stored, unless an encoding of it is selected. */
  injected?: InjectedDocument | undefined
  /** The requested range, inclusive. */
  range?: { start: number; end: number }
}

/**
 * A response, without bytes that are still to be read. It never changes, and equal responses of a version are the same
 * object where that is possible: protocols and the visit counter cache by it.
 */
export interface EdgeResponse {
  readonly status: number
  /** Header lines, name before value, with `Content-Length`; without connection headers and `Date`. */
  readonly headers: readonly string[]
  /** The body, when it is in memory anyway. */
  readonly body?: Buffer
  /** The stored bytes of the body. */
  readonly content?: BlobSlice
  /** Whether it is a page with status 200, for which visitors are counted. */
  readonly isPage?: boolean
}

/** A response to one request. */
export interface EdgeResult {
  readonly response: EdgeResponse
  /** The slug of the site that the request visits; undefined when it is not counted. */
  readonly visit: string | undefined
}

/** A copy with other header lines. */
export function withHeaders(
  { status, body, content, isPage }: EdgeResponse,
  headers: readonly string[],
): EdgeResponse {
  return { status, headers, ...(body && { body }), ...(content && { content }), ...(isPage && { isPage }) }
}
