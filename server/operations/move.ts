import type { Readable } from 'node:stream'
import type { BlobLocation, Blobs, StoredBlob } from '../blobs/blobs.ts'
import { isDamage } from '../blobs/damage.ts'
import { ENCODINGS, type Encoding, storeEncodings } from '../blobs/encoding.ts'
import { Component } from '../lib/component.ts'
import { forEachConcurrent } from '../lib/concurrency.ts'
import { ApiError } from '../lib/errors.ts'
import type { BlobEncodings } from '../store/tables/blobs.ts'
import { type Tables, Transfer, type TransferTimes } from '../store/transfer.ts'

export interface Storage {
  tables: Tables
  blobs: Blobs
}

export type BlobSource = Pick<Blobs, 'bytes' | 'read'>

export interface MoveProgress {
  files: number
  ofFiles: number
  bytes: number
}

export interface MoveResult extends MoveProgress {
  /** Rows of all tables except those of files. */
  rows: number
  /** Hashes of files that the source has not, or with other bytes. */
  damaged: string[]
}

export interface MoveOptions {
  source: { tables: Tables; blobs: BlobSource }
  target: Storage
  /** So that a second run continues the first one. */
  sourceId: string
  now: TransferTimes
  report: (progress: MoveProgress) => void
}

const MAX_CONCURRENT_FILES = 16

/**
 * The service must not run. Each file is compared with its hash. It may be stopped at any time: the next run copies
 * what is left. DatabaseInUseError when the target has other data, or when a service uses one of the two.
 */
export async function move({ source, target, sourceId, now, report }: MoveOptions): Promise<MoveResult> {
  const transfer = new Transfer(source.tables, target.tables)
  await transfer.begin(sourceId, now, () => hasFiles(target.blobs))
  const progress: MoveProgress = { files: 0, ofFiles: await transfer.countBlobs(), bytes: 0 }
  const damaged: string[] = []
  const copier = new Copier({ source: source.blobs, target: target.blobs })
  await transfer.copyBlobs(async (locations, present) => {
    const stored = await copier.copyFiles(locations, damaged)
    progress.files += present + stored.length
    for (const { size } of stored) progress.bytes += size
    report(progress)
    return stored
  })
  await transfer.copyEncodings((encodings) => copier.copyEncodings(encodings))
  await target.blobs.remove(await transfer.removeOthers())
  const rows = await transfer.copyRows()
  await transfer.finish()
  return { ...progress, rows, damaged }
}

/** Names of others count as none. */
export async function hasFiles(blobs: Blobs): Promise<boolean> {
  return (await blobs.list()).some((object) => blobs.createdAt(object) !== undefined)
}

class Copier extends Component<{ source: BlobSource; target: Blobs }> {
  /** Returns those that are durable in the target, and adds the hashes of the others to `damaged`. */
  async copyFiles(locations: readonly BlobLocation[], damaged: string[]): Promise<StoredBlob[]> {
    const stored: StoredBlob[] = []
    await forEachConcurrent(MAX_CONCURRENT_FILES, locations, async (location) => {
      const blob = await this.#copyFile(location)
      if (blob) stored.push(blob)
      else damaged.push(location.hash)
    })
    const [lost] = await this.parts.target.commit(stored)
    if (lost) throw new ApiError('UNAVAILABLE', `The target has lost the file ${lost.hash}. Try again.`)
    return stored
  }

  /** Undefined when the source has it not, or with other bytes. */
  async #copyFile(location: BlobLocation): Promise<StoredBlob | undefined> {
    const { hash, size } = location
    let body: Readable | undefined
    try {
      body = await this.parts.source.read(location)
      return body && (await this.parts.target.put(body, { size, hash }))
    } catch (error) {
      body?.destroy()
      if (isDamage(error)) return undefined
      throw error
    }
  }

  /** Encodings that are damaged are left out: the files are then sent without. */
  async copyEncodings(encodings: readonly BlobEncodings[]): Promise<BlobEncodings[]> {
    const copied: BlobEncodings[] = []
    await forEachConcurrent(MAX_CONCURRENT_FILES, encodings, async (row) => {
      const contents = await this.#readEncodings(row)
      if (contents) copied.push({ hash: row.hash, ...(await storeEncodings(this.parts.target, contents)) })
    })
    return copied
  }

  /** Undefined when one of them is absent or damaged. */
  async #readEncodings(row: BlobEncodings): Promise<Map<Encoding, Buffer> | undefined> {
    const contents = new Map<Encoding, Buffer>()
    for (const encoding of ENCODINGS) {
      const location = row[encoding]
      if (!location) continue
      const bytes = await this.parts.source.bytes(location).catch((error: unknown) => {
        if (isDamage(error)) return undefined
        throw error
      })
      if (!bytes) return undefined
      contents.set(encoding, bytes)
    }
    return contents
  }
}
