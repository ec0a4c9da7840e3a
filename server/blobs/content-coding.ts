import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createBrotliDecompress, createGunzip } from 'node:zlib'

/** Content codings that published bytes can have (RFC 9110, 8.4.1.3; RFC 7932). */
export const CONTENT_CODINGS = ['gzip', 'br'] as const

export type ContentCoding = (typeof CONTENT_CODINGS)[number]

/** How the published bytes of a file are encoded, and the size of what they decode to, in bytes. */
export interface CodedContent {
  coding: ContentCoding
  decodedSize: number
}

const CHUNK_BYTES = 64 * 1024

/** The largest window of Brotli (RFC 7932, 9.1), and what a decoder takes in memory beside it. */
const MAX_BROTLI_WINDOW_BYTES = 2 ** 24
const DECODER_BYTES = 4 * CHUNK_BYTES

/** Decodes a stream. Fails with an error of zlib when the bytes are not of this coding. */
export function createDecoder(coding: ContentCoding): Transform {
  const { BROTLI_DECODER_PARAM_LARGE_WINDOW: LARGE_WINDOW } = constants
  return coding === 'gzip'
    ? createGunzip({ chunkSize: CHUNK_BYTES })
    : createBrotliDecompress({ chunkSize: CHUNK_BYTES, params: { [LARGE_WINDOW]: 0 } })
}

export function decoderBytes({ coding, decodedSize }: CodedContent): number {
  return coding === 'gzip'
    ? DECODER_BYTES
    : DECODER_BYTES + Math.min(MAX_BROTLI_WINDOW_BYTES, 2 * decodedSize)
}

export interface DecodedBody {
  /** Decoded bytes, up to the first chunk beyond the limit or a failure. */
  size: number
  problem?: 'other' | 'too-large'
}

/** Decodes a body to its end, or to `maxBytes`. `other`: its bytes have another coding. Rejects if it is unreadable. */
export async function measureDecoded(
  body: Readable,
  coding: ContentCoding,
  maxBytes: number,
): Promise<DecodedBody> {
  let size = 0
  let failure: unknown
  const read = async function* () {
    try {
      yield* body
    } catch (error) {
      failure = error
      throw error
    }
  }
  try {
    await pipeline(read, createDecoder(coding), async (decoded: AsyncIterable<Buffer>) => {
      for await (const { length } of decoded) {
        size += length
        if (size > maxBytes) return
      }
    })
  } catch (error) {
    if (failure !== undefined) throw error
    if (size <= maxBytes) return { size, problem: 'other' }
  } finally {
    body.destroy()
  }
  return size > maxBytes ? { size, problem: 'too-large' } : { size }
}
