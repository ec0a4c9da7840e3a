import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Digested } from './messages.ts'

/** Files up to this many bytes are hashed in one go by the browser, where it does that: only with HTTPS, or on this machine. */
const WHOLE = 4 * 2 ** 20
/** Files read at a time. */
const LANES = 8
/** Milliseconds between two reports. */
const OFTEN = 60

export class Unreadable extends Error {
  readonly at: number

  constructor(at: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.at = at
  }
}

/** The SHA-256 of each, in hex. Rejects with Unreadable for the first that cannot be read. */
export async function digestAll(
  blobs: readonly (Blob | (() => ReadableStream<Uint8Array>))[],
  tell: (done: Digested) => void,
): Promise<string[]> {
  const hashes: string[] = new Array(blobs.length)
  const done: Digested = { files: 0, bytes: 0 }
  let told = 0
  const count = (bytes: number) => {
    done.bytes += bytes
    if (performance.now() - told < OFTEN) return
    told = performance.now()
    tell({ ...done })
  }
  let next = 0
  const lane = async () => {
    while (next < blobs.length) {
      const at = next++
      hashes[at] = await digest(blobs[at]!, count).catch((cause: unknown) => {
        next = blobs.length
        throw new Unreadable(at, cause)
      })
      done.files++
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  tell(done)
  return hashes
}

async function digest(
  source: Blob | (() => ReadableStream<Uint8Array>),
  count: (bytes: number) => void,
): Promise<string> {
  if (!(source instanceof Blob)) return digestStream(source(), count)
  if (source.size > WHOLE || !globalThis.crypto?.subtle) return digestStream(source.stream(), count)
  const bytes = await source.arrayBuffer()
  const hash = await crypto.subtle.digest('SHA-256', bytes)
  count(bytes.byteLength)
  return bytesToHex(new Uint8Array(hash))
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
