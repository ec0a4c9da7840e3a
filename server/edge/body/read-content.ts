import { Readable } from 'node:stream'
import type { Blobs, ByteRange } from '../../blobs/blobs.ts'
import { readInjected } from '../../sites/page-metadata/injected-document.ts'
import type { BlobSlice } from '../response.ts'

/** All bytes of the blob, of its encoding or of the injected document; undefined when they are absent. */
export async function readContent(
  blobs: Blobs,
  { location, injected }: BlobSlice,
): Promise<Buffer | undefined> {
  const bytes = location && (await blobs.bytes(location))
  return injected ? readInjected(bytes, injected) : bytes
}

/** A stream of the bytes from `start` to `end`, inclusive; undefined when they are absent. */
export async function streamContent(
  blobs: Blobs,
  { location, injected }: BlobSlice,
  { start, end }: ByteRange,
): Promise<Readable | undefined> {
  if (!location) return undefined
  if (!injected) return blobs.read(location, { start, end })
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
  const body = await blobs.read(location, range)
  if (ofHead.length > 0) body?.unshift(ofHead)
  return body && ofTail ? Readable.from(concatenate(body, ofTail)) : body
}

async function* concatenate(body: Readable, tail: Buffer): AsyncGenerator<Buffer> {
  yield* body
  yield tail
}
