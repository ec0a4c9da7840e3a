import { createHash, hash as hashOnce, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
} from 'node:fs'
import {
  access,
  type FileHandle,
  mkdir,
  open,
  opendir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { forEachConcurrent } from '../lib/concurrency.ts'
import { ApiError, diskFailed, toStorageError } from '../lib/errors.ts'
import { GrowingBuffer } from '../lib/growing-buffer.ts'
import type { Blobs, PutConstraints, StoredBlob } from './blobs.ts'
import { assertExpected, assertLength } from './constraints.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { ENCODINGS, type Encoding } from './encoding.ts'

/** Bodies up to this many bytes are buffered in memory and written in one call. */
const MAX_BUFFERED_BODY_BYTES = 256 * 1024

/** Bytes of a larger body buffered per write: chunks may be small, and each write takes a thread. */
const WRITE_BYTES = 32 * 1024

/**
 * Chunk size of reads in bytes. The edge caches chunks of the same size, so that no chunk keeps the memory of
 * another.
 */
const READ_CHUNK_BYTES = 128 * 1024

/** Concurrent flushes: each occupies a thread, and `deploy/` and `npm start` set `UV_THREADPOOL_SIZE` to 16. */
const MAX_CONCURRENT_FLUSHES = 16

interface DiskOptions {
  /**
   * Root folder, on one file system: `staged/<area>/`, `<first two of hash>/<hash>` and its encodings
   * `<hash>.br`.
   */
  folder: string
  /**
   * Identifies this run of the service; its processes trust each other's staged bytes. Those of an earlier
   * run may have been damaged by a power cut before they were flushed, so they are hashed again before use.
   */
  bootId: string
  /** Without it the disk may be filled. */
  reserve?: DiskReserve
}

/** Blobs in a folder of a local disk. */
export function diskBlobs({ folder, bootId, reserve }: DiskOptions): Blobs {
  const shards = openFolder(folder)
  const staged = join(folder, 'staged')
  const areaFolder = (area: string) => join(staged, area)
  const place = (hash: string, encoding?: Encoding) =>
    join(folder, shardOf(hash), encoding ? `${hash}.${encoding}` : hash)
  let flushFailure: unknown

  async function commitOne(area: string, names: Map<string, string[]>, blob: StoredBlob): Promise<boolean> {
    for (const name of names.get(blob.hash) ?? []) {
      const trusted = name.startsWith(`${blob.hash}.${bootId}.`)
      if (await promote(join(areaFolder(area), name), blob, trusted)) return true
    }
    return fileExists(place(blob.hash))
  }

  /** False when the staged file is incomplete, or was moved by another `commit` of the same staging area. */
  async function promote(path: string, blob: StoredBlob, trusted: boolean): Promise<boolean> {
    try {
      if (!(await flushFile(path, blob, trusted))) return false
      await rename(path, place(blob.hash))
      return true
    } catch (error) {
      return ignoreMissing(error as NodeJS.ErrnoException) ?? false
    }
  }

  /**
   * Flushes a staged file if it is complete: a file of a crashed process is too short, and after a power cut
   * none is trusted. A file that could not be flushed is deleted: its pages may be lost.
   */
  async function flushFile(path: string, blob: StoredBlob, trusted: boolean): Promise<boolean> {
    const handle = await open(path, 'r+')
    try {
      // The inode is cached: a synchronous stat costs less than a round trip to the thread pool.
      const whole =
        fstatSync(handle.fd).size === blob.size && (trusted || (await hashFile(handle)) === blob.hash)
      if (whole) await flush(handle)
      return whole
    } catch (error) {
      await unlink(path).catch(() => undefined)
      throw error
    } finally {
      await handle.close()
    }
  }

  async function writeFlushed(path: string, bytes: Buffer): Promise<void> {
    const handle = await open(path, 'wx')
    try {
      await writeWhole(handle, bytes)
      await flush(handle)
    } finally {
      await handle.close()
    }
  }

  /** Creates missing shards and flushes their parent, so that a power cut cannot remove a shard with its blobs. */
  async function createShards(hashes: readonly string[]): Promise<void> {
    const missing = [...new Set(hashes.map(shardOf))].filter((shard) => !shards.has(shard))
    if (missing.length === 0) return
    await forEachConcurrent(MAX_CONCURRENT_FLUSHES, missing, async (shard) => {
      await mkdir(join(folder, shard), { recursive: true })
    })
    await flushFolder(folder)
    for (const shard of missing) shards.add(shard)
  }

  async function flushShards(hashes: readonly string[]): Promise<void> {
    const used = [...new Set(hashes.map(shardOf))]
    await forEachConcurrent(MAX_CONCURRENT_FLUSHES, used, (shard) => flushFolder(join(folder, shard)))
  }

  async function flushFolder(path: string): Promise<void> {
    const handle = await open(path)
    try {
      await flush(handle)
    } finally {
      await handle.close()
    }
  }

  async function flush(handle: FileHandle): Promise<void> {
    try {
      await handle.sync()
    } catch (error) {
      flushFailure = error
      throw error
    }
  }

  async function assertSpace(bytes?: number): Promise<void> {
    await reserve?.assertSpace(bytes)
  }

  function assertNoFailedFlush(): void {
    if (flushFailure !== undefined) throw diskFailed(flushFailure)
  }

  return {
    put: (area, body, expected) =>
      withStorageErrors(async () => {
        await assertSpace(expected.size)
        // A synchronous check costs less than a round trip to the thread pool that ends in an error.
        if (!existsSync(areaFolder(area))) await mkdir(areaFolder(area)).catch(ignoreExisting)
        // A unique name for every upload: the flushed name is the one that is moved.
        const own = randomUUID()
        const staged = (hash: string) => join(areaFolder(area), `${hash}.${bootId}.${own}`)
        if ((expected.size ?? Number.POSITIVE_INFINITY) <= MAX_BUFFERED_BODY_BYTES) {
          const { bytes, ...received } = await bufferBody(body, expected)
          await removeOnError(staged(received.hash), (path) =>
            writeFile(path, bytes, { flag: 'wx' }).catch(rethrowDiscarded),
          )
          return received
        }
        return removeOnError(join(areaFolder(area), `arriving.${own}`), async (path) => {
          const received = await receiveLarge(path, body, expected, assertSpace)
          await rename(path, staged(received.hash)).catch(rethrowDiscarded)
          return received
        })
      }),

    commit: (area, blobs) =>
      withStorageErrors(async () => {
        assertNoFailedFlush()
        const names = groupByHash(await readdir(areaFolder(area)).catch(emptyIfMissing))
        const wanted = new Map(blobs.map((blob) => [blob.hash, blob]))
        const absent = new Set<string>()
        await createShards([...wanted.keys()])
        await forEachConcurrent(MAX_CONCURRENT_FLUSHES, [...wanted.values()], async (blob) => {
          if (!(await commitOne(area, names, blob))) absent.add(blob.hash)
        })
        await flushShards([...wanted.keys()].filter((hash) => !absent.has(hash)))
        return blobs.filter((blob) => absent.has(blob.hash))
      }),

    discard: (area, kept) =>
      withStorageErrors(async () => {
        if (!kept) return rm(areaFolder(area), { recursive: true, force: true })
        const names = groupByHash(await readdir(areaFolder(area)).catch(emptyIfMissing))
        const surplus = [...kept].flatMap(([hash, most]) => {
          const trusted = Map.groupBy(names.get(hash) ?? [], (name) => name.startsWith(`${hash}.${bootId}.`))
          return [...(trusted.get(true) ?? []), ...(trusted.get(false) ?? [])].slice(most)
        })
        await forEachConcurrent(MAX_CONCURRENT_FLUSHES, surplus, (name) =>
          rm(join(areaFolder(area), name), { force: true }),
        )
      }),

    stagingAreas: () =>
      iterateWithStorageErrors(async function* () {
        for await (const entry of await opendir(staged)) {
          const found = await stat(areaFolder(entry.name)).catch(() => undefined)
          if (found) yield { area: entry.name, changedAt: found.mtimeMs }
        }
      }),

    putEncoding: (hash, encoding, bytes) =>
      withStorageErrors(async () => {
        assertNoFailedFlush()
        await assertSpace(bytes.length)
        // A staging area of its own: after a crash it is deleted with all abandoned uploads.
        const area = areaFolder(`encoding.${randomUUID()}`)
        await mkdir(area)
        try {
          const path = join(area, hash)
          await createShards([hash])
          await writeFlushed(path, bytes)
          await rename(path, place(hash, encoding))
        } finally {
          await rm(area, { recursive: true, force: true })
        }
        await flushShards([hash])
      }),

    bytes: (hash, encoding) => withStorageErrors(() => readFile(place(hash, encoding)).catch(ignoreMissing)),

    read: (hash, { encoding, range } = {}) =>
      withStorageErrors(async () => {
        const handle = await open(place(hash, encoding)).catch(ignoreMissing)
        return handle && createReadStream('', { fd: handle, highWaterMark: READ_CHUNK_BYTES, ...range })
      }),

    remove: (hash) =>
      withStorageErrors(async () => {
        for (const encoding of [undefined, ...ENCODINGS]) await rm(place(hash, encoding), { force: true })
      }),

    list: () =>
      iterateWithStorageErrors(async function* () {
        for (const shard of (await readdir(folder)).filter(isShard).sort()) {
          const names = await readdir(join(folder, shard))
          yield* new Set(names.map((name) => name.slice(0, 64)))
        }
      }),

    check: () =>
      withStorageErrors(async () => {
        assertNoFailedFlush()
        await access(staged, constants.W_OK)
      }),

    assertSpace: (bytes) => withStorageErrors(() => assertSpace(bytes)),
  }
}

/** Buffers a small body and checks it before any of it is written. */
async function bufferBody(body: Readable, expected: PutConstraints): Promise<StoredBlob & { bytes: Buffer }> {
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

/** Leaves no file at `path` when `write` fails. */
async function removeOnError<T>(path: string, write: (path: string) => Promise<T>): Promise<T> {
  try {
    return await write(path)
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  }
}

async function receiveLarge(
  path: string,
  body: Readable,
  expected: PutConstraints,
  assertSpace: (bytes: number) => Promise<void>,
): Promise<StoredBlob> {
  const handle = await open(path, 'wx').catch(rethrowDiscarded)
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

/**
 * Iterates over the body without destroying it on an early exit, so that the client can still receive the
 * error.
 */
function iterateBody(body: Readable): AsyncIterable<Buffer> {
  return body.iterator({ destroyOnReturn: false })
}

async function writeWhole(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.length - at)
    at += bytesWritten
  }
}

async function hashFile(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(MAX_BUFFERED_BODY_BYTES)
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

/** Names of staged files by hash: `<hash>.<run>.<upload>`. */
function groupByHash(names: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const name of names) {
    const hash = name.slice(0, 64)
    const others = found.get(hash)
    if (others) others.push(name)
    else found.set(hash, [name])
  }
  return found
}

function shardOf(hash: string): string {
  return hash.slice(0, 2)
}

function isShard(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name)
}

/** Creates the root folder, flushes it and returns the shards that it has: another process may just have made them. */
function openFolder(folder: string): Set<string> {
  mkdirSync(join(folder, 'staged'), { recursive: true })
  const shards = readdirSync(folder).filter(isShard)
  for (const path of [folder, join(folder, '..')]) {
    const descriptor = openSync(path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }
  return new Set(shards)
}

async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(ignoreMissing)) !== undefined
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined
  throw error
}

/** The staging area was discarded while its bytes arrived. */
function rethrowDiscarded(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error
  throw new ApiError('UPLOAD_EXPIRED', 'This version accepts no more uploads: it is finalized or deleted')
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

function emptyIfMissing(error: NodeJS.ErrnoException): string[] {
  ignoreMissing(error)
  return []
}

/** Translates errors of the operating system into those of the contract. */
async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    translateError(error)
  }
}

/** The same for an iteration. */
async function* iterateWithStorageErrors<T>(iterate: () => AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* iterate()
  } catch (error) {
    translateError(error)
  }
}

const UNAVAILABLE_CODES = new Set(['EIO', 'EROFS', 'EACCES', 'EMFILE', 'ENFILE'])

function translateError(error: unknown): never {
  if (error instanceof ApiError) throw error
  const full = toStorageError(error)
  if (full) throw full
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined || !UNAVAILABLE_CODES.has(code)) throw error
  throw new ApiError('UNAVAILABLE', 'File storage is temporarily unavailable', { cause: error })
}
