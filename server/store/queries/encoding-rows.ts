import type { BlobLocation } from '../../blobs/blobs.ts'
import { ENCODINGS, type Encoding } from '../../blobs/encoding.ts'
import type { Schema } from '../schema.ts'
import type { BlobEncodings, EncodingLocations } from '../tables/blobs.ts'

/** What the column `locations` has of each encoding. */
type StoredLocations = Partial<Record<Encoding, { offset: number; hash: string; piecesHash?: string }>>

export function toEncodingRow({ hash, ...locations }: BlobEncodings): Schema['encodings'] {
  const { br, zstd, gzip } = locations
  const stored: StoredLocations = {}
  for (const encoding of ENCODINGS) {
    const location = locations[encoding]
    if (!location) continue
    const { offset, hash: own, piecesHash } = location
    stored[encoding] = { offset, hash: own, ...(piecesHash !== null && { piecesHash }) }
  }
  const object = (br ?? zstd ?? gzip)?.object ?? null
  const sizes = { br: br?.size ?? null, zstd: zstd?.size ?? null, gzip: gzip?.size ?? null }
  return { hash, ...sizes, object, locations: object === null ? null : JSON.stringify(stored) }
}

export function toEncodingLocations(row: Schema['encodings']): EncodingLocations {
  const stored = row.locations === null ? {} : (JSON.parse(row.locations) as StoredLocations)
  const toLocation = (encoding: Encoding): BlobLocation | null => {
    const [size, location] = [row[encoding], stored[encoding]]
    if (size === null || row.object === null || !location) return null
    return { object: row.object, size, piecesHash: null, ...location }
  }
  return { br: toLocation('br'), zstd: toLocation('zstd'), gzip: toLocation('gzip') }
}
