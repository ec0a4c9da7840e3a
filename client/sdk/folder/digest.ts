import crypto from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { mediaType } from '../../../protocol/manifest/media-type.ts'
import { SlipwayError } from '../slipway-error.ts'
import type { PublishFile } from '../upload.ts'
import type { FoundFile } from './scan.ts'

/** Files up to this size are read as a whole, in bytes. */
const MAX_BUFFERED_FILE_BYTES = 1024 * 1024
/** Concurrent large files. */
const MAX_CONCURRENT_FILES = 4
/** Small files are hashed synchronously up to this many bytes before yielding. */
const YIELD_AFTER_BYTES = 16 * 1024 * 1024

/** Files are read by their real paths: a link in place of one has come since the scan. Not on Windows. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)

interface DigestOptions {
  signal?: AbortSignal | undefined
  /** Called after this many bytes were read. */
  onBytes?: (bytes: number) => void
  /** Called for every file that was read. */
  onFile?: () => void
}

/** A file with its hash. */
export type HashedFile = PublishFile & { hash: string }

/**
 * Reads and hashes every file. Sizes are those of the bytes that were read. Rejects with the error of the
 * operating system, with FILE_CHANGED when a file or its folder has disappeared or become a link since the scan, or with the
 * signal's reason.
 */
export async function digestAll(files: FoundFile[], options: DigestOptions = {}): Promise<HashedFile[]> {
  assertNoNewLinks(files)
  const hashed = new Map<string, HashedFile>()
  const small = files.filter(({ size }) => size <= MAX_BUFFERED_FILE_BYTES)
  const large = files.filter(({ size }) => size > MAX_BUFFERED_FILE_BYTES)
  await Promise.all([digestSmall(small, hashed, options), digestLarge(large, hashed, options)])
  return files.map(({ path }) => hashed.get(path)!)
}

/** For small files consecutive synchronous calls are faster than any concurrency. */
async function digestSmall(files: FoundFile[], hashed: Map<string, HashedFile>, options: DigestOptions) {
  let bytesSinceYield = 0
  options.signal?.throwIfAborted()
  // One for all: a thousand would be collected.
  const buffer = Buffer.allocUnsafeSlow(MAX_BUFFERED_FILE_BYTES + 1)
  for (const file of files) {
    const bytes = readSmall(file, buffer)
    const hash = sha256(bytes)
    hashed.set(file.path, publishFile(file, { size: bytes.byteLength, hash, start: bytes }))
    options.onFile?.()
    options.onBytes?.(bytes.byteLength)
    bytesSinceYield += bytes.byteLength
    if (bytesSinceYield < YIELD_AFTER_BYTES) continue
    bytesSinceYield = 0
    await yieldToEventLoop()
    options.signal?.throwIfAborted()
  }
}

/** `crypto.hash` is newer than Node 18, and makes no stream. */
function sha256(bytes: Uint8Array): string {
  return crypto.hash?.('sha256', bytes) ?? crypto.createHash('sha256').update(bytes).digest('hex')
}

async function digestLarge(files: FoundFile[], hashed: Map<string, HashedFile>, options: DigestOptions) {
  const queue = [...files]
  const worker = async () => {
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      hashed.set(file.path, await digestStream(file, options))
      options.onFile?.()
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT_FILES }, worker))
}

async function digestStream(file: FoundFile, { signal, onBytes }: DigestOptions): Promise<HashedFile> {
  const hash = crypto.createHash('sha256')
  let size = 0
  let start: Uint8Array | undefined
  for await (const chunk of readChunks(file.path, file.source, MAX_BUFFERED_FILE_BYTES)) {
    signal?.throwIfAborted()
    start ??= chunk
    hash.update(chunk)
    size += chunk.length
    onBytes?.(chunk.length)
  }
  return publishFile(file, { size, hash: hash.digest('hex'), start })
}

/** What was read of a file. */
interface ReadFile {
  size: number
  hash: string
  /** The first bytes. */
  start: Uint8Array | undefined
}

function publishFile({ path, source }: FoundFile, { size, hash, start }: ReadFile): HashedFile {
  const open = () =>
    size <= MAX_BUFFERED_FILE_BYTES
      ? readWhole(path, source)
      : readChunks(path, source, MAX_BUFFERED_FILE_BYTES / 4)
  return { path, size, contentType: mediaType(path, start), hash, open }
}

/** Throws FILE_CHANGED when a folder of the files has disappeared, has become a link, or is behind one. */
function assertNoNewLinks(files: FoundFile[]): void {
  const folders = new Map(files.map(({ path, source }) => [dirname(source), path]))
  for (const [folder, path] of folders) if (realPath(folder, path) !== folder) throw fileChanged(path, 'link')
}

function realPath(folder: string, path: string): string {
  try {
    return realpathSync.native(folder)
  } catch (error) {
    throw toReadError(path, error)
  }
}

/** In the buffer if it has as many bytes as the scan found. */
function readSmall({ path, source, size }: FoundFile, buffer: Buffer): Buffer {
  try {
    const file = openSync(source, READ_FLAGS)
    try {
      if (readSync(file, buffer) === size) return buffer.subarray(0, size)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw toReadError(path, error)
  }
  return readWhole(path, source)
}

function readWhole(path: string, source: string): Buffer {
  try {
    return readFileSync(source, { flag: READ_FLAGS as unknown as string })
  } catch (error) {
    throw toReadError(path, error)
  }
}

async function* readChunks(path: string, source: string, highWaterMark: number): AsyncIterable<Buffer> {
  try {
    yield* createReadStream(source, { highWaterMark, flags: READ_FLAGS as unknown as string })
  } catch (error) {
    throw toReadError(path, error)
  }
}

/** FILE_CHANGED for a file that has disappeared or has become a link; any other error as it is. */
function toReadError(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ELOOP') return fileChanged(path, 'link', error)
  return code === 'ENOENT' ? fileChanged(path, 'gone', error) : error
}

function fileChanged(path: string, what: 'link' | 'gone', cause?: unknown): SlipwayError {
  const happened = what === 'link' ? 'has become a link' : 'disappeared'
  const message = `${path} ${happened} while it was being published`
  return new SlipwayError(message, { code: 'FILE_CHANGED', details: { path }, cause })
}
