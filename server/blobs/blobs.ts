import type { Readable } from 'node:stream'
import type { Encoding } from '../encodings/encoding.ts'

/** What a caller says of bytes before they arrive. */
export interface Expected {
  /** Exact length in bytes when it is known: longer is cut off, shorter is refused (SIZE_MISMATCH). */
  size?: number
  /** Most bytes that are read when the length is not known: one more is refused (PAYLOAD_TOO_LARGE). */
  limit?: number
  /** SHA-256 as 64 lowercase hex characters: other bytes are refused (HASH_MISMATCH). */
  hash?: string
}

export interface Received {
  hash: string
  size: number
}

/** Which of a blob's bytes are wanted. */
export interface Wanted {
  /** These encoded bytes in place of the blob's own. */
  encoding?: Encoding | undefined
  /** From `start` to `end`, both included. */
  range?: { start: number; end: number } | undefined
}

/**
 * The bytes of files, named by their SHA-256, immutable.
 *
 * Bytes come in two steps. `receive` takes them into a batch (one for each version that is being made),
 * where nobody can read them. `settle` makes a batch's bytes durable and readable by hash. Between the two
 * the caller records in the store that they came; the store's rules then keep them from collection.
 *
 * Beside a blob, under the same hash, its encodings may be kept: they go when it goes.
 *
 * - Atomic: a hash, or an encoding of it, is either readable with exactly its bytes or not there. Nothing half-written is
 *   ever seen.
 * - Idempotent: receiving, settling or keeping the same bytes again changes nothing.
 * - Durable: what `settle` did not report missing and what `keepEncoding` kept survives a power cut in the next
 *   millisecond. After a failed flush nothing is reported as settled or kept, and the bytes have to come anew.
 * - Races: any number of processes may receive, settle, keep and read at once. `remove` may only be called for a
 *   hash that the store, within a transaction, says nobody names.
 * - A full disk is INSUFFICIENT_STORAGE, other trouble of the engine UNAVAILABLE; neither leaves anything behind.
 */
export interface Blobs {
  /** Reads `body` to its end into `batch` and says what it was. Refused bytes are gone when this rejects. */
  receive(batch: string, body: Readable, expected: Expected): Promise<Received>

  /** Makes these of the batch durable and readable. Answers those that are not there: they must be received again. */
  settle(batch: string, blobs: readonly Received[]): Promise<Received[]>

  /**
   * Forgets a batch, or of the copies it has of some bytes all but so many, by hash: what was not settled is deleted.
   * Unknown ones are fine.
   */
  discard(batch: string, kept?: ReadonlyMap<string, number>): Promise<void>

  /** Batches that still hold bytes, with the time (milliseconds) of their last change. */
  batches(): AsyncIterable<{ batch: string; changedAt: number }>

  /** Keeps these bytes beside a blob as an encoding of it, durable and readable; they replace what was kept before. */
  keepEncoding(hash: string, encoding: Encoding, bytes: Buffer): Promise<void>

  /** All bytes of a blob or of an encoding of it, or undefined when that is not there. For what fits into memory. */
  bytes(hash: string, encoding?: Encoding): Promise<Buffer | undefined>

  /** A stream of a blob's bytes; undefined when they are not there. */
  read(hash: string, wanted?: Wanted): Promise<Readable | undefined>

  /** Deletes a blob and its encodings; a missing one is fine. */
  remove(hash: string): Promise<void>

  /** Every hash under which something is settled or kept, once, in no order. */
  list(): AsyncIterable<string>

  /** Rejects with UNAVAILABLE when bytes could not be kept now. */
  check(): Promise<void>
}
