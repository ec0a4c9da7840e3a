/** A file of a site that is drawn. */
export interface SourceFile {
  path: string
  /** Bytes. */
  size: number
  open(): Promise<Blob>
}

/** Bounds of the files that are embedded in a drawing: their number, and bytes of one and of all, repeated ones too. */
const MAX_EMBEDDED_FILES = 60
const MAX_EMBEDDED_FILE_BYTES = 1_000_000
const MAX_EMBEDDED_BYTES = 2_000_000

/** The host of relative URLs. Its domain does not exist (RFC 2606), and nothing requests it. */
const SITE_ORIGIN = 'https://site.invalid'

/** The files of a site, by the URLs with which they refer to each other. Reads a bounded number of bytes. */
export class SiteFiles {
  readonly #files: ReadonlyMap<string, SourceFile>
  readonly #embedded = new Map<string, Promise<string>>()
  #embeddedBytes = 0

  constructor(files: readonly SourceFile[]) {
    this.#files = new Map(files.map((file) => [file.path, file]))
  }

  /** The path of the file to which a URL in the file `from` refers; undefined outside of the site. */
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
    const file = this.#files.get(path)!
    if (file.size > MAX_EMBEDDED_BYTES) return ''
    return (await file.open()).slice(0, maxBytes).text()
  }

  /** A data URL with the content of the file to which a URL refers; undefined outside of the site or the bounds. */
  async embed(url: string, from: string, isType: RegExp): Promise<string | undefined> {
    if (/^data:/i.test(url)) return isType.test(url.slice('data:'.length)) ? url : undefined
    const path = this.resolve(url, from)
    if (path === undefined) return undefined
    const { mediaType } = await import('../../protocol/manifest/media-type.ts')
    const type = mediaType(path)
    if (!isType.test(type)) return undefined
    const file = this.#files.get(path)!
    const known = this.#embedded.get(path)
    const isBounded =
      file.size <= MAX_EMBEDDED_FILE_BYTES &&
      (known !== undefined || this.#embedded.size < MAX_EMBEDDED_FILES) &&
      this.#embeddedBytes + file.size <= MAX_EMBEDDED_BYTES
    if (!isBounded) return undefined
    this.#embeddedBytes += file.size
    const read = known ?? file.open().then((bytes) => toDataUrl(bytes, type))
    this.#embedded.set(path, read)
    return read
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
