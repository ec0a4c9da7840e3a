import { mkdirSync, readdirSync } from 'node:fs'
import { readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Counters } from '../../lib/counters.ts'
import { MemoryBudget, SecondChanceCache } from '../../lib/second-chance-cache.ts'

interface DiskCacheOptions {
  /** Created when it does not exist. Processes may share it; each deletes what exceeds its own bound. */
  folder: string
  /** Bytes that this process keeps there. */
  limit: number
  counters: Counters
  /** Rejects when the disk has no space for `bytes` more. */
  assertSpace(bytes: number): Promise<void>
}

/** Bytes that a file is charged at least, which bounds the memory for the list of files. */
const MIN_FILE_BYTES = 16 * 1024
const BLOCK_BYTES = 4096

/** Bytes of files that are being written; what comes beyond is not kept. */
const MAX_WRITING_BYTES = 32 * 2 ** 20

/**
 * Bytes by their SHA-256, in files that are never flushed: a reader compares what it reads with the hash, so that files
 * may be incomplete after a crash.
 */
export class DiskCache {
  readonly #folder: string
  readonly #counters: Counters
  readonly #assertSpace: (bytes: number) => Promise<void>
  readonly #files: SecondChanceCache<string>
  #writingBytes = 0

  constructor({ folder, limit, counters, assertSpace }: DiskCacheOptions) {
    this.#folder = folder
    this.#counters = counters
    this.#assertSpace = assertSpace
    this.#files = new SecondChanceCache(new MemoryBudget(limit), (name) => void this.#unlink(name))
    counters.addGauge('cache.disk_bytes', () => this.#files.usedBytes)
    mkdirSync(folder, { recursive: true })
    for (const shard of readdirSync(folder)) this.#addShard(shard)
  }

  /** Bytes of this length that were kept under the hash, perhaps damaged; undefined when there are none. */
  async read(hash: string, length: number): Promise<Buffer | undefined> {
    const name = nameOf(hash, length)
    const bytes = await readFile(this.#path(name)).catch(() => undefined)
    if (bytes?.length !== length) {
      if (bytes) this.delete(hash, length)
      return undefined
    }
    // Another process may have written it.
    if (this.#files.get(name) === undefined) this.#add(name, length)
    return bytes
  }

  delete(hash: string, length: number): void {
    const name = nameOf(hash, length)
    if (this.#files.find(name)) this.#files.delete(name)
    else void this.#unlink(name)
  }

  /** Keeps a copy in the background, if the disk can keep it. */
  write(hash: string, bytes: Buffer): void {
    if (this.#writingBytes + bytes.length > MAX_WRITING_BYTES) return
    this.#writingBytes += bytes.length
    void this.#write(nameOf(hash, bytes.length), bytes).finally(() => {
      this.#writingBytes -= bytes.length
    })
  }

  async #write(name: string, bytes: Buffer): Promise<void> {
    try {
      await this.#assertSpace(bytes.length)
      const path = this.#path(name)
      await writeFile(path, bytes, { flag: 'wx' }).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        mkdirSync(join(path, '..'), { recursive: true })
        await writeFile(path, bytes, { flag: 'wx' })
      })
      this.#add(name, bytes.length)
    } catch (error) {
      // Another process keeps the same bytes.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
      this.#counters.add('cache.disk_write_failed')
      await this.#unlink(name)
    }
  }

  #add(name: string, length: number): void {
    this.#files.set(name, name, Math.max(MIN_FILE_BYTES, Math.ceil(length / BLOCK_BYTES) * BLOCK_BYTES))
  }

  #addShard(shard: string): void {
    for (const name of readdirSync(join(this.#folder, shard))) {
      const length = Number(name.slice(name.indexOf('.') + 1))
      if (Number.isSafeInteger(length)) this.#add(name, length)
    }
  }

  async #unlink(name: string): Promise<void> {
    await unlink(this.#path(name)).catch(() => undefined)
  }

  #path(name: string): string {
    return join(this.#folder, name.slice(0, 2), name)
  }
}

/** The length is in the name, so that a start reads only folders. */
function nameOf(hash: string, length: number): string {
  return `${hash}.${length}`
}
