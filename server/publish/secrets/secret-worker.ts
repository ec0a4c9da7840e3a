import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { scan } from './secret-rules.ts'
import type { FileContents } from './secret-scan.ts'

// A thread of its own, run by secret-scan.ts, so that no file delays requests. Only digests of secrets leave it.

/** Different ones of a batch, of which the event loop signs each; more than a site can accept. */
const MAX_SECRETS = 1000

/** For one file after the other: pages of new memory cost more than a scan. Larger files get memory of their own. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024)

let opened: { path: string; file: number } | undefined

parentPort!.on('message', (batch: readonly FileContents[]) => {
  const different = new Set<string>()
  const isReported = ({ digest }: { digest: string }) => {
    if (different.size < MAX_SECRETS) different.add(digest)
    return different.has(digest)
  }
  const results = batch.map((contents) => scan(() => decode(contents), contents)?.filter(isReported) ?? null)
  closeObject()
  parentPort!.postMessage(results)
})

function decode({ bytes, coded }: FileContents): Buffer {
  const read = readBytes(bytes)
  if (!coded) return read
  const decodeSync = coded.coding === 'gzip' ? gunzipSync : brotliDecompressSync
  return decodeSync(read, { maxOutputLength: coded.decodedSize })
}

function readBytes(source: FileContents['bytes']): Buffer {
  if (source instanceof Uint8Array) return Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  const { path, offset, size } = source
  const bytes = size <= scratch.length ? scratch.subarray(0, size) : Buffer.allocUnsafe(size)
  for (let at = 0; at < size; ) {
    const count = readSync(openObject(path), bytes, at, size - at, offset + at)
    if (count === 0) throw new Error('The file is shorter than its content')
    at += count
  }
  return bytes
}

/** Many small files are parts of one object. */
function openObject(path: string): number {
  if (opened?.path === path) return opened.file
  closeObject()
  opened = { path, file: openSync(path, 'r') }
  return opened.file
}

function closeObject(): void {
  if (opened) closeSync(opened.file)
  opened = undefined
}
