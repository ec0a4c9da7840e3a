import { createHash, hash as hashOnce, randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, fsync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs'
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { makeFolder } from '../../packages/files/make-folder.ts'
import { GrowingBuffer } from '../../packages/http-server/memory/growing-buffer.ts'
import { forEachConcurrent } from '../lib/concurrency.ts'
import { ApiError, diskFailed, toStorageError } from '../lib/errors.ts'
import { ignoreExisting, ignoreMissing, writeWhole } from '../lib/files.ts'
import { Coalesced, shareSuccess } from '../lib/share-result.ts'
import { DAY_MS } from '../lib/time.ts'
import {
  assertExpected,
  assertLength,
  type BlobLocation,
  type BlobState,
  type Blobs,
  createObjectName,
  objectCreatedAt,
  objectHashPrefix,
  type PutConstraints,
  type ReceivedBytes,
  type StoredBlob,
} from './blobs.ts'
import {
  DamagedBlobError,
  type DamageReport,
  type HashedRange,
  isUnreadable,
  streamFile,
  UnreadableFileError,
} from './damage.ts'
import type { DiskReserve } from './disk-reserve.ts'

/** Bodies up to this many bytes are buffered in memory and written in one call, and read and compared as a whole. */
const MAX_BUFFERED_BODY_BYTES = 256 * 1024

/** Of an object with nothing else, to be read in one call of Node. */
const MAX_READ_AT_ONCE_BYTES = 64 * 1024

/** Together at most 1 MiB. */
const MAX_UNREAD_BYTES = 16 * 1024
const MAX_UNREAD_CONTENTS = 64

/** Bytes that are read and hashed at a time: the event loop waits for the hash. */
const HASH_CHUNK_BYTES = 2 ** 20

/** Bytes of a larger body buffered per write: chunks may be small, and each write takes a thread. */
const WRITE_BYTES = 32 * 1024

/** The edge caches chunks of the same size, so that no chunk keeps the memory of another. */
const READ_CHUNK_BYTES = 128 * 1024

/** Concurrent flushes: each occupies a thread, and `deploy/` and `npm start` set `UV_THREADPOOL_SIZE` to 16. */
const MAX_CONCURRENT_FLUSHES = 16

const sync = promisify(fsync)

interface DiskOptions {
  /** Root folder, on one file system: an object is `<first two characters>/<object>`. */
  folder: string
  /**
   * Identifies this run of the service; its processes trust each other's uncommitted bytes. Those of an earlier
   * run may have been damaged by a power cut before they were flushed, so they are hashed again before use.
   */
  bootId: string
  /** Milliseconds since 1970. */
  clock: () => number
  /** Without it the disk may be filled. */
  reserve?: DiskReserve
  damage?: DamageReport
}

const OBJECTS_PER_SHARD = 100

const OBJECTS_PER_PAGE = 1000

export function diskBlobs({ folder, bootId, clock, reserve, damage }: DiskOptions): Blobs {
  const shards = new Shards(folder)
  /** The end of the names of objects that this run has created. */
  const ownSuffix = `.${hashOnce('sha256', bootId).slice(0, 8)}`
  const place = (object: string) => join(folder, shardOf(object), object)
  const unread = new UnreadContents()
  let flushFailure: unknown

  /** Creates an object, and removes it again when `write` fails. */
  async function create<T>(write: (path: string, object: string) => Promise<T>, hash?: string): Promise<T> {
    const parts = { prefix: shards.pick(), ...(hash !== undefined && { hash }) }
    const object = `${createObjectName(clock(), parts)}${ownSuffix}`
    await shards.create(shardOf(object))
    const path = place(object)
    try {
      return await write(path, object)
    } catch (error) {
      await unlink(path).catch(() => undefined)
      throw error
    }
  }

  /** Flushes an object if it is complete: one of a crashed process is too short, and after a power cut none is trusted. */
  async function commitOne(blob: StoredBlob): Promise<boolean> {
    const isTrusted = blob.object.endsWith(ownSuffix)
    if (!isTrusted && (await verify({ ...blob, offset: 0 })) !== 'intact') return false
    const path = place(blob.object)
    try {
      return await flushFile(path, 'r+', blob.size)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  async function readIntact(location: BlobLocation): Promise<Buffer | undefined> {
    const { object, size, hash } = location
    // Others may have encodings that are much larger than this one.
    const isWhole = objectHashPrefix(object) !== undefined && size <= MAX_READ_AT_ONCE_BYTES
    const bytes = await withReadErrors(location, isWhole ? readAtOnce : readHashed)
    if (!bytes) return damage?.addMissing(object)
    if (bytes.hash === hash) return bytes.content
    damage?.add(toRange(location))
    throw new DamagedBlobError()
  }

  /** Of large files in which other bytes were found: whether they have theirs, which may have been copied back. */
  const isIntactSince = shareSuccess(
    async (_change: string, handle: FileHandle, location: BlobLocation) =>
      (await hashPart(handle, location)) === location.hash,
  )

  async function openLarge(location: BlobLocation): Promise<FileHandle | undefined> {
    const { object, isDamaged } = location
    const handle = await open(place(object)).catch(ignoreMissing)
    if (!handle || !isDamaged) return handle
    try {
      // Not the time of modification, which a copy from a backup sets back.
      const { ino, ctimeMs } = await handle.stat()
      // Damage changes no time: what was intact is read again each day.
      const day = Math.floor(clock() / DAY_MS)
      if (await isIntactSince(`${object} ${ino} ${ctimeMs} ${day}`, handle, location)) return handle
      damage?.add(toRange(location))
      throw new DamagedBlobError()
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async function withReadErrors<T>(
    location: BlobLocation,
    read: (location: BlobLocation) => Promise<T>,
  ): Promise<T> {
    return read(location).catch((error: Error) => {
      throw translateReadError(location, error)
    })
  }

  function translateReadError(location: BlobLocation, error: Error): Error {
    if (!isUnreadable(error)) return error
    damage?.add(toRange(location), error)
    return new UnreadableFileError('File storage is temporarily unavailable', error)
  }

  async function readHashed(location: BlobLocation) {
    const handle = await open(place(location.object)).catch(ignoreMissing)
    if (!handle) return undefined
    try {
      // Not from the pool: a cached buffer must not keep the memory of others.
      const content = Buffer.allocUnsafeSlow(location.size)
      return { content, hash: await hashPart(handle, location, { bytes: content }) }
    } finally {
      await handle.close()
    }
  }

  async function readAtOnce({ object, size }: BlobLocation) {
    const content = await readFile(place(object)).catch(ignoreMissing)
    return content && { content, hash: content.length === size ? hashOnce('sha256', content) : undefined }
  }

  async function verify(location: BlobLocation, signal?: AbortSignal): Promise<BlobState | 'unreadable'> {
    let handle: FileHandle | undefined
    try {
      handle = await open(place(location.object)).catch(ignoreMissing)
      if (!handle) return 'missing'
      return (await hashPart(handle, location, { signal })) === location.hash ? 'intact' : 'damaged'
    } catch (error) {
      if (isUnreadable(error)) return 'unreadable'
      throw error
    } finally {
      await handle?.close()
    }
  }

  /** Publishes at the same time have their objects in the same folder, and share its flushes. */
  const folderFlushes = new Map<string, Coalesced<void>>()

  function flushFolder(path: string): Promise<void> {
    const known = folderFlushes.get(path)
    const shared = known ?? new Coalesced(async () => void (await flushFile(path, 'r')), 0)
    if (!known) folderFlushes.set(path, shared)
    return shared.run()
  }

  /** Flushes the folders of these objects, so that a power cut cannot remove their names. */
  async function flushShards(objects: readonly string[]): Promise<void> {
    const used = [...new Set(objects.map(shardOf))]
    await forEachConcurrent(MAX_CONCURRENT_FLUSHES, used, (shard) => flushFolder(join(folder, shard)))
    if (!shards.areFlushed(used)) {
      await flushFolder(folder)
      shards.markFlushed(used)
    }
  }

  /**
   * False when it does not have this size, or was deleted during the flush. Its entry and inode are cached, because
   * it was just written: opening and closing it synchronously cost less than two round trips to the thread pool.
   */
  async function flushFile(path: string, flags: 'r' | 'r+', size?: number): Promise<boolean> {
    const descriptor = openSync(path, flags)
    try {
      if (size !== undefined && fstatSync(descriptor).size !== size) return false
      await sync(descriptor).catch((error: unknown) => onFlushFailure(error, path, flags))
      // One that opened the file after another process received the error of its flush receives none.
      return size === undefined || fstatSync(descriptor).nlink > 0
    } finally {
      closeSync(descriptor)
    }
  }

  /**
   * A further flush would succeed, although pages may be lost: the file is deleted. Names in a folder cannot be, and
   * what does not lack space alone may fail for others, too: then nothing is committed until a restart. Not in the thread
   * pool, where it would wait for other flushes while another process flushes the same file.
   */
  function onFlushFailure(error: unknown, path: string, flags: 'r' | 'r+'): never {
    const isDeleted = flags === 'r+' && tryRemove(path)
    if (!isDeleted || !toStorageError(error)) flushFailure = error
    throw error
  }

  async function assertSpace(bytes?: number): Promise<void> {
    await reserve?.assertSpace(bytes)
  }

  function assertNoFailedFlush(): void {
    if (flushFailure !== undefined) throw diskFailed(flushFailure)
  }

  return {
    put: (body, expected) =>
      withStorageErrors(async () => {
        await assertSpace(expected.size)
        if ((expected.size ?? Number.POSITIVE_INFINITY) <= MAX_BUFFERED_BODY_BYTES) {
          const { bytes, ...received } = await bufferBody(body, expected)
          return create(async (path, object) => {
            await writeFile(path, bytes, { flag: 'wx' })
            unread.add(object, bytes)
            return { ...received, object, piecesHash: null }
          }, received.hash)
        }
        return create(async (path, object) => {
          const received = await receiveLarge(path, body, expected, assertSpace)
          return { ...received, object, piecesHash: null }
        }, expected.hash)
      }),

    putTogether: (contents) =>
      withStorageErrors(async () => {
        assertNoFailedFlush()
        const bytes = contents.reduce((sum, { length }) => sum + length, 0)
        await assertSpace(bytes)
        const isSmall = bytes <= MAX_BUFFERED_BODY_BYTES
        return create(async (path, object) => {
          await writeFile(path, isSmall ? Buffer.concat(contents) : contents, { flag: 'wx' })
          await flushFile(path, 'r+')
          await flushShards([object])
          assertNoFailedFlush()
          return locate(contents, object)
        })
      }),

    commit: (blobs) =>
      withStorageErrors(async () => {
        const missing = new Set<StoredBlob>()
        await forEachConcurrent(MAX_CONCURRENT_FLUSHES, blobs, async (blob) => {
          if (!(await commitOne(blob))) missing.add(blob)
        })
        await flushShards(blobs.flatMap((blob) => (missing.has(blob) ? [] : blob.object)))
        // The system may report a failure to one flush of a folder only, and not to the next one.
        assertNoFailedFlush()
        return [...missing]
      }),

    localPath: place,

    takeUnread: (object) => unread.take(object),

    bytes: (location) => withStorageErrors(() => readIntact(location)),

    streamBytes: 2 * READ_CHUNK_BYTES,

    read: (location, { start, end } = { start: 0, end: location.size - 1 }) =>
      withStorageErrors(async () => {
        const { object, offset, size } = location
        if (size <= MAX_BUFFERED_BODY_BYTES) {
          const bytes = await readIntact(location)
          return bytes && Readable.from(end < start ? [] : [bytes.subarray(start, end + 1)])
        }
        const handle = await withReadErrors(location, openLarge)
        if (!handle) return damage?.addMissing(object)
        if (end < start) {
          await handle.close()
          return Readable.from([])
        }
        const options = { highWaterMark: READ_CHUNK_BYTES, start: offset + start, end: offset + end }
        return streamFile(handle, options, (error) => translateReadError(location, error))
      }),

    verify: (...given) => withStorageErrors(() => verify(...given)),

    remove: (objects) =>
      withStorageErrors(async () => {
        const failures: unknown[] = []
        await forEachConcurrent(MAX_CONCURRENT_FLUSHES, objects, (object) =>
          rm(place(object), { force: true }).catch((error: unknown) => void failures.push(error)),
        )
        if (failures.length > 0) throw failures[0]
      }),

    list: (after = '') =>
      withStorageErrors(async () => {
        for (const shard of (await readdir(folder)).filter(isShard).sort()) {
          if (shard < shardOf(after)) continue
          const names = await readdir(join(folder, shard))
          const page = names.filter((name) => name > after).sort()
          if (page.length > 0) return page.slice(0, OBJECTS_PER_PAGE)
        }
        return []
      }),

    createdAt: objectCreatedAt,

    check: () =>
      withStorageErrors(async () => {
        assertNoFailedFlush()
        await access(folder, constants.W_OK)
        const [shard = '.'] = shards.existing
        await access(join(folder, shard)).catch(() => {
          const message = `${folder} lacks ${shard}, which it had: is its disk mounted?`
          throw Object.assign(new Error(message), { code: 'ENODEV' })
        })
      }),

    assertSpace: (bytes) => withStorageErrors(() => assertSpace(bytes)),

    assertLocalSpace: (bytes) => withStorageErrors(() => assertSpace(bytes)),
  }
}

/** Whether there is no such file afterwards. */
function tryRemove(path: string): boolean {
  try {
    rmSync(path, { force: true })
    return true
  } catch {
    return false
  }
}

class UnreadContents {
  readonly #contents = new Map<string, Buffer>()

  add(object: string, bytes: Buffer): void {
    // Of a part of a buffer, the whole would be kept.
    if (bytes.buffer.byteLength > MAX_UNREAD_BYTES) return
    this.#contents.set(object, bytes)
    if (this.#contents.size > MAX_UNREAD_CONTENTS) this.#contents.delete(this.#contents.keys().next().value!)
  }

  take(object: string): Buffer | undefined {
    const bytes = this.#contents.get(object)
    this.#contents.delete(object)
    return bytes
  }
}

/** The folders of the objects. Other processes create them, too. */
class Shards {
  readonly #folder: string
  readonly existing: Set<string>
  /** Those whose names survive a power cut. */
  readonly #flushed: Set<string>
  #current = ''
  #remaining = 0

  constructor(folder: string) {
    this.#folder = folder
    makeFolder(folder)
    const shards = readdirSync(folder).filter(isShard)
    for (const path of [folder, join(folder, '..')]) {
      const descriptor = openSync(path, 'r')
      fsyncSync(descriptor)
      closeSync(descriptor)
    }
    this.existing = new Set(shards)
    this.#flushed = new Set(shards)
  }

  /** The folder of the next object: successive objects share one, so that a commit flushes few folders. */
  pick(): string {
    if (this.#remaining === 0) {
      this.#remaining = OBJECTS_PER_SHARD
      this.#current = randomBytes(1).toString('hex')
    }
    this.#remaining--
    return this.#current
  }

  async create(shard: string): Promise<void> {
    if (this.existing.has(shard)) return
    await mkdir(join(this.#folder, shard)).catch(ignoreExisting)
    this.existing.add(shard)
  }

  areFlushed(shards: readonly string[]): boolean {
    return shards.every((shard) => this.#flushed.has(shard))
  }

  markFlushed(shards: readonly string[]): void {
    for (const shard of shards) this.#flushed.add(shard)
  }
}

function toRange({ object, offset, size, hash }: BlobLocation): HashedRange {
  return { object, start: offset, length: size, hash }
}

function locate(contents: readonly Buffer[], object: string): BlobLocation[] {
  let end = 0
  return contents.map((bytes) => {
    const offset = end
    end += bytes.length
    return { hash: hashOnce('sha256', bytes), size: bytes.length, object, offset, piecesHash: null }
  })
}

/** Buffers a small body and checks it before any of it is written. */
async function bufferBody(
  body: Readable,
  expected: PutConstraints,
): Promise<ReceivedBytes & { bytes: Buffer }> {
  const buffered = new GrowingBuffer()
  for await (const chunk of iterateBody(body)) {
    assertLength(buffered.length + chunk.length, expected)
    buffered.append(chunk)
  }
  const bytes = buffered.take()
  const received = { hash: hashOnce('sha256', bytes), size: bytes.length, bytes }
  assertExpected(received, expected)
  return received
}

async function receiveLarge(
  path: string,
  body: Readable,
  expected: PutConstraints,
  assertSpace: (bytes: number) => Promise<void>,
): Promise<ReceivedBytes> {
  const handle = await open(path, 'wx')
  try {
    const hash = createHash('sha256')
    const buffered = new GrowingBuffer()
    let size = 0
    const write = async () => {
      const bytes = buffered.take()
      await assertSpace(bytes.length)
      hash.update(bytes)
      await writeWhole(handle, bytes)
    }
    for await (const chunk of iterateBody(body)) {
      size += chunk.length
      assertLength(size, expected)
      buffered.append(chunk)
      if (buffered.length >= WRITE_BYTES) await write()
    }
    await write()
    const received = { hash: hash.digest('hex'), size }
    assertExpected(received, expected)
    return received
  } finally {
    await handle.close()
  }
}

/** Does not destroy the body on an early exit, so that the client can still receive the error. */
function iterateBody(body: Readable): AsyncIterable<Buffer> {
  return body.iterator({ destroyOnReturn: false })
}

/** The SHA-256 of a part of a file, read into `bytes` if given; undefined when the file ends before. */
async function hashPart(
  handle: FileHandle,
  { offset, size }: Pick<BlobLocation, 'offset' | 'size'>,
  { bytes, signal }: { bytes?: Buffer; signal?: AbortSignal | undefined } = {},
): Promise<string | undefined> {
  const hash = createHash('sha256')
  const chunk = bytes ?? Buffer.allocUnsafe(Math.min(size, MAX_BUFFERED_BODY_BYTES))
  for (let at = 0; at < size; ) {
    signal?.throwIfAborted()
    const from = bytes ? at : 0
    const length = Math.min(chunk.length - from, size - at, HASH_CHUNK_BYTES)
    const { bytesRead } = await handle.read(chunk, from, length, offset + at)
    if (bytesRead === 0) return undefined
    hash.update(chunk.subarray(from, from + bytesRead))
    at += bytesRead
  }
  return hash.digest('hex')
}

function shardOf(object: string): string {
  return object.slice(0, 2)
}

function isShard(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name)
}

/** Whether the folder has ever had an object: false for a mount point without its disk. */
export function hasShards(folder: string): boolean {
  return readdirSync(folder).some(isShard)
}

function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  return work().catch(translateError)
}

/** Of a disk or a network file system, also one that is not mounted. */
const UNAVAILABLE_CODES = new Set([
  ...['EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO'],
  ...['ESTALE', 'ENOTCONN', 'EHOSTDOWN', 'EHOSTUNREACH', 'ETIMEDOUT'],
])

function translateError(error: unknown): never {
  if (error instanceof ApiError) throw error
  const full = toStorageError(error)
  if (full) throw full
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined || !UNAVAILABLE_CODES.has(code)) throw error
  throw new ApiError('UNAVAILABLE', 'File storage is temporarily unavailable', { cause: error })
}
