import { mediaType } from '../../protocol/manifest/media-type.ts'
import type { CollectedFile } from '../drop/collect-files.ts'

/** Bounds of the files that are embedded in a drawing: their number, and bytes of one and of all. */
const MAX_EMBEDDED_FILES = 60
const MAX_EMBEDDED_FILE_BYTES = 2_000_000
const MAX_EMBEDDED_BYTES = 6_000_000

/** The host of relative URLs. Its domain does not exist (RFC 2606), and nothing requests it. */
const SITE_ORIGIN = 'https://site.invalid'

/** The files of a drop, by the URLs with which they refer to each other. Reads a bounded number of bytes. */
export class SiteFiles {
  readonly #files: ReadonlyMap<string, CollectedFile>
  readonly #inflate: (entry: number) => Promise<Blob>
  readonly #embedded = new Map<string, Promise<string>>()
  #embeddedBytes = 0

  constructor(files: readonly CollectedFile[], inflate: (entry: number) => Promise<Blob>) {
    this.#files = new Map(files.map((file) => [file.path, file]))
    this.#inflate = inflate
  }

  /** The path of the file to which a URL in the file `from` refers; undefined outside of the drop. */
  resolve(url: string, from: string): string | undefined {
    const resolved = URL.parse(url, `${SITE_ORIGIN}/${encodeURI(from)}`)
    if (resolved?.origin !== SITE_ORIGIN) return undefined
    try {
      const path = decodeURIComponent(resolved.pathname.slice(1)).normalize('NFC')
      return this.#files.has(path) ? path : undefined
    } catch {
      return undefined
    }
  }

  /** The text of a file, cut at `maxBytes`. */
  async readText(path: string, maxBytes: number): Promise<string> {
    const { size } = this.#files.get(path)!
    if (size > MAX_EMBEDDED_BYTES) return ''
    return (await this.#open(path)).slice(0, maxBytes).text()
  }

  /** A data URL with the content of the file to which a URL refers; undefined outside of the drop or the bounds. */
  async embed(url: string, from: string, isType: RegExp): Promise<string | undefined> {
    if (/^data:/i.test(url)) return isType.test(url.slice('data:'.length)) ? url : undefined
    const path = this.resolve(url, from)
    if (path === undefined) return undefined
    const type = mediaType(path)
    if (!isType.test(type)) return undefined
    const known = this.#embedded.get(path)
    if (known) return known
    const { size } = this.#files.get(path)!
    const isBounded =
      size <= MAX_EMBEDDED_FILE_BYTES &&
      this.#embedded.size < MAX_EMBEDDED_FILES &&
      this.#embeddedBytes + size <= MAX_EMBEDDED_BYTES
    if (!isBounded) return undefined
    this.#embeddedBytes += size
    const read = this.#open(path).then((bytes) => toDataUrl(bytes, type))
    this.#embedded.set(path, read)
    return read
  }

  async #open(path: string): Promise<Blob> {
    const { source } = this.#files.get(path)!
    return typeof source === 'number' ? this.#inflate(source) : source
  }
}

/** A data URL of the bytes. A `FileReader` encodes them outside of the page's event loop. */
export function toDataUrl(bytes: Blob, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result as string)
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(new Blob([bytes], { type }))
  })
}
