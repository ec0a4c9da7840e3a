import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Tally } from '../../../packages/http-server/clients/tally.ts'
import { GrowingBuffer } from '../../../packages/http-server/memory/growing-buffer.ts'
import { Component } from '../../lib/component.ts'
import { tooLarge, toStorageError } from '../../lib/errors.ts'
import { writeWhole } from '../../lib/files.ts'
import { overloaded } from '../../lib/semaphore.ts'

/** Larger archives are written to the file in steps of this size. */
const MAX_MEMORY_BYTES = 2 ** 20

/** Read-ahead: archives are read from front to back in small steps. */
const WINDOW_BYTES = 256 * 2 ** 10

const EMPTY = Buffer.alloc(0)

/** The disk space of all archives that are spooled at the same time; one network has only a share. */
export class SpoolSpace extends Component<{ total: number; perNetwork: number }> {
  readonly #used = new Tally()

  get usedBytes(): number {
    return this.#used.total
  }

  shareOf(network: string): SpoolShare {
    return {
      network,
      take: (bytes, spooled) => this.#take(network, bytes, spooled),
      release: (bytes) => this.#used.add(network, -bytes),
    }
  }

  #take(network: string, bytes: number, spooled: number): void {
    if (spooled + bytes > this.parts.perNetwork) throw tooLarge('The archive', this.parts.perNetwork)
    const used = this.#used.of(network)
    if (used + bytes > this.parts.perNetwork || this.usedBytes + bytes > this.parts.total) throw overloaded()
    this.#used.add(network, bytes)
  }
}

export interface SpoolShare {
  network: string
  /** PAYLOAD_TOO_LARGE when no archive may have `spooled` and `bytes` more, else UNAVAILABLE. */
  take(bytes: number, spooled: number): void
  release(bytes: number): void
}

export interface SpoolPlace {
  folder: string
  /** Without it the spool may use all of the disk. */
  space?: SpoolShare | undefined
  assertSpace?: ((bytes: number) => Promise<void>) | undefined
}

export interface RandomAccess {
  readonly size: number
  /** The `length` bytes at `position`, fewer at the end. */
  read(position: number, length: number): Promise<Buffer>
}

/** Keeps the bytes in memory, or in an unlinked file. */
export class Spool
  extends Component<{ size: number; inMemory?: Buffer; file?: FileHandle; space?: SpoolShare | undefined }>
  implements RandomAccess
{
  readonly size = this.parts.size
  #window = this.parts.inMemory ?? EMPTY
  #windowStart = 0

  /** Takes all of `chunks`. A full disk is INSUFFICIENT_STORAGE. */
  static async from(
    chunks: AsyncIterable<Buffer>,
    { folder, space, assertSpace }: SpoolPlace,
  ): Promise<Spool> {
    const buffered = new GrowingBuffer()
    let written = 0
    let file: FileHandle | undefined

    async function flush(): Promise<void> {
      const bytes = buffered.take()
      await assertSpace?.(bytes.length)
      space?.take(bytes.length, written)
      written += bytes.length
      file ??= await openUnlinked(folder)
      await writeWhole(file, bytes)
    }

    try {
      for await (const chunk of chunks) {
        buffered.append(chunk)
        if (buffered.length > MAX_MEMORY_BYTES) await flush()
      }
      if (!file) return new Spool({ size: buffered.length, inMemory: buffered.take() })
      await flush()
      return new Spool({ size: written, file, space })
    } catch (error) {
      await file?.close()
      space?.release(written)
      throw toStorageError(error) ?? error
    }
  }

  /** The `length` bytes at `position`, fewer at the end of the archive. */
  async read(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.size)
    if (!(position < end)) return EMPTY
    const inside = position >= this.#windowStart && end <= this.#windowStart + this.#window.length
    if (!inside) await this.#fill(position, Math.max(end - position, WINDOW_BYTES))
    return this.#window.subarray(position - this.#windowStart, end - this.#windowStart)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { file, space } = this.parts
    if (!file) return
    await file.close()
    space?.release(this.size)
  }

  async #fill(position: number, length: number): Promise<void> {
    const window = Buffer.allocUnsafe(Math.min(length, this.size - position))
    for (let at = 0; at < window.length; ) {
      const { bytesRead } = await this.parts.file!.read(window, at, window.length - at, position + at)
      if (bytesRead === 0) throw new Error('The spooled archive is shorter than it was')
      at += bytesRead
    }
    this.#window = window
    this.#windowStart = position
  }
}

/** It is deleted with its handle, even when the process is killed. */
async function openUnlinked(folder: string): Promise<FileHandle> {
  const path = join(folder, `archive-${randomBytes(12).toString('hex')}`)
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}
