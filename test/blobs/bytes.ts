import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { BlobLocation, Blobs, ByteRange, PutConstraints, StoredBlob } from '../../server/blobs/blobs.ts'
import type { Queries } from '../../server/store/queries.ts'
import type { Store } from '../../server/store/store.ts'
import type { BlobRecord } from '../../server/store/tables/blobs.ts'
import { sha256 } from '../api/content.ts'

/** Returns `size` bytes that depend on `name` only. */
export function deterministicBytes(name: string | number, size: number): Buffer {
  return createHash('shake256', { outputLength: size }).update(String(name)).digest()
}

export function received(bytes: Buffer): Pick<StoredBlob, 'hash' | 'size'> {
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

/** Where a whole object is. */
export function toLocation(blob: StoredBlob): BlobLocation {
  return { ...blob, offset: 0 }
}

/** Stores and commits a blob. */
export async function keep(blobs: Blobs, bytes: Buffer, expected?: PutConstraints): Promise<BlobLocation> {
  const blob = await blobs.put(toBody(bytes), expected ?? { size: bytes.length })
  const missing = await blobs.commit([blob])
  if (missing.length > 0) throw new Error(`${blob.object} is missing`)
  return toLocation(blob)
}

export async function readAll(
  blobs: Blobs,
  location: BlobLocation,
  range?: ByteRange,
): Promise<Buffer | undefined> {
  const body = await blobs.read(location, range)
  return body && buffer(body)
}

/** The bytes of the blob with this hash, according to the store. */
export function readBlob(
  { blobs, store }: { blobs: Blobs; store: Store },
  hash: string,
): Promise<Buffer | undefined> {
  return new BlobReader(blobs, store.read.blobs).bytes(hash)
}

/** The names of all objects, in their order. */
export async function listObjects(blobs: Blobs): Promise<string[]> {
  const listed: string[] = []
  for (;;) {
    const page = await blobs.list(listed.at(-1))
    if (page.length === 0) return listed
    listed.push(...page)
  }
}

function* chunks(bytes: Buffer, chunk: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk)
}

/** The records of the files and the injected documents of these versions, in the order of their hashes. */
export async function recordsOf(
  { versions, blobs }: Pick<Queries, 'versions' | 'blobs'>,
  ids: readonly string[],
): Promise<BlobRecord[]> {
  const found = await Promise.all(ids.map((id) => versions.find(id)))
  const hashes = new Set(
    found.flatMap((one) => [...(one?.files.map(({ hash }) => hash) ?? []), one?.injectedDocumentHash]),
  )
  const records: BlobRecord[] = []
  for (
    let page = await blobs.list('', 1000);
    page.length > 0;
    page = await blobs.list(page.at(-1)!.hash, 1000)
  )
    records.push(...page.filter(({ hash }) => hashes.has(hash)))
  return records
}
