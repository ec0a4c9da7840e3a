import { type FileEntry, ZipReader } from '@zip.js/zip.js/lib/zip-core-reader.js'
import { figure } from '../../../client/words.ts'
import type { ZipListing } from './messages.ts'

/** Entries that are looked at; a site has far fewer. */
const MOST_ENTRIES = 20_000
/** Bytes that are read at once: more than any honest directory of so many entries takes. */
const MOST_AT_ONCE = 16 * 2 ** 20

const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000
const STORED = 0
const DEFLATED = 8

/** A zip that is read where it lies: its directory at once, each file when it is asked for. */
export class Zip {
  readonly listing: ZipListing[]
  readonly #entries: FileEntry[]

  private constructor(entries: FileEntry[]) {
    this.#entries = entries
    this.listing = entries.map(listed)
  }

  /** Rejects for what is no zip, broken, or beyond every limit. */
  static async open(file: Blob): Promise<Zip> {
    const reader = new ZipReader(boundedReader(file), { filenameValidation: 'tolerant' })
    const entries: FileEntry[] = []
    let seen = 0
    for await (const entry of reader.getEntriesGenerator()) {
      if (++seen > MOST_ENTRIES) throw new Error(`it has more than ${figure(MOST_ENTRIES)} entries`)
      if (!entry.directory) entries.push(entry)
    }
    return new Zip(entries)
  }

  /** The bytes of an entry. Breaks where there are more than the directory says, or others than its checksum. */
  stream(at: number): ReadableStream<Uint8Array> {
    const entry = this.#entries[at]!
    const { readable, writable } = limited(entry.uncompressedSize)
    const options = { useWebWorkers: false, useCompressionStream: true, checkSignature: true }
    entry.getData(writable, options).catch((error: unknown) => writable.abort(error).catch(() => {}))
    return readable
  }

  /** The same as a whole, which the browser keeps where it likes. */
  blob(at: number): Promise<Blob> {
    return new Response(this.stream(at)).blob()
  }
}

function boundedReader(file: Blob) {
  return {
    size: file.size,
    async readUint8Array(offset: number, length: number): Promise<Uint8Array> {
      if (length > MOST_AT_ONCE) throw new Error('its directory is too large')
      return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer())
    },
    createReadable: ({ offset, size }: { offset: number; size: number }) =>
      file.slice(offset, offset + size).stream(),
  } as unknown as ConstructorParameters<typeof ZipReader>[0]
}

function limited(most: number): TransformStream<Uint8Array, Uint8Array> {
  let left = most
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) throw new Error('there is more in it than the zip says')
      controller.enqueue(chunk)
    },
    flush() {
      if (left > 0) throw new Error('there is less in it than the zip says')
    },
  })
}

function listed(entry: FileEntry): ZipListing {
  const problem = unfit(entry)
  return { path: nameOf(entry), size: entry.uncompressedSize, ...(problem && { problem }) }
}

/** UTF-8 when it can be, whatever the flag says, because many archivers forget it. */
function nameOf({ rawFilename, filename }: FileEntry): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(rawFilename)
  } catch {
    return filename
  }
}

function unfit(entry: FileEntry): string | undefined {
  if (entry.encrypted) return 'is encrypted'
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE) === SYMBOLIC_LINK) return 'is a symbolic link'
  if (![STORED, DEFLATED].includes(entry.compressionMethod))
    return 'is compressed in a way that few programs read'
  return undefined
}
