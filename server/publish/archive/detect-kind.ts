import { Readable } from 'node:stream'
import type { ArchiveKind } from './archive.ts'
import { BodyReader } from './body-reader.ts'

/** Up to the signature of a tar header (POSIX.1-2001, "ustar Interchange Format"). */
const HEAD_BYTES = 512
const TAR_SIGNATURE_OFFSET = 257

const BY_EXTENSION: [RegExp, ArchiveKind][] = [
  [/\.zip$/i, 'zip'],
  [/\.(tgz|tar\.gz)$/i, 'tar.gz'],
  [/\.tar$/i, 'tar'],
  [/\.html?$/i, 'html'],
]

/** A body whose format was detected. */
interface DetectedBody extends Disposable {
  /** Undefined for an unknown format. */
  kind: ArchiveKind | undefined
  /** All bytes of the body, once. */
  body: Readable
}

/**
 * Detects the format of a body by its first bytes, otherwise by its file name. The body is never destroyed, so that the
 * caller can still respond; disposing releases it.
 */
export async function detectKind(body: Readable, name: string): Promise<DetectedBody> {
  const reader = new BodyReader(body, { wireBytes: Number.POSITIVE_INFINITY })
  const chunks = reader.chunks()
  const head: Buffer[] = []
  let length = 0
  while (length < HEAD_BYTES) {
    const { done, value } = await chunks.next()
    if (done) break
    length += value.length
    head.push(value)
  }
  async function* whole(): AsyncGenerator<Buffer, void, undefined> {
    yield* head
    yield* chunks
  }
  return {
    kind: kindOfBytes(Buffer.concat(head)) ?? BY_EXTENSION.find(([pattern]) => pattern.test(name))?.[1],
    body: Readable.from(whole(), { objectMode: false }),
    [Symbol.dispose]: () => reader.stop(new Error('The body is no longer read')),
  }
}

function kindOfBytes(head: Buffer): ArchiveKind | undefined {
  const signature = head.toString('latin1', 0, 4)
  if (signature === 'PK\x03\x04' || signature === 'PK\x05\x06') return 'zip'
  if (signature.startsWith('\x1f\x8b')) return 'tar.gz'
  if (head.toString('latin1', TAR_SIGNATURE_OFFSET, TAR_SIGNATURE_OFFSET + 5) === 'ustar') return 'tar'
  return head.toString('utf8').trimStart().startsWith('<') ? 'html' : undefined
}
