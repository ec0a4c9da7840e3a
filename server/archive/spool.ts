import { randomBytes } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { storageFailure } from '../failure.ts'

/** Archives up to this many bytes stay in memory; larger ones are written to the file in steps of that size. */
const MEMORY = 2 ** 20

/** A file is read in pieces of this size, because archives are read from front to back in small steps. */
const WINDOW = 256 * 2 ** 10

const EMPTY = Buffer.alloc(0)

/** The bytes of an archive, readable at any position: in memory, or in a file that no longer has a name. */
export class Spool {
  readonly size: number
  readonly #file: FileHandle | undefined
  #window: Buffer
  #windowStart = 0

  private constructor(size: number, window: Buffer, file?: FileHandle) {
    this.size = size
    this.#window = window
    this.#file = file
  }

  /** Takes all of `chunks`; `folder` must exist. A full disk is INSUFFICIENT_STORAGE. */
  static async take(chunks: AsyncIterable<Buffer>, folder: string): Promise<Spool> {
    let gathered: Buffer[] = []
    let gatheredBytes = 0
    let written = 0
    let file: FileHandle | undefined

    async function flush(): Promise<void> {
      file ??= await nameless(folder)
      await writeWhole(file, Buffer.concat(gathered))
      written += gatheredBytes
      gathered = []
      gatheredBytes = 0
    }

    try {
      for await (const chunk of chunks) {
        gathered.push(chunk)
        gatheredBytes += chunk.length
        if (gatheredBytes > MEMORY) await flush()
      }
      if (!file) return new Spool(gatheredBytes, Buffer.concat(gathered))
      await flush()
      return new Spool(written, EMPTY, file)
    } catch (error) {
      await file?.close()
      throw storageFailure(error) ?? error
    }
  }

  /** The `length` bytes at `position`, fewer where the archive ends. */
  async read(position: number, length: number): Promise<Buffer> {
    const end = Math.min(position + length, this.size)
    if (!(position < end)) return EMPTY
    const inside = position >= this.#windowStart && end <= this.#windowStart + this.#window.length
    if (!inside) await this.#slide(position, Math.max(end - position, WINDOW))
    return this.#window.subarray(position - this.#windowStart, end - this.#windowStart)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close()
  }

  async #slide(position: number, length: number): Promise<void> {
    const window = Buffer.allocUnsafe(Math.min(length, this.size - position))
    for (let at = 0; at < window.length; ) {
      const { bytesRead } = await this.#file!.read(window, at, window.length - at, position + at)
      if (bytesRead === 0) throw new Error('The spooled archive is shorter than it was')
      at += bytesRead
    }
    this.#window = window
    this.#windowStart = position
  }
}

/** A new file that goes away with its handle, even when the process is killed. */
async function nameless(folder: string): Promise<FileHandle> {
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

async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at)
    at += bytesWritten
  }
}
