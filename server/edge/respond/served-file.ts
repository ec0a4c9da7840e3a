import { hash } from 'node:crypto'
import type { BlobLocation } from '../../blobs/blobs.ts'
import type { CodedContent } from '../../blobs/content-coding.ts'
import { type Encoding, isCompressible } from '../../blobs/encoding.ts'
import type { InjectedDocument } from '../../sites/page-metadata/injected-document.ts'
import { decodePath } from '../paths.ts'
import { type BlobSlice, type EdgeResponse, withHeaders } from '../response.ts'
import { parseAcceptEncoding } from './negotiation.ts'
import { ERROR_HEADERS } from './pages/page-frame.ts'
import type { LastModified, Policy } from './policy.ts'

type StoredBytes = BlobLocation | { size: number }

export type Encodings = Readonly<Record<Encoding, StoredBytes | null>>

const NOTHING_STORED: StoredContent = {}

export interface FileType {
  name: string
  isHtml: boolean
  /** Also true when the encodings are made later, so that responses vary. */
  isCompressible: boolean
}

export function toFileType(name: string): FileType {
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(name)
  return { name, isHtml, isCompressible: isCompressible(name) }
}

/** A blob, or a published document with an injected head. */
export type ServedBytes = { hash: string; size: number } | InjectedDocument

export interface StoredContent {
  /** Absent when the bytes are, or in the memory of the caller. */
  location?: BlobLocation | null
  encodings?: Encodings | undefined
  blockedUntil?: number
}

interface FileOptions {
  path: string
  file: ServedBytes
  type: FileType
  coded?: CodedContent | undefined
  /** Called when the file is first served. */
  findStored?: () => StoredContent
  modified: LastModified
  policy: Policy
}

/** Responses are created on first use. */
export class ServedFile {
  readonly path: string
  readonly hash: string
  readonly size: number
  readonly type: FileType
  readonly modified: LastModified
  readonly policy: Policy
  readonly injected: InjectedDocument | undefined
  readonly coded: CodedContent | undefined
  readonly #findStored: () => StoredContent
  #stored: StoredContent | undefined
  #plain: Representation | undefined
  #encoded: Partial<Record<Encoding, Representation>> | undefined
  #decoded: Representation | undefined

  constructor({ path, file, type, coded, findStored = () => NOTHING_STORED, modified, policy }: FileOptions) {
    this.path = path
    this.hash = file.hash
    this.size = file.size
    this.injected = 'head' in file ? file : undefined
    this.type = type
    this.coded = coded
    this.modified = modified
    this.policy = policy
    this.#findStored = findStored
  }

  get kind(): 'file' {
    return 'file'
  }

  withType(path: string, type: FileType): ServedFile {
    const { coded, modified, policy } = this
    return new ServedFile({ path, file: this, type, coded, findStored: this.#findStored, modified, policy })
  }

  get location(): BlobLocation | undefined {
    return this.#getStored().location ?? undefined
  }

  get blockedUntil(): number {
    return this.#getStored().blockedUntil ?? 0
  }

  get varies(): boolean {
    return this.type.isCompressible || this.coded !== undefined
  }

  /** The file itself when the client accepts no other coding, and decoded if its bytes have one. */
  representation(acceptEncoding: string | undefined): Representation {
    if (this.coded) return this.#ofCoded(this.coded, acceptEncoding)
    // Encodings belong to the bytes, which other sites may have with a type that is compressed.
    const { encodings } = this.type.isCompressible ? this.#getStored() : {}
    if (encodings !== undefined && acceptEncoding !== undefined) {
      for (const coding of parseAcceptEncoding(acceptEncoding)) {
        if (coding === 'identity') break
        const bytes = encodings[coding]
        if (bytes !== null) return this.#encodedAs(coding, bytes)
      }
    }
    this.#plain ??= new Representation(this, this)
    return this.#plain
  }

  #ofCoded(coded: CodedContent, acceptEncoding: string | undefined): Representation {
    for (const coding of acceptEncoding === undefined ? [] : parseAcceptEncoding(acceptEncoding)) {
      if (coding === 'identity') break
      if (coding !== coded.coding) continue
      this.#plain ??= new Representation(this, this)
      return this.#plain
    }
    this.#decoded ??= new Representation(this, {
      size: coded.decodedSize,
      location: this.location,
      decoded: coded,
    })
    return this.#decoded
  }

  #getStored(): StoredContent {
    this.#stored ??= this.#findStored()
    return this.#stored
  }

  #encodedAs(encoding: Encoding, bytes: StoredBytes): Representation {
    this.#encoded ??= {}
    const location = 'object' in bytes ? bytes : undefined
    this.#encoded[encoding] ??= new Representation(this, { size: bytes.size, location }, encoding)
    return this.#encoded[encoding]
  }
}

/** Each encoding has an entity tag of its own (RFC 9110, 8.8.3.3). */
export class Representation implements BlobSlice {
  /** The stored encoding; undefined for the published bytes. */
  readonly encoding?: Encoding
  readonly decoded?: CodedContent
  readonly size: number
  readonly location: BlobLocation | undefined
  /**
   * Strong, with its quotes. The same bytes have the same one in every version that says the same of them: a 304 confirms
   * the headers of the cached response, too (RFC 9110, 8.8.1).
   */
  readonly etag: string
  readonly #file: ServedFile
  #ok: EdgeResponse | undefined
  #notModified: EdgeResponse | undefined
  #notFound: EdgeResponse | undefined

  constructor(
    file: ServedFile,
    { size, location, decoded }: Pick<BlobSlice, 'size' | 'location' | 'decoded'>,
    encoding?: Encoding,
  ) {
    const { type, policy } = file
    const tag = hash('sha256', `${file.hash} ${type.name} ${policy.headersDigest}`).slice(0, 32)
    if (encoding !== undefined) this.encoding = encoding
    if (decoded !== undefined) this.decoded = decoded
    this.size = size
    this.location = location
    this.etag = `"${tag}${encoding === undefined ? tagSuffix(file, decoded) : `-${encoding}`}"`
    this.#file = file
  }

  get path(): string {
    return decodePath(this.#file.path)
  }

  get hash(): string {
    return this.#file.hash
  }

  /** Bytes are decoded from the first on. */
  get hasRanges(): boolean {
    return this.decoded === undefined
  }

  get injected(): InjectedDocument | undefined {
    return this.encoding === undefined ? this.#file.injected : undefined
  }

  get modified(): number {
    return this.#file.modified.time
  }

  get ok(): EdgeResponse {
    const { isHtml: isPage } = this.#file.type
    this.#ok ??= { status: 200, headers: this.#headers(this.size), content: this, isPage }
    return this.#ok
  }

  /** RFC 9110, 15.4.5. */
  get notModified(): EdgeResponse {
    this.#notModified ??= {
      status: 304,
      headers: ['ETag', this.etag].concat(this.#vary, baseHeaders(this.#file.policy)),
      isPage: this.#file.type.isHtml,
    }
    return this.#notModified
  }

  get notFound(): EdgeResponse {
    this.#notFound ??= {
      status: 404,
      headers: this.#entityHeaders(this.size).concat(
        this.#vary,
        ERROR_HEADERS,
        this.#file.policy.extraHeaders,
      ),
      content: this,
    }
    return this.#notFound
  }

  /** RFC 9110, 15.3.7. */
  partial(range: NonNullable<BlobSlice['range']>): EdgeResponse {
    const { path, hash, size, encoding, location, injected } = this
    const { start, end } = range
    const headers = ['Content-Range', `bytes ${start}-${end}/${size}`].concat(this.#headers(end - start + 1))
    const optional = { ...(injected && { injected }), ...(encoding !== undefined && { encoding }) }
    const content = { path, hash, size, location, range, ...optional }
    return { status: 206, headers, content, isPage: this.#file.type.isHtml }
  }

  /** RFC 9110, 15.5.17. */
  notSatisfiable(page: EdgeResponse): EdgeResponse {
    return withHeaders(page, page.headers.concat('Content-Range', `bytes */${this.size}`))
  }

  #headers(length: number): string[] {
    const { modified, policy } = this.#file
    const validators = ['ETag', this.etag, 'Last-Modified', modified.date]
    const ranges = this.hasRanges ? ACCEPT_RANGES : []
    return this.#entityHeaders(length).concat(validators, ranges, this.#vary, baseHeaders(policy))
  }

  #entityHeaders(length: number): string[] {
    const lines = ['Content-Type', this.#file.type.name, 'Content-Length', `${length}`]
    const coding = this.decoded ? undefined : (this.encoding ?? this.#file.coded?.coding)
    return coding === undefined ? lines : lines.concat('Content-Encoding', coding)
  }

  get #vary(): readonly string[] {
    return this.#file.varies ? VARY : []
  }
}

/** The same bytes of a version in which they have no coding are another representation. */
function tagSuffix({ coded }: ServedFile, decoded: CodedContent | undefined): string {
  return coded === undefined ? '' : `-${decoded ? 'from' : 'as'}-${coded.coding}`
}

const ACCEPT_RANGES = ['Accept-Ranges', 'bytes'] as const
const VARY = ['Vary', 'Accept-Encoding'] as const

export function baseHeaders({ cacheControl, extraHeaders }: Policy): string[] {
  return ['Cache-Control', cacheControl, 'X-Content-Type-Options', 'nosniff'].concat(extraHeaders)
}
