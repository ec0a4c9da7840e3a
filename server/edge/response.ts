import type { BlobLocation, ByteRange } from '../blobs/blobs.ts'
import type { CodedContent } from '../blobs/content-coding.ts'
import type { Encoding } from '../blobs/encoding.ts'
import type { HttpResponse, HttpResult } from '../net/http-handler.ts'
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
  /** Of the blob, its encoding, or the document that `injected` was made from; undefined when there is none. */
  location?: BlobLocation | undefined
  /** The injected document, whose identity bytes are not stored; absent when a stored encoding is selected. */
  injected?: InjectedDocument | undefined
  /** Decodes the blob, whose size is then that of what it decodes to. */
  decoded?: CodedContent
  /** The requested range, inclusive. */
  range?: ByteRange
}

/** A response with what the visit counter needs. */
export interface EdgeResponse extends HttpResponse {
  /** The stored bytes of the body. */
  readonly content?: BlobSlice
  /** Whether it is a page with status 200, for which visitors are counted. */
  readonly isPage?: boolean
}

export interface EdgeResult extends HttpResult {
  readonly response: EdgeResponse
}

/** Length of the body of a response to a GET. */
export function bodyBytes({ body, content }: EdgeResponse): number {
  if (!content) return body?.length ?? 0
  const { range, size } = content
  return range ? range.end - range.start + 1 : size
}

/** A copy with other header lines. */
export function withHeaders(
  { status, body, content, isPage }: EdgeResponse,
  headers: readonly string[],
): EdgeResponse {
  return { status, headers, ...(body && { body }), ...(content && { content }), ...(isPage && { isPage }) }
}
