import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type BackupTarget, BackupTargetError, type ContentIdentity, type TargetFile } from './target.ts'

/** Contents are named by their hashes. */
export const CONTENTS = 'contents'

/** An entry of a list: the bytes of the hash, and the size in 6 bytes. */
const HASH_BYTES = 32
const ENTRY_BYTES = HASH_BYTES + 6

const MAX_BUFFERED_ENTRIES = 1000

export function toContentName(hash: string): string {
  return `${toContentFolder(hash)}/${hash}`
}

/** Compares its name and size. */
export function hasContent(target: BackupTarget, identity: ContentIdentity): Promise<boolean> {
  return new StoredContents(target, toContentFolder(identity.hash)).has(identity)
}

function toContentFolder(hash: string): string {
  return `${CONTENTS}/${hash.slice(0, 2)}`
}

/** Writes the contents of a backup in ascending order of their hashes. */
export class FileListWriter implements AsyncDisposable {
  readonly #handle: FileHandle
  readonly #hash = createHash('sha256')
  #size = 0
  #buffered: Buffer[] = []

  static async create(path: string): Promise<FileListWriter> {
    return new FileListWriter(await open(path, 'w', 0o600))
  }

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async add({ hash, size }: ContentIdentity): Promise<void> {
    const entry = Buffer.alloc(ENTRY_BYTES)
    entry.write(hash, 'hex')
    entry.writeUIntBE(size, HASH_BYTES, ENTRY_BYTES - HASH_BYTES)
    this.#buffered.push(entry)
    if (this.#buffered.length === MAX_BUFFERED_ENTRIES) await this.#write()
  }

  /** Returns what the list is as a content. */
  async finish(): Promise<ContentIdentity> {
    await this.#write()
    return { hash: this.#hash.digest('hex'), size: this.#size }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }

  async #write(): Promise<void> {
    const bytes = Buffer.concat(this.#buffered)
    this.#buffered = []
    this.#hash.update(bytes)
    this.#size += bytes.length
    await this.#handle.appendFile(bytes)
  }
}

export async function* parseFileList(list: Readable): AsyncGenerator<ContentIdentity> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of list as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES)
      yield {
        hash: bytes.toString('hex', at, at + HASH_BYTES),
        size: bytes.readUIntBE(at + HASH_BYTES, ENTRY_BYTES - HASH_BYTES),
      }
    rest = bytes.subarray(at)
  }
  if (rest.length > 0) throw new BackupTargetError('has a damaged list of files')
}

/** Finds contents in a target in one pass: their hashes must ascend. */
export class StoredContents {
  readonly #files: AsyncGenerator<TargetFile>
  #next: TargetFile | undefined
  #isEnded = false

  constructor(target: BackupTarget, folder = CONTENTS) {
    this.#files = target.list(folder)
  }

  /** Compares its name and size. */
  async has({ hash, size }: ContentIdentity): Promise<boolean> {
    const name = toContentName(hash)
    while (!this.#isEnded && (this.#next === undefined || this.#next.name < name)) {
      const { value, done } = await this.#files.next()
      this.#next = value
      this.#isEnded = done === true
    }
    return this.#next?.name === name && this.#next.size === size
  }
}
