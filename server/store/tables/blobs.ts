import type { BlobLocation } from '../../blobs/blobs.ts'
import type { Encoding } from '../../blobs/encoding.ts'
import { integer, key, nullable, Table, text } from '../table.ts'

export const blobTable = new Table({
  hash: key(text),
  /** Null when only its encodings are stored. */
  object: nullable(text),
  size: integer,
  piecesHash: nullable(text),
  /** The `visitsKey` of a site that references it, which a rename keeps; further ones are in `blob_names`. */
  site: nullable(text),
  /** When a site last removed its reference; null when there is certainly another one. */
  unreferencedSince: nullable(integer),
  /** An object in which other bytes, or none, were found. Where it is `object`, the next upload takes its place. */
  damagedObject: nullable(text),
})

/** A reference to a blob from a site, by its `visitsKey`, beside the one in `blobs`. */
export const blobNameTable = new Table({
  site: key(text),
  hash: key(text),
  /** The owner of the site; null while it is anonymous. */
  ownerId: nullable(text),
})

/** In bytes; null where encoding would not reduce it. A blob without a row was not tried, or is not compressible. */
export const encodingTable = new Table({
  hash: key(text),
  br: nullable(integer),
  zstd: nullable(integer),
  gzip: nullable(integer),
  object: nullable(text),
  /** JSON: of each encoding the offset in the object, the hash and the hash of its pieces. Null as `object`. */
  locations: nullable(text),
})

/** An object to be deleted at that time, which no other row names. */
export const discardedObjectTable = new Table({ object: key(text), dueAt: integer })

/** Where the encodings of a blob are; null where encoding would not have reduced the size. */
export type EncodingLocations = Readonly<Record<Encoding, BlobLocation | null>>

export interface BlobRecord {
  hash: string
  /** Null when only encodings are stored, as of an injected document. */
  location: BlobLocation | null
  /** Null before they were attempted, and for what is not compressible. */
  encodings: EncodingLocations | null
  /** Until when the operator has blocked the content, which is not served; 0 without a block. */
  blockedUntil: number
}

export type BlobRecords = Pick<ReadonlyMap<string, { read(): BlobRecord }>, 'get'>

/** The encodings of a blob, all in one object. */
export interface BlobEncodings extends EncodingLocations {
  hash: string
}
