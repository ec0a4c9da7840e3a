import type { Readable } from 'node:stream'
import type { Encoding } from './encoding.ts'

/** What a caller declares about a body before it arrives. */
export interface PutConstraints {
  /** Exact length in bytes if known: a longer body is cut off, a shorter one is rejected (SIZE_MISMATCH). */
  size?: number
  /** Maximum length in bytes if the length is unknown: a longer body is rejected (PAYLOAD_TOO_LARGE). */
  limit?: number
  /** SHA-256 as 64 lowercase hex characters: other bytes are rejected (HASH_MISMATCH). */
  hash?: string
  /** Once aborted, further bytes are rejected with its reason. */
  signal?: AbortSignal
}

export interface StoredBlob {
  hash: string
  size: number
}

/** Selects the bytes to read. */
export interface ReadOptions {
  /** Reads this encoding instead of the blob itself. */
  encoding?: Encoding | undefined
  /** First and last byte, inclusive. */
  range?: { start: number; end: number } | undefined
}

/**
 * The bytes of files, named by their SHA-256, immutable.
 *
 * Bytes are stored in two steps. `put` adds them to a staging area (one for each pending version), where they cannot be
 * read. `commit` makes a staging area's bytes durable and readable by hash. Between the two the caller records their
 * receipt in the store, which protects them from collection.
 *
 * Encodings of a blob can be stored under its hash: they are deleted with it.
 *
 * - Atomic: a hash, or an encoding of it, is either readable with exactly its bytes or absent. Partial writes are
 *   never visible.
 * - Idempotent: putting, committing or storing the same bytes again changes nothing.
 * - Durable: what `commit` did not report missing and what `putEncoding` stored survives a power cut in the next
 *   millisecond. After a failed flush nothing is reported as committed or stored, and the bytes must be uploaded
 *   again.
 * - Races: any number of processes may put, commit, store and read concurrently. `remove` may only be called for a
 *   hash that has no reference, as read in a transaction of the store.
 * - In every operation a full disk is INSUFFICIENT_STORAGE and other errors of the engine are UNAVAILABLE; neither
 *   leaves anything behind. A stream of `read` fails with the engine's own errors.
 * - Reserve: the engine keeps part of its disk free for the database and for everything that frees space. `put` and
 *   `putEncoding` reject with INSUFFICIENT_STORAGE rather than touch the reserve; a large body is cut off when it
 *   would. `commit`, `discard`, `remove` and reads are not affected.
 */
export interface Blobs {
  /**
   * Reads `body` to its end into the staging area `area` and returns its size and hash. A rejected body leaves nothing
   * behind.
   */
  put(area: string, body: Readable, expected: PutConstraints): Promise<StoredBlob>

  /**
   * Makes these blobs of the staging area durable and readable. Returns those that are absent: they must be received
   * again.
   */
  commit(area: string, blobs: readonly StoredBlob[]): Promise<StoredBlob[]>

  /** Deletes the uncommitted bytes of a staging area, or all but `kept` copies by hash. An unknown area is ignored. */
  discard(area: string, kept?: ReadonlyMap<string, number>): Promise<void>

  /** The staging areas that still hold bytes, with the time of their last change in milliseconds. */
  stagingAreas(): AsyncIterable<{ area: string; changedAt: number }>

  /** Stores an encoding of a blob, durable and readable; replaces an earlier one. */
  putEncoding(hash: string, encoding: Encoding, bytes: Buffer): Promise<void>

  /** All bytes of a blob or of an encoding, or undefined when absent. For content that fits into memory. */
  bytes(hash: string, encoding?: Encoding): Promise<Buffer | undefined>

  /** A stream of a blob's bytes; undefined when absent. */
  read(hash: string, wanted?: ReadOptions): Promise<Readable | undefined>

  /** Deletes a blob and its encodings; an absent one is ignored. */
  remove(hash: string): Promise<void>

  /** Every hash that has a committed blob or an encoding, once, in no order. */
  list(): AsyncIterable<string>

  /** Rejects with UNAVAILABLE when bytes cannot be stored now. */
  check(): Promise<void>

  /**
   * Rejects with INSUFFICIENT_STORAGE unless `bytes` more could be stored without touching the reserve. Called
   * before every publish, and before writes of other files to the disk of the blobs.
   */
  assertSpace(bytes?: number): Promise<void>
}
