import { BLOCK_BYTES } from '../../../protocol/tar.ts'
import { RefusedError } from '../cli-error.ts'

/** Maximum size of an extended header. */
const MAX_PAX_BYTES = 64 * 1024
/** Maximum number of digits of the length of a record in it. */
const MAX_LENGTH_DIGITS = 6

/** A file in a tar. Its content must be read before the next entry. */
export interface TarEntry {
  path: string
  /** In bytes. */
  size: number
  content: AsyncIterable<Uint8Array>
}

/**
 * The regular files of a tar (POSIX.1-2001, ustar and pax), as they arrive. At most one block and one chunk are buffered.
 * Rejects with a RefusedError for a tar that is truncated or invalid.
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = new ByteReader(chunks)
  try {
    yield* readEntries(reader)
  } finally {
    await reader.close()
  }
}

async function* readEntries(reader: ByteReader): AsyncGenerator<TarEntry> {
  let pax: Map<string, string> = new Map()
  for (;;) {
    const header = await reader.read(BLOCK_BYTES)
    if (!header || header.every((byte) => byte === 0)) return
    const { path, size: declared, type } = parseHeader(header)
    const size = Number(pax.get('size') ?? declared)
    if (!Number.isSafeInteger(size) || size < 0) throw invalidTar()
    if (type === 'x') {
      if (size > MAX_PAX_BYTES) throw invalidTar()
      pax = parsePax((await reader.read(size)) ?? Buffer.alloc(0))
    } else {
      const content = reader.stream(size)
      if (type === '0' || type === '\0') yield { path: pax.get('path') ?? path, size, content }
      for await (const _ of content);
      pax = new Map()
    }
    await reader.read((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
  }
}

function parseHeader(header: Buffer): { path: string; size: number; type: string } {
  const text = (start: number, length: number) =>
    header.toString('utf8', start, start + length).split('\0', 1)[0]!
  const [name, prefix] = [text(0, 100), text(345, 155)]
  // From 8 GiB on binary, with the first bit set, as GNU tar writes it.
  const size =
    header[124]! & 0x80 ? header.readUIntBE(130, 6) : Number.parseInt(text(124, 12).trim() || '0', 8)
  return { path: prefix ? `${prefix}/${name}` : name, size, type: header.toString('latin1', 156, 157) }
}

/** Records of the form "<length> <key>=<value>\n", where the length is that of the whole record. */
function parsePax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at)
    const length = Number(bytes.toString('latin1', at, space))
    const equals = bytes.indexOf('=', space)
    const isLength = Number.isSafeInteger(length) && length > 0 && space - at <= MAX_LENGTH_DIGITS
    if (!isLength || space < 0 || equals < 0) throw invalidTar()
    records.set(
      bytes.toString('utf8', space + 1, equals),
      bytes.toString('utf8', equals + 1, at + length - 1),
    )
    at += length
  }
  return records
}

class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #buffered: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** This many bytes, or undefined at the end. */
  async read(length: number): Promise<Buffer | undefined> {
    while (this.#buffered.length < length) {
      const { done, value } = await this.#chunks.next()
      if (done && this.#buffered.length === 0) return undefined
      if (done) throw invalidTar()
      this.#buffered = Buffer.concat([this.#buffered, value])
    }
    const bytes = this.#buffered.subarray(0, length)
    this.#buffered = this.#buffered.subarray(length)
    return bytes
  }

  /** The next bytes as they arrive. */
  async *stream(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      const chunk = this.#buffered.length > 0 ? this.#buffered : await this.read(1)
      if (!chunk) throw invalidTar()
      const bytes = chunk.subarray(0, left)
      if (chunk === this.#buffered) this.#buffered = chunk.subarray(bytes.length)
      left -= bytes.length
      yield bytes
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}

export function invalidTar(): RefusedError {
  return new RefusedError("The server's archive is incomplete or invalid", 'Run the same command again.')
}
