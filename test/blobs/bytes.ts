import { createHash, hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Blobs, PutConstraints, ReadOptions, StoredBlob } from '../../server/blobs/blobs.ts'

/** Bytes that differ for every name, as many as asked for; the same for the same name. */
export function deterministicBytes(name: string | number, size: number): Buffer {
  return createHash('shake256', { outputLength: size }).update(String(name)).digest()
}

export function received(bytes: Buffer): StoredBlob {
  return { hash: hash('sha256', bytes), size: bytes.length }
}

/** A body as a socket delivers it: in pieces of any size. */
export function toBody(bytes: Buffer, piece = 65_536): Readable {
  return Readable.from(pieces(bytes, piece), { objectMode: false })
}

/** A body whose connection breaks after so many bytes. */
export function cutOff(bytes: Buffer, after: number, piece = 65_536): Readable {
  return Readable.from(
    (function* () {
      yield* pieces(bytes.subarray(0, after), piece)
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    })(),
    { objectMode: false },
  )
}

/** Receives and settles; answers the hash. */
export async function keep(
  blobs: Blobs,
  bytes: Buffer,
  batch = 'a-batch',
  expected?: PutConstraints,
): Promise<string> {
  const came = await blobs.put(batch, toBody(bytes), expected ?? { size: bytes.length })
  const missing = await blobs.commit(batch, [came])
  if (missing.length > 0) throw new Error(`${came.hash} is missing`)
  return came.hash
}

export async function readAll(blobs: Blobs, hash: string, wanted?: ReadOptions): Promise<Buffer | undefined> {
  const body = await blobs.read(hash, wanted)
  return body && buffer(body)
}

function* pieces(bytes: Buffer, piece: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
}
