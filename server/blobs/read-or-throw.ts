import { ApiError } from '../lib/errors.ts'
import type { Blobs } from './blobs.ts'

/** All bytes of a blob that must exist. UNAVAILABLE when it cannot be read, INTERNAL when it is absent. */
export async function readOrThrow(blobs: Blobs, hash: string): Promise<Buffer> {
  const bytes = await blobs.bytes(hash).catch((cause: unknown) => {
    throw new ApiError('UNAVAILABLE', 'The service cannot read files at the moment', { cause })
  })
  if (!bytes) throw new Error(`The blob ${hash} is missing`)
  return bytes
}
