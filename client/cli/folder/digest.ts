import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { mediaType } from '../../sdk/media-type.ts'
import { SlipwayError } from '../../sdk/slipway-error.ts'
import type { PublishFile } from '../../sdk/upload.ts'
import type { FoundFile } from './scan.ts'

/** A file up to this size is read whole, in bytes. */
const SMALL = 1024 * 1024
/** Large files read at a time. */
const LANES = 4
/** Small files are hashed in one go up to this many bytes, then the program looks up. */
const GULP = 16 * 1024 * 1024

interface DigestOptions {
  signal?: AbortSignal | undefined
  /** Hears of every so many bytes read. */
  onBytes?: (bytes: number) => void
  /** Hears of every file read to its end. */
  onFile?: () => void
}

/** A file with its hash. */
export type HashedFile = PublishFile & { hash: string }

/**
 * Reads and hashes every file. Sizes are those of the bytes that were read. Rejects with the error of the
 * operating system, or with the signal's reason.
 */
export async function digestAll(files: FoundFile[], options: DigestOptions = {}): Promise<HashedFile[]> {
  const hashed = new Map<string, HashedFile>()
  const small = files.filter(({ size }) => size <= SMALL)
  const large = files.filter(({ size }) => size > SMALL)
  await Promise.all([digestSmall(small, hashed, options), digestLarge(large, hashed, options)])
  return files.map(({ path }) => hashed.get(path)!)
}

/** For small files one call to the system after the other is faster than any parallel way. */
async function digestSmall(files: FoundFile[], hashed: Map<string, HashedFile>, options: DigestOptions) {
  let sinceBreath = 0
  for (const file of files) {
    const bytes = readFileSync(file.source)
    const hash = createHash('sha256').update(bytes).digest('hex')
    hashed.set(file.path, publishFile(file, bytes.byteLength, hash))
    options.onFile?.()
    options.onBytes?.(bytes.byteLength)
    sinceBreath += bytes.byteLength
    if (sinceBreath < GULP) continue
    sinceBreath = 0
    await breathe()
    options.signal?.throwIfAborted()
  }
}

async function digestLarge(files: FoundFile[], hashed: Map<string, HashedFile>, options: DigestOptions) {
  const queue = [...files]
  const lane = async () => {
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      hashed.set(file.path, await digestStream(file, options))
      options.onFile?.()
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

async function digestStream(file: FoundFile, { signal, onBytes }: DigestOptions): Promise<HashedFile> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(file.source, { highWaterMark: SMALL })) {
    signal?.throwIfAborted()
    hash.update(chunk)
    size += chunk.length
    onBytes?.(chunk.length)
  }
  return publishFile(file, size, hash.digest('hex'))
}

function publishFile({ path, source }: FoundFile, size: number, hash: string): HashedFile {
  const open = () => (size <= SMALL ? readSmall(path, source) : readLarge(path, source))
  return { path, size, contentType: mediaType(path), hash, open }
}

function readSmall(path: string, source: string): Uint8Array {
  try {
    return readFileSync(source)
  } catch (error) {
    throw gone(path, error)
  }
}

async function* readLarge(path: string, source: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(source, { highWaterMark: SMALL / 4 })
  } catch (error) {
    throw gone(path, error)
  }
}

/** A file that was there a moment ago has changed; any other error is what it is. */
function gone(path: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error
  return new SlipwayError(`${path} went away while it was being published`, {
    code: 'FILE_CHANGED',
    details: { path },
    cause: error,
  })
}
