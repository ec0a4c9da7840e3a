/** The bytes of a file: a file of the disk, or an entry of the current zip by number. */
export type Source = Blob | number

/** A source and the path of its file. */
export interface NamedSource {
  path: string
  source: Source
}

/** What the worker can do. */
export type WorkerTask =
  | { kind: 'list'; zip: Blob }
  | { kind: 'inflate'; entry: number }
  | { kind: 'digest'; files: NamedSource[] }

export interface ZipListing {
  entries: ZipListingEntry[]
  /** What was guessed about the zip, as sentences. */
  notes: string[]
}

export interface ZipListingEntry {
  /** As in the zip, a folder with a final `/`; untrusted until it is checked. */
  path: string
  /** As in the zip; reading stops there. */
  size: number
  /** What a symbolic link leads to. */
  link?: string
  /** Neither file nor link nor folder. */
  isSpecial?: true
  /** Why it cannot be published. */
  problem?: string
}

/** The SHA-256 in hex and the content type of each file, and the bytes of small ones where they are buffered. */
export interface Digest {
  hashes: string[]
  types: string[]
  bytes: (Uint8Array<ArrayBuffer> | undefined)[]
}

/** Progress of a digest. */
export interface DigestProgress {
  files: number
  bytes: number
}

/** An error; `missing`: the reader itself could not be loaded. `at` is the source concerned, if any. */
export interface Fault {
  kind: 'zip' | 'unreadable' | 'missing'
  message: string
  at?: number
}

export type WorkerRequest = { id: number } & WorkerTask
export type WorkerResponse = { id: number } & (
  | { progress: DigestProgress }
  | { result: unknown }
  | { fault: Fault }
)
