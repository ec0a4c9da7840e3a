import type { BlobLocation } from '../../blobs/blobs.ts'
import type { BlobRecord } from '../contract/blobs.ts'
import type { BlobRow, EncodingRow } from '../schema.ts'
import { toEncodingLocations } from './encoding-rows.ts'

/** What is read of a blob with its encodings, of which there may be none. */
export const BLOB_RECORD_COLUMNS = [
  'blobs.hash',
  'blobs.object',
  'blobs.size',
  'blobs.pieces_hash',
  'encodings.hash',
  'encodings.br',
  'encodings.zstd',
  'encodings.gzip',
  'encodings.object',
  'encodings.locations',
] as const

/** The values of `BLOB_RECORD_COLUMNS`. */
export type BlobRecordRow = [
  hash: string,
  object: string | null,
  size: number,
  piecesHash: string | null,
  encoded: string | null,
  br: number | null,
  zstd: number | null,
  gzip: number | null,
  encodingsObject: string | null,
  locations: string | null,
]

export function toBlobRecord(row: BlobRecordRow): BlobRecord {
  const [hash, object, size, pieces_hash, encoded, br, zstd, gzip, encodingsObject, locations] = row
  const encodings: EncodingRow = { hash, br, zstd, gzip, object: encodingsObject, locations }
  return {
    hash,
    location: toLocation({ hash, object, size, pieces_hash }),
    encodings: encoded === null ? null : toEncodingLocations(encodings),
  }
}

export function toLocation({
  hash,
  object,
  size,
  pieces_hash: piecesHash,
}: Pick<BlobRow, 'hash' | 'object' | 'size' | 'pieces_hash'>): BlobLocation | null {
  return object === null ? null : { hash, size, object, offset: 0, piecesHash }
}
