import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { Component } from '../../lib/component.ts'
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

export function hasContent(target: BackupTarget, identity: ContentIdentity): Promise<boolean> {
  return isListed(new AscendingFiles(target.list(toContentFolder(identity.hash))), identity)
}

/** Compares its name and size with those of `files`, in which the names of the calls must ascend. */
export async function isListed(files: AscendingFiles, { hash, size }: ContentIdentity): Promise<boolean> {
  return (await files.find(toContentName(hash)))?.size === size
}

function toContentFolder(hash: string): string {
  return `${CONTENTS}/${hash.slice(0, 2)}`
}

/** Writes the contents of a backup in ascending order of their hashes. */
export class FileListWriter extends Component<{ handle: FileHandle }> implements AsyncDisposable {
  readonly #hash = createHash('sha256')
  #size = 0
  #buffered: Buffer[] = []

  static async create(path: string): Promise<FileListWriter> {
    return new FileListWriter({ handle: await open(path, 'w', 0o600) })
  }

  async add({ hash, size }: ContentIdentity): Promise<void> {
    const entry = Buffer.alloc(ENTRY_BYTES)
    entry.write(hash, 'hex')
    entry.writeUIntBE(size, HASH_BYTES, ENTRY_BYTES - HASH_BYTES)
    this.#buffered.push(entry)
    if (this.#buffered.length === MAX_BUFFERED_ENTRIES) await this.#write()
  }

  async finish(): Promise<ContentIdentity> {
    await this.#write()
    return { hash: this.#hash.digest('hex'), size: this.#size }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.parts.handle.close()
  }

  async #write(): Promise<void> {
    const bytes = Buffer.concat(this.#buffered)
    this.#buffered = []
    this.#hash.update(bytes)
    this.#size += bytes.length
    await this.parts.handle.appendFile(bytes)
  }
}

type ListedFile = ContentIdentity & TargetFile

export async function* parseFileList(list: Readable): AsyncGenerator<ListedFile> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of list as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
      const hash = bytes.toString('hex', at, at + HASH_BYTES)
      const size = bytes.readUIntBE(at + HASH_BYTES, ENTRY_BYTES - HASH_BYTES)
      yield { hash, size, name: toContentName(hash) }
    }
    rest = bytes.subarray(at)
  }
  if (rest.length > 0) throw new BackupTargetError('has a damaged list of files')
}

/** Finds files in one pass: their names and those of the calls must ascend. */
export class AscendingFiles extends Component<AsyncGenerator<TargetFile>> {
  #next: IteratorResult<TargetFile, undefined> | undefined

  async find(name: string): Promise<TargetFile | undefined> {
    while (this.#next === undefined || (!this.#next.done && this.#next.value.name < name))
      this.#next = await this.parts.next()
    return this.#next.value?.name === name ? this.#next.value : undefined
  }
}
