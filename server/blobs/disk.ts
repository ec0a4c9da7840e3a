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
import { ENCODINGS, type Encoding } from '../encodings/encoding.ts'
import { diskFailed, Failure, storageFailure } from '../failure.ts'
import type { Blobs, Expected, Received } from './blobs.ts'
import { inParallel } from './in-parallel.ts'

/** Bodies up to this many bytes are gathered in memory and written at once. */
const SMALL = 256 * 1024

/** Bytes that a reader gets at once: as much as the edge keeps in a piece, so that none holds on to another's. */
const CHUNK = 128 * 1024

/** As many flushes at once as there are threads for them (`UV_THREADPOOL_SIZE`, see design.md). */
const PARALLEL = 16

interface DiskOptions {
  /**
   * Everything lives below this folder, which must be one file system: `staged/<batch>/`, `<first two of hash>/<hash>`
   * and beside the latter `<hash>.br`.
   */
  folder: string
  /**
   * Names this run of the service; processes that share it trust each other's staged bytes. Those of an earlier
   * run may have been damaged by a power cut before they were flushed, so they are hashed again before use.
   */
  run: string
}

/** Blobs in a folder of a local disk. */
export function diskBlobs({ folder, run }: DiskOptions): Blobs {
  prepare(folder)
  const staged = join(folder, 'staged')
  const batchFolder = (batch: string) => join(staged, batch)
  const place = (hash: string, encoding?: Encoding) =>
    join(folder, hash.slice(0, 2), encoding ? `${hash}.${encoding}` : hash)
  let flushFailure: unknown

  async function settleOne(batch: string, names: Map<string, string[]>, blob: Received): Promise<boolean> {
    for (const name of names.get(blob.hash) ?? []) {
      const trusted = name.startsWith(`${blob.hash}.${run}.`)
      if (await placed(join(batchFolder(batch), name), blob, trusted)) return true
    }
    return isThere(place(blob.hash))
  }

  /** False when the staged file is not whole, or was placed meanwhile by another who settles the same batch. */
  async function placed(path: string, blob: Received, trusted: boolean): Promise<boolean> {
    try {
      if (!(await flushed(path, blob, trusted))) return false
      await rename(path, place(blob.hash))
      return true
    } catch (error) {
      return absent(error as NodeJS.ErrnoException) ?? false
    }
  }

  /**
   * Flushes a staged file when it is whole: one that a process left behind half-written is too short, and after a
   * power cut none is trusted. A file that could not be flushed is deleted: its pages may be lost.
   */
  async function flushed(path: string, blob: Received, trusted: boolean): Promise<boolean> {
    const handle = await open(path, 'r+')
    try {
      // The inode is in memory: asking for it at once costs less than a turn of the thread pool.
      const whole =
        fstatSync(handle.fd).size === blob.size && (trusted || (await hashOf(handle)) === blob.hash)
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

  async function flushFolders(hashes: readonly string[]): Promise<void> {
    const folders = [...new Set(hashes.map((hash) => hash.slice(0, 2)))]
    await inParallel(PARALLEL, folders, async (name) => {
      const handle = await open(join(folder, name))
      try {
        await flush(handle)
      } finally {
        await handle.close()
      }
    })
  }

  async function flush(handle: FileHandle): Promise<void> {
    try {
      await handle.sync()
    } catch (error) {
      flushFailure = error
      throw error
    }
  }

  function refuseAfterFailedFlush(): void {
    if (flushFailure !== undefined) throw diskFailed(flushFailure)
  }

  return {
    receive: (batch, body, expected) =>
      reported(async () => {
        // Asking first, at once, costs less than a turn of the thread pool that ends in an error.
        if (!existsSync(batchFolder(batch))) await mkdir(batchFolder(batch)).catch(isThereAlready)
        // A name of its own for every upload: what was flushed under a name is what is put in place.
        const own = randomUUID()
        const staged = (hash: string) => join(batchFolder(batch), `${hash}.${run}.${own}`)
        if ((expected.size ?? Number.POSITIVE_INFINITY) <= SMALL) {
          const { bytes, ...received } = await gather(body, expected)
          await orNothing(staged(received.hash), (path) =>
            writeFile(path, bytes, { flag: 'wx' }).catch(discarded),
          )
          return received
        }
        return orNothing(join(batchFolder(batch), `arriving.${own}`), async (path) => {
          const received = await receiveLarge(path, body, expected)
          await rename(path, staged(received.hash)).catch(discarded)
          return received
        })
      }),

    settle: (batch, blobs) =>
      reported(async () => {
        refuseAfterFailedFlush()
        const names = byHash(await readdir(batchFolder(batch)).catch(nothingThere))
        const wanted = new Map(blobs.map((blob) => [blob.hash, blob]))
        const absent = new Set<string>()
        await inParallel(PARALLEL, [...wanted.values()], async (blob) => {
          if (!(await settleOne(batch, names, blob))) absent.add(blob.hash)
        })
        await flushFolders([...wanted.keys()].filter((hash) => !absent.has(hash)))
        return blobs.filter((blob) => absent.has(blob.hash))
      }),

    async discard(batch, kept) {
      if (!kept) return rm(batchFolder(batch), { recursive: true, force: true })
      const names = byHash(await readdir(batchFolder(batch)).catch(nothingThere))
      const surplus = [...kept].flatMap(([hash, most]) => {
        const trusted = Map.groupBy(names.get(hash) ?? [], (name) => name.startsWith(`${hash}.${run}.`))
        return [...(trusted.get(true) ?? []), ...(trusted.get(false) ?? [])].slice(most)
      })
      await inParallel(PARALLEL, surplus, (name) => rm(join(batchFolder(batch), name), { force: true }))
    },

    async *batches() {
      for await (const entry of await opendir(staged)) {
        const found = await stat(batchFolder(entry.name)).catch(() => undefined)
        if (found) yield { batch: entry.name, changedAt: found.mtimeMs }
      }
    },

    keepEncoding: (hash, encoding, bytes) =>
      reported(async () => {
        refuseAfterFailedFlush()
        // A batch of its own: what a killed process leaves in it goes with all uploads that nobody waits for.
        const batch = batchFolder(`encoding.${randomUUID()}`)
        await mkdir(batch)
        try {
          const path = join(batch, hash)
          await writeFlushed(path, bytes)
          await rename(path, place(hash, encoding))
        } finally {
          await rm(batch, { recursive: true, force: true })
        }
        await flushFolders([hash])
      }),

    bytes: (hash, encoding) => readFile(place(hash, encoding)).catch(absent),

    async read(hash, { encoding, range } = {}) {
      const handle = await open(place(hash, encoding)).catch(absent)
      return handle && createReadStream('', { fd: handle, highWaterMark: CHUNK, ...range })
    },

    async remove(hash) {
      for (const encoding of [undefined, ...ENCODINGS]) await rm(place(hash, encoding), { force: true })
    },

    async *list() {
      for (const shard of shards()) {
        const names = await readdir(join(folder, shard))
        yield* new Set(names.map((name) => name.slice(0, 64)))
      }
    },

    check: () =>
      reported(async () => {
        refuseAfterFailedFlush()
        await access(staged, constants.W_OK)
      }),
  }
}

/** All bytes of a small body, checked before any of them is written. */
async function gather(body: Readable, expected: Expected): Promise<Received & { bytes: Buffer }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of chunksOf(body)) {
    size += chunk.length
    refuseLonger(size, expected)
    chunks.push(chunk)
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  const received = { hash: hashOnce('sha256', bytes), size, bytes }
  refuseOther(received, expected)
  return received
}

/** Leaves no file at `path` when `write` fails. */
async function orNothing<T>(path: string, write: (path: string) => Promise<T>): Promise<T> {
  try {
    return await write(path)
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  }
}

async function receiveLarge(path: string, body: Readable, expected: Expected): Promise<Received> {
  const handle = await open(path, 'wx').catch(discarded)
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of chunksOf(body)) {
      size += chunk.length
      refuseLonger(size, expected)
      hash.update(chunk)
      await writeWhole(handle, chunk)
    }
    const received = { hash: hash.digest('hex'), size }
    refuseOther(received, expected)
    return received
  } finally {
    await handle.close()
  }
}

/** The body's bytes; it is left open when they are not wanted to the end, so that its sender can be told why. */
function chunksOf(body: Readable): AsyncIterable<Buffer> {
  return body.iterator({ destroyOnReturn: false })
}

async function writeWhole(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.length - at)
    at += bytesWritten
  }
}

function refuseLonger(size: number, { size: declared, limit }: Expected): void {
  if (declared !== undefined && size > declared) throw wrongSize(declared, 'more')
  if (limit !== undefined && size > limit) {
    throw new Failure('PAYLOAD_TOO_LARGE', `A file may have at most ${limit} bytes`)
  }
}

function refuseOther(received: Received, { size, hash }: Expected): void {
  if (size !== undefined && received.size !== size) throw wrongSize(size, `only ${received.size}`)
  if (hash !== undefined && received.hash !== hash) {
    throw new Failure(
      'HASH_MISMATCH',
      `The manifest says SHA-256 ${hash}, the bytes that came have ${received.hash}`,
    )
  }
}

function wrongSize(declared: number, came: string): Failure {
  return new Failure('SIZE_MISMATCH', `The manifest says ${declared} bytes, but ${came} came`)
}

async function hashOf(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(SMALL)
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

/** Names of staged files by hash: `<hash>.<run>.<upload>`. */
function byHash(names: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const name of names) {
    const hash = name.slice(0, 64)
    const others = found.get(hash)
    if (others) others.push(name)
    else found.set(hash, [name])
  }
  return found
}

function shards(): string[] {
  return Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'))
}

/** Makes the folders; the flush keeps a power cut from taking a shard away with the blobs in it. */
function prepare(folder: string): void {
  mkdirSync(join(folder, 'staged'), { recursive: true })
  for (const shard of shards()) mkdirSync(join(folder, shard), { recursive: true })
  for (const path of [folder, join(folder, '..')]) {
    const descriptor = openSync(path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(absent)) !== undefined
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined
  throw error
}

/** Bytes whose batch goes away while they come are late. */
function discarded(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error
  throw new Failure('UPLOAD_EXPIRED', 'This version takes no more uploads: it is finalized or gone')
}

function isThereAlready(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

function nothingThere(error: NodeJS.ErrnoException): string[] {
  absent(error)
  return []
}

/** Turns what the operating system says into what a caller may know. */
async function reported<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Failure) throw error
    const full = storageFailure(error)
    if (full) throw full
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EIO' || code === 'EROFS' || code === 'EACCES' || code === 'EMFILE' || code === 'ENFILE') {
      throw new Failure('UNAVAILABLE', 'The service cannot keep files at the moment', { cause: error })
    }
    throw error
  }
}
