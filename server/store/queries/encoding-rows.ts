import type { BlobLocation } from '../../blobs/blobs.ts'
import { ENCODINGS, type Encoding } from '../../blobs/encoding.ts'
import type { BlobEncodings, EncodingLocations } from '../contract/blobs.ts'
import type { EncodingRow } from '../schema.ts'

/** What the column `locations` has of each encoding. */
type StoredLocations = Partial<Record<Encoding, { offset: number; hash: string; piecesHash?: string }>>

export function toEncodingRow({ hash, ...locations }: BlobEncodings): EncodingRow {
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

/** An earlier release stored each encoding in an object of its own, named by the hash of the blob. */
export function toEncodingLocations(row: EncodingRow): EncodingLocations {
  const stored = row.locations === null ? undefined : (JSON.parse(row.locations) as StoredLocations)
  const toLocation = (encoding: Encoding): BlobLocation | null => {
    const size = row[encoding]
    if (size === null) return null
    const location = stored?.[encoding]
    if (row.object === null || !location)
      return { object: `${row.hash}.${encoding}`, offset: 0, size, hash: '', piecesHash: null }
    const { offset, hash, piecesHash = null } = location
    return { object: row.object, offset, size, hash, piecesHash }
  }
  return { br: toLocation('br'), zstd: toLocation('zstd'), gzip: toLocation('gzip') }
}

export function listEncodingObjects(row: EncodingRow): string[] {
  const locations = toEncodingLocations(row)
  return [...new Set(ENCODINGS.flatMap((encoding) => locations[encoding]?.object ?? []))]
}

/** The hash of the blob whose encoding an earlier release stored in this object. */
export function findEncodedHash(object: string): string | undefined {
  return /^([0-9a-f]{64})\.(?:br|zstd|gzip)$/.exec(object)?.[1]
}
