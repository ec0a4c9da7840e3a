/**
 * Sizes in bytes of a blob's stored encodings; null where encoding would not have reduced the size. A blob
 * without a row was not attempted yet or is not compressible.
 */
export interface BlobEncodings {
  hash: string
  br: number | null
  zstd: number | null
  gzip: number | null
}

export interface EncodingQueries {
  /** The encodings of the blobs that a site references, in no order. */
  ofSite(slug: string): Promise<BlobEncodings[]>

  /** Records stored encodings. Idempotent: those of a recorded blob stay. */
  record(encodings: readonly BlobEncodings[]): Promise<void>

  /** Deletes those of these blobs. */
  delete(hashes: readonly string[]): Promise<void>
}
