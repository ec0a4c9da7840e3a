import type { HttpResponse, HttpResult, ResultWithBody } from '../../packages/http-server/http-handler.ts'
import type { BlobLocation, ByteRange } from '../blobs/blobs.ts'
import type { CodedContent } from '../blobs/content-coding.ts'
import type { Encoding } from '../blobs/encoding.ts'
import type { InjectedDocument } from '../sites/page-metadata/injected-document.ts'

export interface BlobSlice {
  path: string
  /** Hash of the blob, or of the injected document. */
  hash: string
  /** Size of the whole blob, or of its encoding. */
  size: number
  encoding?: Encoding
  /** Of the blob, its encoding, or the document that `injected` was made from. */
  location?: BlobLocation | undefined
  /** Its identity bytes are not stored; absent when a stored encoding is selected. */
  injected?: InjectedDocument | undefined
  /** The size of the blob is then that of the decoded bytes. */
  decoded?: CodedContent
  /** Inclusive. */
  range?: ByteRange
}

export interface EdgeResponse extends HttpResponse {
  readonly content?: BlobSlice
  /** Visitors are counted for pages with status 200. */
  readonly isPage?: boolean
}

export interface EdgeResult extends HttpResult {
  readonly response: EdgeResponse
  /** The slug of the site that the request visits; undefined when it is not counted. */
  readonly visit: string | undefined
  /** `miss` when the response waited for the store or for stored bytes, `stale` when changes may have been missed. */
  readonly cache?: 'miss' | 'stale'
  /** When the request of a miss arrived, on the monotonic clock. */
  readonly startedAt?: number
}

export type EdgeResultWithBody = EdgeResult & ResultWithBody

export function bodyBytes({ body, content }: EdgeResponse): number {
  if (!content) return body?.length ?? 0
  const { range, size } = content
  return range ? range.end - range.start + 1 : size
}

export function seeOther(location: string, headers: readonly string[] = []): EdgeResponse {
  return {
    status: 303,
    headers: ['Location', location, 'Content-Length', '0', 'Cache-Control', 'no-store', ...headers],
  }
}

export function withHeaders(
  { status, body, content, isPage }: EdgeResponse,
  headers: readonly string[],
): EdgeResponse {
  return { status, headers, ...(body && { body }), ...(content && { content }), ...(isPage && { isPage }) }
}
