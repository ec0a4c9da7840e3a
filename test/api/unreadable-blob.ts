import type { BlobLocation } from '../../server/blobs/blobs.ts'
import type { Api } from './api.ts'
import { sha256 } from './content.ts'

/** Makes the blob of this content unreadable for the service until dispose. */
export function makeUnreadable(api: Api, content: string | Buffer): Disposable {
  const { blobs } = api.running.service
  const { bytes, read } = blobs
  const hash = sha256(content)
  const assertReadable = (location: BlobLocation) => {
    if (location.hash === hash) throw new Error('EIO')
  }
  blobs.bytes = async (location) => {
    assertReadable(location)
    return bytes(location)
  }
  blobs.read = async (location, range) => {
    assertReadable(location)
    return read(location, range)
  }
  return { [Symbol.dispose]: () => void Object.assign(blobs, { bytes, read }) }
}
