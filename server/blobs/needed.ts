import { Failure } from '../failure.ts'
import type { Blobs } from './blobs.ts'

/** All bytes of a blob that has to be there. UNAVAILABLE when it cannot be read, INTERNAL when it is not there. */
export async function neededBytes(blobs: Blobs, hash: string): Promise<Buffer> {
  const bytes = await blobs.bytes(hash).catch((cause: unknown) => {
    throw new Failure('UNAVAILABLE', 'The service cannot read files at the moment', { cause })
  })
  if (!bytes) throw new Error(`The blob ${hash} is missing`)
  return bytes
}
