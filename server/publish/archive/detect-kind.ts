import { Readable } from 'node:stream'
import type { ArchiveKind } from './archive.ts'
import { BodyReader } from './body-reader.ts'

/** Up to the signature of a tar header (POSIX.1-2001, "ustar Interchange Format"). */
const HEAD_BYTES = 512
const TAR_SIGNATURE_OFFSET = 257

const BY_EXTENSION: [RegExp, ArchiveKind][] = [
  // Self-extractors begin with their program.
  [/\.(zip|exe)$/i, 'zip'],
  [/\.(tgz|tar\.gz)$/i, 'tar.gz'],
  [/\.tar$/i, 'tar'],
  [/\.html?$/i, 'html'],
]

const OTHER_FORMATS: [signature: string, remedy: string][] = [
  ['7z\xbc\xaf\x27\x1c', 'It is a 7z archive. With 7-Zip, create a zip: 7z a -tzip site.zip'],
  ['Rar!', 'It is a RAR archive. With WinRAR, choose the format ZIP.'],
  ['\xfd7zXZ', 'It is compressed with xz. With tar, use gzip: tar -czf site.tar.gz'],
  ['BZh', 'It is compressed with bzip2. With tar, use gzip: tar -czf site.tar.gz'],
  ['\x28\xb5\x2f\xfd', 'It is compressed with zstd. With tar, use gzip: tar -czf site.tar.gz'],
  ['07070', 'It is a cpio archive. With cpio, use the format ustar: cpio -o -H ustar'],
]

interface DetectedBody extends Disposable {
  kind: ArchiveKind | undefined
  /** How to make an archive in place of one of a known format. */
  remedy: string | undefined
  /** All bytes of the body, once. */
  body: Readable
}

/** By its first bytes, else its name. Does not destroy the body, so that the caller can respond; disposing does. */
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
  const start = Buffer.concat(head)
  return {
    remedy: OTHER_FORMATS.find(([signature]) => start.toString('latin1').startsWith(signature))?.[1],
    kind: kindOfBytes(start) ?? BY_EXTENSION.find(([pattern]) => pattern.test(name))?.[1],
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
