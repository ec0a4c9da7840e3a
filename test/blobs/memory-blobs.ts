import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type BlobLocation, type Blobs, createObjectName, objectCreatedAt } from '../../server/blobs/blobs.ts'

/** Blobs in memory, for tests that make many of them. */
export function memoryBlobs(clock: () => number): Blobs & { objects: ReadonlyMap<string, Buffer> } {
  const objects = new Map<string, Buffer>()
  const find = ({ object, offset, size }: BlobLocation) =>
    objects.get(object)?.subarray(offset, offset + size)
  const store = (bytes: Buffer, hash?: string): string => {
    const object = createObjectName(clock(), hash === undefined ? {} : { hash })
    objects.set(object, bytes)
    return object
  }
  return {
    objects,
    async put(body) {
      const bytes = await buffer(body)
      const own = hash('sha256', bytes)
      // Names with and without the hash.
      const object = store(bytes, bytes.length % 2 === 0 ? own : undefined)
      return { hash: own, size: bytes.length, object, piecesHash: null }
    },
    async putTogether(contents) {
      const object = store(Buffer.concat(contents))
      let offset = 0
      return contents.map((bytes) => {
        const location = { hash: hash('sha256', bytes), size: bytes.length, object, offset, piecesHash: null }
        offset += bytes.length
        return location
      })
    },
    commit: async (blobs) => blobs.filter(({ object }) => !objects.has(object)),
    bytes: async (location) => find(location),
    async read(location, range = { start: 0, end: location.size - 1 }) {
      const bytes = find(location)
      return bytes && Readable.from([bytes.subarray(range.start, range.end + 1)])
    },
    async verify(location, signal) {
      signal?.throwIfAborted()
      const bytes = find(location)
      if (!bytes) return 'missing'
      return hash('sha256', bytes) === location.hash ? 'intact' : 'damaged'
    },
    async remove(names) {
      for (const object of names) objects.delete(object)
    },
    list: async (after = '') =>
      [...objects.keys()]
        .filter((object) => object > after)
        .sort()
        .slice(0, 100),
    createdAt: objectCreatedAt,
    check: async () => undefined,
    streamBytes: 0,
    assertSpace: async () => undefined,
    assertLocalSpace: async () => undefined,
  }
}
