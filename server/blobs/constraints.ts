import { formatLimit } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'
import type { PutConstraints, StoredBlob } from './blobs.ts'

export type ReceivedBytes = Pick<StoredBlob, 'hash' | 'size'>

/** Throws when a body exceeds its declared or maximum length, or when the upload was stopped. */
export function assertLength(size: number, { size: declared, limit, signal }: PutConstraints): void {
  if (signal?.aborted) throw signal.reason
  if (declared !== undefined && size > declared) throw wrongSize(declared, 'more')
  if (limit !== undefined && size > limit) {
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `The file is too large. The limit is ${formatLimit(limit)} per file.`,
    )
  }
}

/** Throws when a complete body differs from its declared size or hash, or when the upload was stopped. */
export function assertExpected(received: ReceivedBytes, { size, hash, signal }: PutConstraints): void {
  if (signal?.aborted) throw signal.reason
  if (size !== undefined && received.size !== size) throw wrongSize(size, `${received.size}`)
  if (hash !== undefined && received.hash !== hash) {
    throw new ApiError(
      'HASH_MISMATCH',
      `The manifest declares SHA-256 ${hash}, but the upload has ${received.hash}`,
    )
  }
}

function wrongSize(declared: number, received: string): ApiError {
  return new ApiError(
    'SIZE_MISMATCH',
    `The manifest declares ${declared} bytes, but the upload has ${received}`,
  )
}
