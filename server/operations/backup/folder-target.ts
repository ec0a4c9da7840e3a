import { createHash } from 'node:crypto'
import type { Dirent, Stats } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { assertExpected } from '../../blobs/blobs.ts'
import { isUnreadable, streamFile } from '../../blobs/damage.ts'
import { Component } from '../../lib/component.ts'
import { forEachConcurrent } from '../../lib/concurrency.ts'
import { ignoreExisting, ignoreMissing, writeWhole } from '../../lib/files.ts'
import {
  type BackupTarget,
  BackupTargetError,
  type ContentIdentity,
  type TargetFile,
  toTargetError,
  unreadableInTarget,
  withTargetErrors,
} from './target.ts'

const MAX_CONCURRENT_STATS = 16

const READ_CHUNK_BYTES = 256 * 1024

/** With more of them in a row, the disk has failed or was disconnected. */
const MAX_UNREADABLE_FILES = 100

/** Only its owner can read the folder. */
export class FolderTarget extends Component<{ folder: string }> implements BackupTarget {
  /** Folders with names that a power cut may still remove. */
  readonly #unflushed = new Set<string>()
  /** Since a file was read to its end. */
  #unreadable = 0

  /** The folder must exist: the mount point of an absent disk has none. `advice` is for its absence. */
  static async open(folder: string, advice: string): Promise<FolderTarget> {
    const found = await stat(folder).catch(() => undefined)
    if (!found?.isDirectory()) throw new BackupTargetError(`${folder} is not a folder: ${advice}`)
    return new FolderTarget({ folder })
  }

  async put(name: string, body: Readable, expected: ContentIdentity): Promise<void> {
    const path = join(this.parts.folder, name)
    const partial = `${path}.partial`
    const handle = await withTargetErrors(() => this.#create(partial))
    try {
      await copyInto(handle, body, expected)
      await withTargetErrors(() => handle.sync())
    } catch (error) {
      await handle.close()
      await rm(partial, { force: true }).catch(() => undefined)
      throw error
    }
    await withTargetErrors(async () => {
      await handle.close()
      await rename(partial, path)
    })
    this.#unflushed.add(dirname(path))
  }

  async read({ name }: TargetFile): Promise<Readable | undefined> {
    const translate = (error: Error) =>
      isUnreadable(error) && ++this.#unreadable <= MAX_UNREADABLE_FILES
        ? unreadableInTarget(name, error)
        : toTargetError(error)
    const handle = await open(join(this.parts.folder, name))
      .catch(ignoreMissing)
      .catch((error: Error) => {
        throw translate(error)
      })
    return (
      handle &&
      streamFile(handle, { highWaterMark: READ_CHUNK_BYTES }, translate).once('end', () => {
        this.#unreadable = 0
      })
    )
  }

  async *list(folder: string): AsyncGenerator<TargetFile> {
    const path = join(this.parts.folder, folder)
    const entries = await withTargetErrors(async () => {
      const found = await readdir(path, { withFileTypes: true }).catch(ignoreMissing)
      return found?.sort((one, other) => (one.name < other.name ? -1 : 1)) ?? []
    })
    const sizes = await withTargetErrors(() => measure(path, entries))
    for (const entry of entries) {
      const name = `${folder}/${entry.name}`
      const size = sizes.get(entry.name)
      if (size !== undefined) yield { name, size }
      else if (entry.isDirectory()) yield* this.list(name)
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    await withTargetErrors(() =>
      forEachConcurrent(MAX_CONCURRENT_STATS, names, (name) =>
        rm(join(this.parts.folder, name), { force: true }),
      ),
    )
    for (const name of names) this.#unflushed.add(dirname(join(this.parts.folder, name)))
  }

  async flush(): Promise<void> {
    await withTargetErrors(async () => {
      for (const path of [...this.#unflushed]) {
        await using handle = await open(path)
        await handle.sync()
        this.#unflushed.delete(path)
      }
    })
  }

  /** Creates missing folders below that of the target, but not that one: its disk may be absent now. */
  async #create(path: string): Promise<FileHandle> {
    try {
      return await open(path, 'w', 0o600)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    await this.#createFolder(dirname(path))
    return open(path, 'w', 0o600)
  }

  async #createFolder(path: string): Promise<void> {
    const parent = dirname(path)
    if (parent !== this.parts.folder) await this.#createFolder(parent)
    const created = await mkdir(path, { mode: 0o700 }).then(() => true, ignoreExisting)
    if (created) this.#unflushed.add(parent)
  }
}

async function copyInto(handle: FileHandle, body: Readable, expected: ContentIdentity): Promise<void> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    await withTargetErrors(() => writeWhole(handle, chunk))
  }
  assertExpected({ size, hash: hash.digest('hex') }, expected)
}

async function measure(path: string, entries: readonly Dirent[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  const files = entries.filter((entry) => entry.isFile())
  await forEachConcurrent(MAX_CONCURRENT_STATS, files, async ({ name }) => {
    const found: Stats | undefined = await stat(join(path, name)).catch(ignoreMissing)
    if (found) sizes.set(name, found.size)
  })
  return sizes
}
