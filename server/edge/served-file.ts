import { type Encoding, shrinks } from '../encodings/encoding.ts'
import type { StoredFile } from '../file.ts'
import { type Answer, type Content, withHeaders } from './answer.ts'
import { nameOf } from './names.ts'
import { codingsIn } from './negotiation.ts'
import { ERROR_HEADERS, NOT_SATISFIABLE } from './pages/pages.ts'
import type { Moment, Policy } from './policy.ts'

/** Bytes of the encodings that are kept beside a file; null for one that is not. */
export type Sizes = Readonly<Record<Encoding, number | null>>

/** A content type and what follows from it. */
export interface FileType {
  name: string
  isHtml: boolean
  /** Whether its files have encodings, now or later, so that answers depend on what the client takes. */
  shrinks: boolean
}

export function fileType(name: string): FileType {
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(name)
  return { name, isHtml, shrinks: shrinks(name) }
}

interface FileOptions {
  path: string
  file: Pick<StoredFile, 'hash' | 'size'>
  type: FileType
  sizes: Sizes | undefined
  modified: Moment
  policy: Policy
}

/** A file of a version, by its published bytes and their encodings. What is said of them is made when first asked for. */
export class ServedFile {
  /** As `pathOf` spells it. */
  readonly path: string
  readonly hash: string
  /** Bytes. */
  readonly size: number
  readonly type: FileType
  readonly modified: Moment
  readonly policy: Policy
  readonly #sizes: Sizes | undefined
  #plain: Representation | undefined
  #encoded: Partial<Record<Encoding, Representation>> | undefined

  constructor({ path, file, type, sizes, modified, policy }: FileOptions) {
    this.path = path
    this.hash = file.hash!
    this.size = file.size
    this.type = type
    this.modified = modified
    this.policy = policy
    this.#sizes = sizes
  }

  get kind(): 'file' {
    return 'file'
  }

  /** The same bytes at another path, as another type. */
  as(path: string, type: FileType): ServedFile {
    const { modified, policy } = this
    return new ServedFile({ path, file: this, type, sizes: this.#sizes, modified, policy })
  }

  /** The bytes for a client that takes these codings; as published when there is nothing else that it takes. */
  representation(acceptEncoding: string | undefined): Representation {
    const sizes = this.#sizes
    if (sizes !== undefined && acceptEncoding !== undefined) {
      for (const coding of codingsIn(acceptEncoding)) {
        if (coding === 'identity') break
        const size = sizes[coding]
        if (size !== null) return this.#in(coding, size)
      }
    }
    this.#plain ??= new Representation(this, undefined, this.size)
    return this.#plain
  }

  #in(encoding: Encoding, size: number): Representation {
    this.#encoded ??= {}
    this.#encoded[encoding] ??= new Representation(this, encoding, size)
    return this.#encoded[encoding]
  }
}

/** A file in one encoding, or as published: what has an entity tag of its own (RFC 9110, 8.8.3.3). */
export class Representation implements Content {
  readonly encoding?: Encoding
  /** Bytes. */
  readonly size: number
  /** Strong, with its quotes: the same bytes have the same one in every version. */
  readonly etag: string
  readonly #file: ServedFile
  #ok: Answer | undefined
  #notModified: Answer | undefined
  #missing: Answer | undefined

  constructor(file: ServedFile, encoding: Encoding | undefined, size: number) {
    const tag = file.hash.slice(0, 32)
    if (encoding !== undefined) this.encoding = encoding
    this.size = size
    this.etag = encoding === undefined ? `"${tag}"` : `"${tag}-${encoding}"`
    this.#file = file
  }

  get path(): string {
    return nameOf(this.#file.path)
  }

  get hash(): string {
    return this.#file.hash
  }

  /** Milliseconds since 1970. */
  get modified(): number {
    return this.#file.modified.time
  }

  get ok(): Answer {
    const { isHtml: isPage } = this.#file.type
    this.#ok ??= { status: 200, headers: this.#lines(this.size), content: this, isPage }
    return this.#ok
  }

  /** RFC 9110, 15.4.5. */
  get notModified(): Answer {
    this.#notModified ??= {
      status: 304,
      headers: ['ETag', this.etag].concat(this.#vary, common(this.#file.policy)),
      isPage: this.#file.type.isHtml,
    }
    return this.#notModified
  }

  /** The file as the page of a 404. */
  get missing(): Answer {
    this.#missing ??= {
      status: 404,
      headers: this.#described(this.size).concat(this.#vary, ERROR_HEADERS, this.#file.policy.more),
      content: this,
    }
    return this.#missing
  }

  /** RFC 9110, 15.3.7. */
  partial(range: NonNullable<Content['range']>): Answer {
    const { path, hash, size, encoding } = this
    const { start, end } = range
    const headers = ['Content-Range', `bytes ${start}-${end}/${size}`].concat(this.#lines(end - start + 1))
    const content = { path, hash, size, range }
    const { isHtml: isPage } = this.#file.type
    return {
      status: 206,
      headers,
      content: encoding === undefined ? content : { ...content, encoding },
      isPage,
    }
  }

  /** RFC 9110, 15.5.17. */
  notSatisfiable(): Answer {
    const headers = NOT_SATISFIABLE.headers.concat('Content-Range', `bytes */${this.size}`)
    return withHeaders(NOT_SATISFIABLE, headers)
  }

  #lines(length: number): string[] {
    const { modified, policy } = this.#file
    const validators = ['ETag', this.etag, 'Last-Modified', modified.date, 'Accept-Ranges', 'bytes']
    return this.#described(length).concat(validators, this.#vary, common(policy))
  }

  #described(length: number): string[] {
    const lines = ['Content-Type', this.#file.type.name, 'Content-Length', `${length}`]
    return this.encoding === undefined ? lines : lines.concat('Content-Encoding', this.encoding)
  }

  get #vary(): readonly string[] {
    return this.#file.type.shrinks ? VARY : []
  }
}

const VARY = ['Vary', 'Accept-Encoding'] as const

/** Header lines of everything of a version that is no error. */
export function common({ cacheControl, more }: Policy): string[] {
  return ['Cache-Control', cacheControl, 'X-Content-Type-Options', 'nosniff'].concat(more)
}
