/** Where a file's bytes are: in a file of the disk, or in the zip that was opened last, by number. */
export type Source = Blob | number

/** What the page asks of the worker. */
export type Question =
  | { ask: 'list'; zip: Blob }
  | { ask: 'inflate'; entry: number }
  | { ask: 'digest'; sources: Source[] }

export interface ZipListing {
  /** As the zip has it; hostile until it is checked. */
  path: string
  /** As the zip has it; reading stops there. */
  size: number
  /** Why it cannot be published. */
  problem?: string
}

/** What was read: the SHA-256 of each source in hex, and the bytes of those that are small, as far as they are kept. */
export interface Digest {
  hashes: string[]
  bytes: (Uint8Array<ArrayBuffer> | undefined)[]
}

/** How far a digest is. */
export interface Digested {
  files: number
  bytes: number
}

/** What went wrong; `missing` says that the reader itself is not there. `at` is the source that it is about, where it is about one. */
export interface Fault {
  kind: 'zip' | 'unreadable' | 'missing'
  why: string
  at?: number
}

export type Asked = { id: number } & Question
export type Told = { id: number } & ({ progress: Digested } | { answer: unknown } | { fault: Fault })
