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
  const { head, tailStart } = injected
  // A copy: its cached chunks must not retain the whole head.
  const ofHead = Buffer.from(head.subarray(start, end + 1))
  if (end < head.length) return Readable.from([ofHead])
  const shift = tailStart - head.length
  const range = { start: Math.max(start, head.length) + shift, end: end + shift }
  const tail = await blobs.read(location, range)
  if (ofHead.length > 0) tail?.unshift(ofHead)
  return tail
}
