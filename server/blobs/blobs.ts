import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { formatLimit, pluralize } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'

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
  /** SHA-256 as 64 lowercase hex characters. */
  hash: string
  /** Bytes. */
  size: number
  /** Name of the object: chosen by the engine, used once. */
  object: string
  /** SHA-256 of the SHA-256s of all MiBs, which verifies pieces; null up to 1 MiB and where no piece is verified. */
  piecesHash: string | null
}

/** Where the bytes of a blob, or of one of its encodings, are. */
export interface BlobLocation extends StoredBlob {
  offset: number
  /** Whether other bytes were found in the object. */
  isDamaged?: true
}

export type BlobState = 'intact' | 'damaged' | 'missing'

/** First and last byte, inclusive. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * The bytes of files, in immutable objects. A row of the store says which object holds the content of a hash; this
 * contract knows neither sites nor rows.
 *
 * - Names are used once: every `put` creates a new object, so that a late deletion never hits other bytes.
 * - Atomic: an object holds exactly the bytes that its `put` returned, or does not exist for readers.
 * - Durable: what `commit` did not report missing, and what `putTogether` returned, survives a power cut in the next
 *   millisecond. After a failed flush nothing is reported as committed, and the bytes must be uploaded again.
 * - Verified: bytes that are not those of the location's hash are never returned: `bytes` and `read` reject with a
 *   DamagedBlobError. An engine that does not know the hashes of parts compares contents of up to 256 KiB as a whole,
 *   and larger ones only when their location is damaged.
 * - Races: any number of processes and nodes may put, commit and read concurrently. `remove` may be called for any
 *   object without a row, at any time, repeatedly.
 * - In every operation a full disk or bucket is INSUFFICIENT_STORAGE and other errors of the engine are UNAVAILABLE;
 *   neither leaves anything readable behind. A file of a disk that cannot be read is an UnreadableFileError, also in a
 *   stream of `read`.
 * - Reserve: an engine on a local disk keeps part of it free for the database and for everything that frees space:
 *   `put` and `putTogether` reject with INSUFFICIENT_STORAGE rather than touch it. Other operations are not affected.
 */
export interface Blobs {
  /** Reads `body` to its end into a new object. A rejected body leaves nothing behind but an object without a row. */
  put(body: Readable, expected: PutConstraints): Promise<StoredBlob>

  /** Stores these contents one after another in one new object, durable. Returns their locations in the same order. */
  putTogether(contents: readonly Buffer[]): Promise<BlobLocation[]>

  /** Makes blobs durable; returns the absent and damaged ones, to be received again: none where `put` is durable. */
  commit(blobs: readonly StoredBlob[]): Promise<StoredBlob[]>

  /** All bytes, or undefined when absent. For content that fits into memory. */
  bytes(location: BlobLocation): Promise<Buffer | undefined>

  /** Memory that an open stream of `read` takes at most, in bytes. */
  readonly streamBytes: number

  /** The file of this machine that has the bytes, for another process. Nothing compares them with their hash. */
  localPath?(object: string): string

  /** The bytes of an object that this process has received, for one read after it; undefined when they are not in memory. */
  takeUnread?(object: string): Buffer | undefined

  /** A stream of the bytes, or of a range of them; undefined when absent. */
  read(location: BlobLocation, range?: ByteRange): Promise<Readable | undefined>

  /** Compares the stored bytes, not a cached copy, with the hash. Reads a large blob in pieces; the signal ends it between two. */
  verify(location: BlobLocation, signal?: AbortSignal): Promise<BlobState | 'unreadable'>

  /** Deletes objects; absent ones are ignored. One that cannot be deleted does not keep others: it rejects afterwards. */
  remove(objects: readonly string[]): Promise<void>

  /** A page of names after `after`, in byte order, including those of others: at least one, and none at the end. */
  list(after?: string): Promise<string[]>

  /** In milliseconds since 1970; undefined for names that are not of the service: such an object belongs to others. */
  createdAt(object: string): number | undefined

  /** Rejects with UNAVAILABLE when bytes cannot be stored now. */
  check(): Promise<void>

  /**
   * Rejects with INSUFFICIENT_STORAGE unless `bytes` more could be stored without touching the reserve. Called before
   * every publish. With a bucket and a remote database, no disk of this machine is needed.
   */
  assertSpace(bytes?: number): Promise<void>

  /** The same for a file in the data folder of this machine; the copies that the engine has there give way to it. */
  assertLocalSpace(bytes?: number): Promise<void>
}

export type ReceivedBytes = Pick<StoredBlob, 'hash' | 'size'>

/** Throws when a body exceeds its declared or maximum length, or when the upload was stopped. */
export function assertLength(size: number, { size: declared, limit, signal }: PutConstraints): void {
  if (signal?.aborted) throw signal.reason
  if (declared !== undefined && size > declared) throw wrongSize(declared, 'more')
  if (limit !== undefined && size > limit) {
    const sentence = `The file is too large. The limit is ${formatLimit(limit)} per file.`
    throw new ApiError('PAYLOAD_TOO_LARGE', sentence)
  }
}

/** Throws when a complete body differs from its declared size or hash, or when the upload was stopped. */
export function assertExpected(received: ReceivedBytes, { size, hash, signal }: PutConstraints): void {
  if (signal?.aborted) throw signal.reason
  if (size !== undefined && received.size !== size) throw wrongSize(size, `${received.size}`)
  if (hash !== undefined && received.hash !== hash) {
    const sentence = `The manifest declares SHA-256 ${hash}, but the upload has ${received.hash}`
    throw new ApiError('HASH_MISMATCH', sentence)
  }
}

function wrongSize(declared: number, received: string): ApiError {
  const sentence = `The manifest declares ${pluralize(declared, 'byte')}, but the upload has ${received}`
  return new ApiError('SIZE_MISMATCH', sentence)
}

/** What `createObjectName` returns, with the suffix of a run that the folder adds. */
const NAME = /^[0-9a-f]{4}-([0-9a-z]{8,9})-[0-9a-f]{12}(?:h[0-9a-f]{12})?(?:\.[0-9a-f]{8})?$/

/** Position of the mark of a name that contains the beginning of its content's hash. */
const HASH_MARK = 26
const HASH_DIGITS = 12

interface NameParts {
  /** The first digits, where an engine chooses them. */
  prefix?: string
  /** Of the content, where it is known before the object is created. */
  hash?: string
}

/**
 * A name for a new object: four random digits, by which engines spread objects over folders or partitions, the time of
 * its creation, and 48 random bits; then the beginning of the hash, by which its row is found without an index.
 */
export function createObjectName(now: number, { prefix = '', hash }: NameParts = {}): string {
  const random = randomBytes(8).toString('hex')
  const name = `${prefix}${random.slice(prefix.length, 4)}-${now.toString(36).padStart(8, '0')}-${random.slice(4)}`
  return hash === undefined || name.length !== HASH_MARK ? name : `${name}h${hash.slice(0, HASH_DIGITS)}`
}

/** Milliseconds since 1970; undefined for names that `createObjectName` has not created. */
export function objectCreatedAt(name: string): number | undefined {
  const [, time] = NAME.exec(name) ?? []
  return time === undefined ? undefined : Number.parseInt(time, 36)
}

/** The beginning of the hash of the content; undefined for names without it, for which there is an index. */
export function objectHashPrefix(name: string): string | undefined {
  return name[HASH_MARK] === 'h' ? name.slice(HASH_MARK + 1, HASH_MARK + 1 + HASH_DIGITS) : undefined
}
