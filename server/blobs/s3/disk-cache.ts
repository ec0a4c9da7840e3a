import { mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../../../packages/files/make-folder.ts'
import { Component } from '../../lib/component.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { shareRunning } from '../../lib/share-result.ts'
import type { DiskReserve } from '../disk-reserve.ts'

interface DiskCacheOptions {
  folder: string
  /** Bytes of all files. */
  limit: number
  /** Processes that share the folder. */
  processes: number
  metrics: Metrics
  /** Free space of the disk that neither the cache nor publishing uses. */
  reserve?: Pick<DiskReserve, 'assertSpace'> | undefined
}

const BLOCK_BYTES = 4096

/** The part of the limit that is free after an eviction, for what all processes write before the next one. */
const FREE_SHARE = 1 / 8

/** Bytes of files that are being written; what exceeds this is not kept. */
const MAX_WRITING_BYTES = 32 * 2 ** 20

/** Names of recently used files, about 10 MB. */
const MAX_USED_NAMES = 100_000

/**
 * Bytes by their SHA-256, in files that are never flushed: a reader compares what it reads with the hash, so that files
 * may be incomplete after a crash. Processes may share the folder, because the list of files is the folder itself: a
 * process reads it after it has written its part of the free share, and first deletes files not used since, in no order.
 */
export class DiskCache extends Component<DiskCacheOptions> {
  readonly #used = new Set<string>()
  #listedBytes = 0
  #writtenBytes = 0
  #writingBytes = 0
  readonly #evict = shareRunning(() => this.#makeRoom())
  readonly #shrink = shareRunning(() => this.#evictTo((total) => total - this.parts.limit * FREE_SHARE))

  constructor(options: DiskCacheOptions) {
    super(options)
    makeFolder(options.folder)
    options.metrics.addRead('slipway_disk_cache_bytes', () => this.#listedBytes + this.#writtenBytes)
    void this.#evict()
  }

  /** Bytes of this length that were kept under the hash, perhaps damaged; undefined when there are none. */
  async read(hash: string, length: number): Promise<Buffer | undefined> {
    const name = nameOf(hash, length)
    const bytes = await readFile(this.#path(name)).catch(() => undefined)
    if (bytes?.length === length) {
      this.#use(name)
      return bytes
    }
    if (bytes) await this.delete(hash, length)
    return undefined
  }

  async delete(hash: string, length: number): Promise<void> {
    await this.#unlink(nameOf(hash, length))
  }

  /** Keeps a copy in the background, if the disk can keep it. */
  write(hash: string, bytes: Buffer): void {
    if (this.#writingBytes + bytes.length > MAX_WRITING_BYTES) return
    this.#writingBytes += bytes.length
    void this.#write(nameOf(hash, bytes.length), bytes).finally(() => {
      this.#writingBytes -= bytes.length
    })
  }

  /** Rejects when the disk has no space for `bytes` more even without this cache, which gives way to everything else. */
  async assertSpace(bytes?: number): Promise<void> {
    for (;;) {
      try {
        return await this.parts.reserve?.assertSpace(bytes)
      } catch (error) {
        if ((await this.#shrink()) === 0) throw error
      }
    }
  }

  async #write(name: string, bytes: Buffer): Promise<void> {
    const { limit, processes, metrics } = this.parts
    try {
      await this.assertSpace(bytes.length)
      await this.#create(this.#path(name), bytes)
    } catch (error) {
      // Another process keeps the same bytes.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
      metrics.counter('slipway_disk_cache_failures_total', { operation: 'write' }).add()
      await this.#unlink(name)
      return
    }
    this.#use(name)
    this.#writtenBytes += diskBytes(bytes.length)
    // Again for what was written while another eviction was running.
    while (this.#writtenBytes > (limit * FREE_SHARE) / processes) await this.#evict()
  }

  async #create(path: string, bytes: Buffer): Promise<void> {
    const create = () => writeFile(path, bytes, { flag: 'wx' })
    await create().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      await mkdir(dirname(path), { recursive: true })
      await create()
    })
  }

  async #makeRoom(): Promise<void> {
    const { limit, metrics } = this.parts
    await this.#evictTo(() => limit * (1 - FREE_SHARE)).catch(() =>
      metrics.counter('slipway_disk_cache_failures_total', { operation: 'evict' }).add(),
    )
  }

  async #evictTo(targetOf: (total: number) => number): Promise<number> {
    this.#writtenBytes = 0
    const shards = fromRandom(await readdir(this.parts.folder))
    let total = 0
    for (const shard of shards) for (const name of await this.#list(shard)) total += bytesOf(name)
    const [before, target] = [total, targetOf(total)]
    for (const isSpared of [(name: string) => this.#used.has(name), () => false]) {
      for (const shard of shards) {
        if (total <= target) break
        for (const name of await this.#list(shard)) {
          if (total <= target) break
          if (isSpared(name)) continue
          if (await this.#unlink(name)) total -= bytesOf(name)
        }
      }
    }
    this.#listedBytes = total
    this.#used.clear()
    return before - total
  }

  async #list(shard: string): Promise<string[]> {
    return readdir(join(this.parts.folder, shard)).catch(() => [])
  }

  #use(name: string): void {
    if (this.#used.size < MAX_USED_NAMES) this.#used.add(name)
  }

  /** Whether the file does not exist afterwards: where none can be deleted, nothing waits for space that does not come. */
  async #unlink(name: string): Promise<boolean> {
    try {
      await unlink(this.#path(name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.parts.metrics.counter('slipway_disk_cache_failures_total', { operation: 'evict' }).add()
        return false
      }
    }
    return true
  }

  #path(name: string): string {
    return join(this.parts.folder, name.slice(0, 2), name)
  }
}

/** The length is in the name, so that a list of names has the sizes. */
function nameOf(hash: string, length: number): string {
  return `${hash}.${length}`
}

function bytesOf(name: string): number {
  return diskBytes(Number(name.slice(name.indexOf('.') + 1)) || 0)
}

function diskBytes(length: number): number {
  return Math.ceil(length / BLOCK_BYTES) * BLOCK_BYTES
}

/** From a random place on: the files of one shard are as random as those of another. */
function fromRandom(shards: readonly string[]): string[] {
  const start = Math.floor(Math.random() * shards.length)
  return [...shards.slice(start), ...shards.slice(0, start)]
}
