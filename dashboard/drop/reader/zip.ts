import { type Entry, type FileEntry, ZipReader } from '@zip.js/zip.js/lib/zip-core-reader.js'
import { decodeZipNames } from '../../../protocol/folder/zip-names.ts'
import { describeUnreadable } from '../../../protocol/folder/zip-problems.ts'
import { formatNumber } from '../../../protocol/format.ts'
import { MAX_PATH_LENGTH } from '../../../protocol/manifest/paths.ts'
import type { ZipListing, ZipListingEntry } from './messages.ts'

/** Maximum number of entries; a site has far fewer. */
const MAX_ENTRIES = 20_000
/** Maximum bytes of one read: more than the directory of the maximum number of entries takes. */
const MAX_READ_BYTES = 16 * 2 ** 20

const FILE_TYPE = 0o170000
const SYMBOLIC_LINK = 0o120000
const REGULAR_FILE_TYPES = new Set([0, 0o100000, 0o040000])

/** Random access to a zip: its directory in one read, each file on demand. */
export class ZipArchive {
  readonly listing: ZipListing
  /** Those of the listing, in its order. */
  readonly #entries: Entry[]

  private constructor(entries: Entry[], { names, notes }: Awaited<ReturnType<typeof decodeZipNames>>) {
    this.#entries = entries
    this.listing = { entries: entries.map((entry, at) => toListing(entry, names[at]!)), notes }
  }

  /** Rejects files that are no zip, damaged, or beyond the limits. */
  static async open(file: Blob): Promise<ZipArchive> {
    const reader = new ZipReader(boundedReader(file), { filenameValidation: 'tolerant' })
    const entries: Entry[] = []
    for await (const entry of reader.getEntriesGenerator()) {
      if (entries.push(entry) > MAX_ENTRIES)
        throw new Error(`it has more than ${formatNumber(MAX_ENTRIES)} entries`)
    }
    const names = await decodeZipNames(
      entries.map(({ rawFilename, filename, extraFieldUnicodePath, versionMadeBy }) => {
        const unicode = extraFieldUnicodePath?.valid ? filename : undefined
        return { bytes: rawFilename, unicode, system: versionMadeBy >>> 8 }
      }),
      async () => {},
    )
    const zip = new ZipArchive(entries, names)
    await zip.#readLinks()
    return zip
  }

  async #readLinks(): Promise<void> {
    for (const [at, entry] of this.#entries.entries()) {
      const listed = this.listing.entries[at]!
      const isLink = fileType(entry) === SYMBOLIC_LINK && listed.problem === undefined
      if (isLink && listed.size <= MAX_PATH_LENGTH * 4) listed.link = await (await this.blob(at)).text()
    }
  }

  /** The bytes of an entry. Fails when they exceed the declared size or do not match the checksum. */
  stream(at: number): ReadableStream<Uint8Array> {
    const entry = this.#entries[at] as FileEntry
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

function toListing(entry: Entry, name: string): ZipListingEntry {
  const path = entry.directory && !name.endsWith('/') ? `${name}/` : name
  const { encrypted: isEncrypted, compressionMethod: method } = entry
  const problem = describeUnreadable({ isEncrypted, method })
  const type = fileType(entry)
  return {
    path,
    size: entry.uncompressedSize,
    ...(type !== SYMBOLIC_LINK && !REGULAR_FILE_TYPES.has(type) && { isSpecial: true }),
    ...(problem && { problem }),
  }
}

function fileType({ externalFileAttributes }: Entry): number {
  return (externalFileAttributes >>> 16) & FILE_TYPE
}
