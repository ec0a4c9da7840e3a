import type { BlobLocation, StoredBlob } from '../../blobs/blobs.ts'
import type { Encoding } from '../../blobs/encoding.ts'
import { integer, nullable, Table, text } from '../table.ts'

/** An object to be deleted at that time, which no other row names. */
export const discardedObjectTable = new Table({
  object: text,
  dueAt: integer,
})

/**
 * Sizes in bytes of a blob's stored encodings; null where encoding would not have reduced the size. A blob
 * without a row was not tried yet or is not compressible.
 */
export const encodingTable = new Table({
  hash: text,
  br: nullable(integer),
  zstd: nullable(integer),
  gzip: nullable(integer),
  /** The object of all of them; null when there is none. */
  object: nullable(text),
  /** JSON: of each encoding the offset in the object, the hash and the hash of its pieces. Null as `object`. */
  locations: nullable(text),
})

/** A reference to a blob from a site beside the one in `blobs`. */
export const blobNameTable = new Table({
  hash: text,
  slug: text,
  /** The owner of the site; null while it is anonymous. */
  ownerId: nullable(text),
})

/** A content that finalized versions have, and the object that holds it. */
export const blobTable = new Table({
  hash: text,
  /** Null when only its encodings are stored. */
  object: nullable(text),
  size: integer,
  piecesHash: nullable(text),
  /** A site that references it; further ones are in `blob_names`. */
  slug: nullable(text),
  /** When a site last removed its reference; null when there is certainly another one. */
  unreferencedSince: nullable(integer),
})

/** Where the encodings of a blob are; null where encoding would not have reduced the size. */
export type EncodingLocations = Readonly<Record<Encoding, BlobLocation | null>>

/** What is stored of a content. */
export interface BlobRecord {
  /** SHA-256 of the content. */
  hash: string
  /** Null when only encodings are stored, as of an injected document. */
  location: BlobLocation | null
  /** Null before they were attempted, and for what is not compressible. */
  encodings: EncodingLocations | null
  /** Whether the operator has blocked the content: it is not served. */
  isBlocked: boolean
}

/** Records by their hash. */
export type BlobRecords = Pick<ReadonlyMap<string, BlobRecord>, 'get'>

/** The encodings of a blob, all in one object. */
export interface BlobEncodings extends EncodingLocations {
  /** Of the blob. */
  hash: string
}

/**
 * Which object holds which content, which sites reference it, and the objects that are to be deleted.
 *
 * Each object has at most one row: that of an upload to a pending version (`VersionQueries`), of a blob, of encodings,
 * or of a discarded object, from which it never returns. So an object may only be discarded by the write that deletes
 * its other row, or when it never had one.
 *
 * A blob without references is deleted when it has been unreferenced for the grace period. A new reference and the
 * deletion exclude each other, whatever the scopes of their writes.
 */
export interface BlobQueries {
  /** Where the bytes with this hash are. */
  find(hash: string): Promise<BlobLocation | undefined>

  /** Records in the order of their hashes, those that follow `after`. */
  list(after: string, limit: number): Promise<BlobRecord[]>

  /** The sites that reference a blob, in the order of their slugs. */
  referencingSites(hash: string, after: string, limit: number): Promise<string[]>

  /** The blobs of the files of these versions, and the encodings of their injected documents, each once, in no order. */
  ofVersions(ids: readonly string[]): Promise<BlobRecord[]>

  /**
   * Adds the blobs, and references to them from a site. Content that another object holds already stays there. Returns
   * the objects that hold the contents now. Idempotent.
   */
  add(slug: string, blobs: readonly StoredBlob[]): Promise<Set<string>>

  /**
   * Adds references to blobs that have one from another site, or to an injected document, of which only encodings are
   * stored. Idempotent.
   */
  addReferences(slug: string, hashes: Iterable<string>): Promise<void>

  /**
   * Removes references of a site and returns them. The grace period of these blobs starts now, unless other sites reference
   * them.
   */
  removeReferences(
    slug: string,
    hashes: readonly string[],
    now: number,
  ): Promise<{ hash: string; size: number }[]>

  /**
   * Deletes the rows of blobs that have had no reference since `before`, with those of their encodings, and discards
   * their objects. Returns how many were examined, at most `limit`, and how many deleted.
   */
  collect(before: number, limit: number): Promise<{ examined: number; deleted: number }>

  /** Records encodings of referenced blobs. Those that are recorded stay: the objects of others are discarded. */
  recordEncodings(encodings: readonly BlobEncodings[]): Promise<void>

  /** Discards objects that have no row, or whose row this write has deleted, to be deleted at `dueAt`. Idempotent. */
  discard(objects: readonly string[], dueAt?: number): Promise<void>

  /** Discarded objects that are to be deleted now, those that have waited longest first. */
  listDiscarded(now: number, limit: number): Promise<string[]>

  /**
   * Postpones the deletion of discarded objects, and returns them. Those that an upload, a blob or encodings use are no
   * longer discarded: they were received for so long that they counted as left behind.
   */
  postponeDiscarded(objects: readonly string[], until: number): Promise<string[]>

  /** Removes the rows of discarded objects after their deletion. */
  forgetDiscarded(objects: readonly string[]): Promise<void>

  /** The objects among these without any row. */
  withoutRow(objects: readonly string[]): Promise<string[]>
}
