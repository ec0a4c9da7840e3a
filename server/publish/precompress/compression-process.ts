import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { ENCODINGS, type Encoding, isWorthKeeping } from '../../blobs/encoding.ts'

// A separate program, run by precompressor.ts. It answers the bytes of a file with its encodings that are worth keeping.

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

process.on('message', (bytes: Buffer) => {
  const isTried = isReducible(bytes)
  const encodings = ENCODINGS.map(
    (encoding) => [encoding, isTried ? encode[encoding](bytes) : bytes] as const,
  )
  process.send!(new Map(encodings.filter(([, encoded]) => isWorthKeeping(bytes.length, encoded.length))))
})

function isReducible(bytes: Buffer): boolean {
  if (bytes.length <= PROBED_BYTES) return true
  return isWorthKeeping(bytes.length, gzipSync(bytes, { chunkSize, level: constants.Z_BEST_SPEED }).length)
}
