import { Readable } from 'node:stream'
import { EMPTY_HASH } from '../../../protocol/manifest/empty-files.ts'
import type { Blobs, ByteRange } from '../../blobs/blobs.ts'
import { readInjected } from '../../sites/page-metadata/injected-document.ts'
import type { BlobSlice } from '../response.ts'

const NO_BYTES = Buffer.alloc(0)

/** All bytes of the blob, its encoding or the injected document; as below, undefined when they are absent. */
export async function readContent(
  blobs: Blobs,
  { location, injected }: BlobSlice,
): Promise<Buffer | undefined> {
  const bytes = isEmptyDocument(injected) ? NO_BYTES : location && (await blobs.bytes(location))
  return injected ? readInjected(bytes, injected) : bytes
}

export async function openContent(blobs: Blobs, { location }: BlobSlice): Promise<Readable | undefined> {
  return location && blobs.read(location)
}

/** A stream of the bytes from `start` to `end`, inclusive; undefined when they are absent. */
export async function streamContent(
  blobs: Blobs,
  { location, injected }: BlobSlice,
  { start, end }: ByteRange,
): Promise<Readable | undefined> {
  if (!location && !isEmptyDocument(injected)) return undefined
  if (!injected) return blobs.read(location!, { start, end })
  const { head, tailStart, tail, size } = injected
  const tailOffset = size - (tail?.length ?? 0)
  // Copies: cached chunks must not retain the whole head.
  const ofHead = Buffer.from(head.subarray(start, end + 1))
  const ofTail =
    tail && end >= tailOffset
      ? tail.subarray(Math.max(0, start - tailOffset), end + 1 - tailOffset)
      : undefined
  if (end < head.length) return Readable.from([ofHead])
  if (start >= tailOffset) return Readable.from([ofTail!])
  const shift = tailStart - head.length
  const range = { start: Math.max(start, head.length) + shift, end: Math.min(end, tailOffset - 1) + shift }
  // The published document is empty, or the head contains all of it.
  if (range.start > range.end) return Readable.from([ofHead, ofTail!])
  const body = location && (await blobs.read(location, range))
  if (ofHead.length > 0) body?.unshift(ofHead)
  return body && ofTail ? Readable.from(concatenate(body, ofTail)) : body
}

async function* concatenate(body: Readable, tail: Buffer): AsyncGenerator<Buffer> {
  yield* body
  yield tail
}

/** Whether a document is injected into an empty one, of which no object exists. */
function isEmptyDocument(injected: BlobSlice['injected']): boolean {
  return injected?.publishedHash === EMPTY_HASH
}
