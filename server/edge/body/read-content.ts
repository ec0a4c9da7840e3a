import { Readable } from 'node:stream'
import type { Blobs } from '../../blobs/blobs.ts'
import { readInjected } from '../../sites/page-metadata/injected-document.ts'
import type { BlobSlice } from '../response.ts'

/** All bytes of the blob, of its encoding or of the injected document; undefined when they are absent. */
export function readContent(
  blobs: Blobs,
  { hash, encoding, injected }: BlobSlice,
): Promise<Buffer | undefined> {
  return injected ? readInjected(blobs, injected) : blobs.bytes(hash, encoding)
}

/** A stream of the bytes from `start` to `end`, inclusive; undefined when they are absent. */
export async function streamContent(
  blobs: Blobs,
  { hash, encoding, injected }: BlobSlice,
  { start, end }: { start: number; end: number },
): Promise<Readable | undefined> {
  if (!injected) return blobs.read(hash, { encoding, range: { start, end } })
  const { head, publishedHash, tailStart } = injected
  // A copy: its cached chunks must not retain the whole head.
  const ofHead = Buffer.from(head.subarray(start, end + 1))
  if (end < head.length) return Readable.from([ofHead])
  const shift = tailStart - head.length
  const range = { start: Math.max(start, head.length) + shift, end: end + shift }
  const tail = await blobs.read(publishedHash, { range })
  if (ofHead.length > 0) tail?.unshift(ofHead)
  return tail
}
