import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Blobs, PutConstraints, ReadOptions, StoredBlob } from '../../server/blobs/blobs.ts'
import { sha256 } from '../api/content.ts'

/** Returns `size` bytes that depend on `name` only. */
export function deterministicBytes(name: string | number, size: number): Buffer {
  return createHash('shake256', { outputLength: size }).update(String(name)).digest()
}

export function received(bytes: Buffer): StoredBlob {
  return { hash: sha256(bytes), size: bytes.length }
}

/** A body in chunks of at most `chunk` bytes, as a socket delivers it. */
export function toBody(bytes: Buffer, chunk = 65_536): Readable {
  return Readable.from(chunks(bytes, chunk), { objectMode: false })
}

/** A body whose connection breaks after `after` bytes. */
export function cutOff(bytes: Buffer, after: number, chunk = 65_536): Readable {
  return Readable.from(
    (function* () {
      yield* chunks(bytes.subarray(0, after), chunk)
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    })(),
    { objectMode: false },
  )
}

/** Stores and commits a blob; returns its hash. */
export async function keep(
  blobs: Blobs,
  bytes: Buffer,
  area = 'an-area',
  expected?: PutConstraints,
): Promise<string> {
  const blob = await blobs.put(area, toBody(bytes), expected ?? { size: bytes.length })
  const missing = await blobs.commit(area, [blob])
  if (missing.length > 0) throw new Error(`${blob.hash} is missing`)
  return blob.hash
}

export async function readAll(blobs: Blobs, hash: string, wanted?: ReadOptions): Promise<Buffer | undefined> {
  const body = await blobs.read(hash, wanted)
  return body && buffer(body)
}

function* chunks(bytes: Buffer, chunk: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}
