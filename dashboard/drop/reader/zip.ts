import { type FileEntry, ZipReader } from '@zip.js/zip.js/lib/zip-core-reader.js'
import { formatNumber } from '../../../protocol/format.ts'
import { withSlashes } from '../../../protocol/manifest/paths.ts'
import type { ZipListing } from './messages.ts'

/** Maximum number of entries; a site has far fewer. */
const MAX_ENTRIES = 20_000
/** Maximum bytes of one read: more than the directory of the maximum number of entries takes. */
const MAX_READ_BYTES = 16 * 2 ** 20

const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000
const STORED = 0
const DEFLATED = 8

/** Random access to a zip: its directory in one read, each file on demand. */
export class ZipArchive {
  readonly listing: ZipListing[]
  readonly #entries: FileEntry[]

  private constructor(entries: FileEntry[]) {
    const names = withSlashes(entries.map(decodeName))
    const isFile = (_: unknown, at: number) => !names[at]!.endsWith('/')
    this.#entries = entries.filter(isFile)
    this.listing = entries.map((entry, at) => toListing(entry, names[at]!)).filter(isFile)
  }

  /** Rejects files that are no zip, damaged, or beyond the limits. */
  static async open(file: Blob): Promise<ZipArchive> {
    const reader = new ZipReader(boundedReader(file), { filenameValidation: 'tolerant' })
    const entries: FileEntry[] = []
    let count = 0
    for await (const entry of reader.getEntriesGenerator()) {
      if (++count > MAX_ENTRIES) throw new Error(`it has more than ${formatNumber(MAX_ENTRIES)} entries`)
      if (!entry.directory) entries.push(entry)
    }
    return new ZipArchive(entries)
  }

  /** The bytes of an entry. Fails when they exceed the declared size or do not match the checksum. */
  stream(at: number): ReadableStream<Uint8Array> {
    const entry = this.#entries[at]!
    const { readable, writable } = limitBytes(entry.uncompressedSize)
    const options = { useWebWorkers: false, useCompressionStream: true, checkSignature: true }
    entry.getData(writable, options).catch((error: unknown) => writable.abort(error).catch(() => {}))
    return readable
  }

  /** The same as a Blob, which the browser may store on its disk. */
  blob(at: number): Promise<Blob> {
    return new Response(this.stream(at)).blob()
  }
}

function boundedReader(file: Blob) {
  return {
    size: file.size,
    async readUint8Array(offset: number, length: number): Promise<Uint8Array> {
      if (length > MAX_READ_BYTES) throw new Error('its directory is too large')
      return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer())
    },
    createReadable: ({ offset, size }: { offset: number; size: number }) =>
      file.slice(offset, offset + size).stream(),
  } as unknown as ConstructorParameters<typeof ZipReader>[0]
}

function limitBytes(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes
  return new TransformStream({
    transform(chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) throw new Error('an entry is longer than declared')
      controller.enqueue(chunk)
    },
    flush() {
      if (left > 0) throw new Error('an entry is shorter than declared')
    },
  })
}

function toListing(entry: FileEntry, path: string): ZipListing {
  const problem = unsupportedReason(entry)
  return { path, size: entry.uncompressedSize, ...(problem && { problem }) }
}

/** UTF-8 if valid, whatever the flag, because many archivers omit it. */
function decodeName({ rawFilename, filename }: FileEntry): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(rawFilename)
  } catch {
    return filename
  }
}

function unsupportedReason(entry: FileEntry): string | undefined {
  if (entry.encrypted) return 'is encrypted'
  if (((entry.externalFileAttributes >>> 16) & FILE_TYPE) === SYMBOLIC_LINK) return 'is a symbolic link'
  if (![STORED, DEFLATED].includes(entry.compressionMethod)) return 'uses an unsupported compression method'
  return undefined
}
