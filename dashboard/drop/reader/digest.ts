import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Digest, Digested } from './messages.ts'

/** Files up to this many bytes are hashed in one go by the browser, where it does that: only with HTTPS, or on this machine. */
const WHOLE = 4 * 2 ** 20
/** Files read at a time. */
const LANES = 8
/** Files up to this many bytes are kept as they were read, so that none is read twice: that takes longer than to send them. */
const SMALL = 256 * 2 ** 10
/** Bytes of small files that are read as one. */
const TOGETHER = 2 ** 20
/** Bytes that are kept in all. */
const MOST_KEPT = 32 * 2 ** 20
/** Milliseconds between two reports. */
const OFTEN = 60

export class Unreadable extends Error {
  readonly at: number

  constructor(at: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.at = at
  }
}

/** The SHA-256 of each, in hex, and the bytes of small ones. Rejects with Unreadable for the first that cannot be read. */
export async function digestAll(sources: readonly Source[], tell: (done: Digested) => void): Promise<Digest> {
  const hashes: string[] = new Array(sources.length)
  const bytes: (Uint8Array<ArrayBuffer> | undefined)[] = new Array(sources.length)
  const done: Digested = { files: 0, bytes: 0 }
  let [told, kept] = [0, 0]
  const count = (more: number) => {
    done.bytes += more
    if (performance.now() - told < OFTEN) return
    told = performance.now()
    tell({ ...done })
  }
  const groups = groupsOf(sources)
  const lane = async () => {
    for (let group = groups.pop(); group !== undefined; group = groups.pop()) {
      const together =
        group.length > 1 ? await readTogether(group.map((at) => sources[at] as Blob)) : undefined
      for (const [place, at] of group.entries()) {
        const read = together?.[place]
        hashes[at] = await (read ? digestBytes(read, count) : digest(sources[at]!, count)).catch(
          (cause: unknown) => {
            groups.length = 0
            throw new Unreadable(at, cause)
          },
        )
        if (read && kept + read.byteLength <= MOST_KEPT) {
          kept += read.byteLength
          bytes[at] = read
        }
        done.files++
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  tell(done)
  return { hashes, bytes }
}

type Source = Blob | (() => ReadableStream<Uint8Array>)

/** By number: small files several at a time, since each reading takes a browser longer than its bytes do; the first comes last. */
function groupsOf(sources: readonly Source[]): number[][] {
  const groups: number[][] = []
  let [group, size]: [number[], number] = [[], 0]
  for (const [at, source] of sources.entries()) {
    if (!(source instanceof Blob) || source.size > SMALL || !globalThis.crypto?.subtle) {
      groups.push([at])
      continue
    }
    if (group.length === 0 || size + source.size > TOGETHER) {
      group = []
      size = 0
      groups.push(group)
    }
    group.push(at)
    size += source.size
  }
  return groups.reverse()
}

/** The bytes of each, read as one; undefined when one of them cannot be read, or is not as long any more. */
async function readTogether(blobs: readonly Blob[]): Promise<Uint8Array<ArrayBuffer>[] | undefined> {
  const whole = await new Blob(blobs as Blob[]).arrayBuffer().catch(() => undefined)
  if (whole?.byteLength !== blobs.reduce((sum, { size }) => sum + size, 0)) return undefined
  let end = 0
  return blobs.map(({ size }) => {
    end += size
    return new Uint8Array(whole, end - size, size)
  })
}

async function digestBytes(bytes: Uint8Array<ArrayBuffer>, count: (bytes: number) => void): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes)
  count(bytes.byteLength)
  return bytesToHex(new Uint8Array(hash))
}

async function digest(source: Source, count: (bytes: number) => void): Promise<string> {
  if (!(source instanceof Blob)) return digestStream(source(), count)
  if (source.size > WHOLE || !globalThis.crypto?.subtle) return digestStream(source.stream(), count)
  return digestBytes(new Uint8Array(await source.arrayBuffer()), count)
}

async function digestStream(
  stream: ReadableStream<Uint8Array>,
  count: (bytes: number) => void,
): Promise<string> {
  const hash = sha256.create()
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return bytesToHex(hash.digest())
    hash.update(value)
    count(value.byteLength)
  }
}
