import { ApiError } from '../lib/errors.ts'
import type { Blobs } from './blobs.ts'

/** All bytes of a blob; undefined when it is absent. UNAVAILABLE when it cannot be read. */
export async function readBlob(blobs: Blobs, hash: string): Promise<Buffer | undefined> {
  return blobs.bytes(hash).catch((cause: unknown) => {
    throw new ApiError('UNAVAILABLE', 'File storage is temporarily unavailable', {
      isIsolated: true,
      cause,
    })
  })
}
