import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

export function split(bytes: Buffer, next: () => number): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const chunk = bytes.subarray(at, at + next())
    chunks.push(chunk)
    at += chunk.length
  }
  return chunks
}

export function toStream(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Readable {
  return Readable.from(chunks, { objectMode: false })
}

/** A body that counts the bytes that are read from it. */
export function counted(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): {
  body: Readable
  taken: () => number
} {
  let bytes = 0
  async function* counting() {
    for await (const chunk of chunks) {
      bytes += chunk.length
      yield chunk
    }
  }
  return { body: toStream(counting()), taken: () => bytes }
}

export function* endless(
  first: Buffer,
  repeated: Buffer,
  times = Number.POSITIVE_INFINITY,
): Generator<Buffer> {
  if (first.length > 0) yield first
  for (let round = 0; round < times; round++) yield repeated
}

export async function* gzipped(first: Buffer, repeated: Buffer, times: number): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level: 1 })
  const source = Readable.from(endless(first, repeated, times))
  try {
    yield* source.pipe(gzip)
  } finally {
    source.destroy()
    gzip.destroy()
  }
}
