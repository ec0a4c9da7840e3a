import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { mediaType, SNIFFED_BYTES } from '../../../protocol/manifest/media-type.ts'
import type { Digest, DigestProgress } from './messages.ts'

/** Files up to this many bytes are hashed by the browser in one call, in secure contexts. */
const MAX_WHOLE_FILE_BYTES = 4 * 2 ** 20
/** Concurrent files. */
const MAX_CONCURRENT_READS = 8
/**
 * Files up to this many bytes are kept in memory, because reading a file again takes longer than sending it.
 */
const MAX_KEPT_FILE_BYTES = 256 * 2 ** 10
/** Bytes of small files that are read together. */
const MAX_GROUP_BYTES = 2 ** 20
/** Maximum bytes kept in memory. */
const MAX_KEPT_BYTES = 32 * 2 ** 20
/** Milliseconds between two progress reports. */
const REPORT_INTERVAL_MS = 60

export class UnreadableSourceError extends Error {
  readonly at: number

  constructor(at: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.at = at
  }
}

/** A file to be read. */
interface ReadableFile {
  path: string
  source: Source
}

/**
 * The SHA-256 in hex and the content type of each, and the bytes of small ones. Rejects with an
 * UnreadableSourceError for the first that cannot be read.
 */
export async function digestAll(
  files: readonly ReadableFile[],
  onProgress: (done: DigestProgress) => void,
): Promise<Digest> {
  const sources = files.map(({ source }) => source)
  const hashes: string[] = new Array(sources.length)
  const types: string[] = new Array(sources.length)
  const bytes: (Uint8Array<ArrayBuffer> | undefined)[] = new Array(sources.length)
  const done: DigestProgress = { files: 0, bytes: 0 }
  let [reported, kept] = [0, 0]
  const count = (more: number) => {
    done.bytes += more
    if (performance.now() - reported < REPORT_INTERVAL_MS) return
    reported = performance.now()
    onProgress({ ...done })
  }
  const groups = groupSources(sources)
  const worker = async () => {
    for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
      const together =
        group.length > 1 ? await readTogether(group.map((at) => sources[at] as Blob)) : undefined
      for (const [position, at] of group.entries()) {
        const read = together?.[position]
        const reading = read ? digestBytes(read, count) : digest(sources[at]!, count)
        const { hash, start } = await reading.catch((cause: unknown) => {
          groups.length = 0
          throw new UnreadableSourceError(at, cause)
        })
        hashes[at] = hash
        types[at] = mediaType(files[at]!.path, start)
        if (read && kept + read.byteLength <= MAX_KEPT_BYTES) {
          kept += read.byteLength
          bytes[at] = read
        }
        done.files++
      }
    }
  }
  await Promise.all(Array.from({ length: MAX_CONCURRENT_READS }, worker))
  onProgress(done)
  return { hashes, types, bytes }
}

type Source = Blob | (() => ReadableStream<Uint8Array>)

/**
 * Groups of indices: small files are read together, since each read costs more than its bytes; the first
 * group comes last.
 */
function groupSources(sources: readonly Source[]): number[][] {
  const groups: number[][] = []
  let [group, size]: [number[], number] = [[], 0]
  for (const [at, source] of sources.entries()) {
    if (!(source instanceof Blob) || source.size > MAX_KEPT_FILE_BYTES || !globalThis.crypto?.subtle) {
      groups.push([at])
      continue
    }
    if (group.length === 0 || size + source.size > MAX_GROUP_BYTES) {
      group = []
      size = 0
      groups.push(group)
    }
    group.push(at)
    size += source.size
  }
  return groups.reverse()
}

/** The bytes of each, read together; undefined when one cannot be read or has changed its size. */
async function readTogether(blobs: readonly Blob[]): Promise<Uint8Array<ArrayBuffer>[] | undefined> {
  const whole = await new Blob(blobs as Blob[]).arrayBuffer().catch(() => undefined)
  if (whole?.byteLength !== blobs.reduce((sum, { size }) => sum + size, 0)) return undefined
  let end = 0
  return blobs.map(({ size }) => {
    end += size
    return new Uint8Array(whole, end - size, size)
  })
}

/** What was read of a file. */
interface ReadContent {
  hash: string
  /** The first bytes. */
  start: Uint8Array
}

async function digestBytes(
  bytes: Uint8Array<ArrayBuffer>,
  count: (bytes: number) => void,
): Promise<ReadContent> {
  const hash = await crypto.subtle.digest('SHA-256', bytes)
  count(bytes.byteLength)
  return { hash: bytesToHex(new Uint8Array(hash)), start: bytes }
}

async function digest(source: Source, count: (bytes: number) => void): Promise<ReadContent> {
  if (!(source instanceof Blob)) return digestStream(source(), count)
  if (source.size > MAX_WHOLE_FILE_BYTES || !globalThis.crypto?.subtle)
    return digestStream(source.stream(), count)
  return digestBytes(new Uint8Array(await source.arrayBuffer()), count)
}

async function digestStream(
  stream: ReadableStream<Uint8Array>,
  count: (bytes: number) => void,
): Promise<ReadContent> {
  const hash = sha256.create()
  const reader = stream.getReader()
  const start: number[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { hash: bytesToHex(hash.digest()), start: Uint8Array.from(start) }
    if (start.length < SNIFFED_BYTES) start.push(...value.subarray(0, SNIFFED_BYTES - start.length))
    hash.update(value)
    count(value.byteLength)
  }
}
