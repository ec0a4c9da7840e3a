import { readSync, writeSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { ENCODINGS, type Encoding, isWorthKeeping } from '../../blobs/encoding.ts'

// A separate program, run by compression-worker.ts. For each file it reads a length (four bytes, little-endian) and
// that many bytes, and answers each encoding in the same form; a length of 0 means not worth keeping. It exits at
// the end of its input, hence with the service.

/** The highest level with a window of 8 MiB; browsers need not accept a larger one (RFC 9659, 3). */
const ZSTD_LEVEL = 19

/** Larger files that the lowest level does not reduce are not tried at the highest, which takes seconds. */
const PROBED_BYTES = 64 * 1024

/** Output chunk size: larger than Node's 16 KiB to save turns. */
const chunkSize = 64 * 1024

const encode: Record<Encoding, (bytes: Buffer) => Buffer> = {
  br: (bytes) =>
    brotliCompressSync(bytes, {
      chunkSize,
      params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
    }),
  zstd: (bytes) =>
    zstdCompressSync(bytes, {
      chunkSize,
      pledgedSrcSize: bytes.length,
      params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
    }),
  gzip: (bytes) => gzipSync(bytes, { chunkSize, level: constants.Z_BEST_COMPRESSION }),
}

for (let bytes = next(); bytes; bytes = next()) {
  const isTried = isReducible(bytes)
  for (const encoding of ENCODINGS) {
    const encoded = isTried ? encode[encoding](bytes) : bytes
    answer(isWorthKeeping(bytes.length, encoded.length) ? encoded : Buffer.alloc(0))
  }
}

function isReducible(bytes: Buffer): boolean {
  if (bytes.length <= PROBED_BYTES) return true
  return isWorthKeeping(bytes.length, gzipSync(bytes, { chunkSize, level: constants.Z_BEST_SPEED }).length)
}

/** Undefined at the end of the input. */
function next(): Buffer | undefined {
  const length = read(4)
  return length && read(length.readUInt32LE())
}

function read(size: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; ) {
    const count = readSync(0, bytes, at, size - at, null)
    if (count === 0) return undefined
    at += count
  }
  return bytes
}

function answer(bytes: Buffer): void {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  write(length)
  write(bytes)
}

function write(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}
