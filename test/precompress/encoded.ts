import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Encoding } from '../../server/blobs/encoding.ts'
import { deterministicBytes } from '../blobs/bytes.ts'

/** Decodes bytes as a browser does. */
export const decoded: Record<Encoding, (bytes: Buffer) => Buffer> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
}

/** Compressible text of `size` bytes, different for every name. */
export function compressibleText(name: string, size: number): string {
  const line = `${name} ${deterministicBytes(name, 64).toString('hex')} `
  return line.repeat(Math.ceil(size / line.length)).slice(0, size)
}
