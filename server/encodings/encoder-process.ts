import { readSync, writeSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { ENCODINGS, type Encoding, isSmaller } from './encoding.ts'

// A program of its own, which encoder.ts runs. For each file it reads a length (four bytes, little-endian) and
// so many bytes, and answers for each encoding in the same form; a length of 0 stands for one that is not worth
// keeping. It ends with its input, hence with the service, however that ends.

/** The highest level with a window of 8 MiB; browsers need not take a larger one (RFC 9659, 3). */
const ZSTD_LEVEL = 19

/** What the encoded bytes are gathered in: larger pieces than Node's 16 KiB save turns. */
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
  for (const encoding of ENCODINGS) {
    const encoded = encode[encoding](bytes)
    answer(isSmaller(bytes.length, encoded.length) ? encoded : Buffer.alloc(0))
  }
}

/** The next file's bytes; undefined at the end of the input. */
function next(): Buffer | undefined {
  const length = read(4)
  return length && read(length.readUInt32LE())
}

function read(size: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; ) {
    const came = readSync(0, bytes, at, size - at, null)
    if (came === 0) return undefined
    at += came
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
