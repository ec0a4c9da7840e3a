import type { Readable } from 'node:stream'
import type { BundleReceipt, UploadReceipt } from '../client/wire.ts'
import { type ArchiveFile, readTar } from './archive/archive.ts'
import { isJunk } from './archive/file.ts'
import type { Arrivals } from './arrival.ts'
import type { Blobs, Received } from './blobs/blobs.ts'
import { Failure, invalid } from './failure.ts'
import { MOST_FILES, MOST_PATH_CHARACTERS, type StoredFile, shown } from './file.ts'
import { inNfc } from './nfc.ts'
import { unexpired } from './ownership.ts'
import type { Store } from './store/store.ts'
import { BUNDLE_BYTES, type Bundle } from './upload.ts'

/** What a bundle may hold: each of a version's files once, and no more bytes than one request. */
const LIMITS = {
  files: MOST_FILES,
  fileBytes: Number.POSITIVE_INFINITY,
  totalBytes: BUNDLE_BYTES,
  pathCharacters: MOST_PATH_CHARACTERS,
  wireBytes: BUNDLE_BYTES,
  withLitter: true,
} as const

/** Milliseconds between two writes of what a slow bundle has brought. */
const OFTEN = 500

interface BundlesOptions {
  store: Store
  blobs: Blobs
  arrivals: Arrivals
  clock: () => number
}

/** A file of the manifest, and where it stands there. */
interface Awaited extends StoredFile {
  fileNumber: number
  /** The bundle has had it. */
  taken?: true
}

interface Arrived {
  fileNumber: number
  receipt: UploadReceipt
}

/** Many files of a pending version in one request: a tar of them, each under its path. */
export class Bundles {
  readonly #options: BundlesOptions

  constructor(options: BundlesOptions) {
    this.#options = options
  }

  /**
   * Takes each file as an upload of its own would be taken. When one is refused, or the body ends in the middle, those
   * that came whole before have arrived all the same. UPLOAD_EXPIRED when the version is not pending any more.
   */
  async receive({ slug, versionId }: Bundle, body: Readable): Promise<BundleReceipt> {
    const { blobs } = this.#options
    const awaited = await this.#manifest(slug, versionId)
    const arrived: (Arrived | undefined)[] = []
    const whole = () => arrived.filter((one) => one !== undefined)
    const record = this.#recorder(versionId)
    const take = async (file: ArchiveFile) => {
      const expected = expectedOf(file, awaited)
      if (!expected) return
      const { path, size, hash, fileNumber } = expected
      const place = arrived.push(undefined) - 1
      const received = await blobs
        .receive(versionId, file.body, hash === undefined ? { size } : { size, hash })
        .catch((error: unknown) => {
          throw named(error, path)
        })
      const one = { fileNumber, receipt: receiptOf(path, received) }
      arrived[place] = one
      await record.add(one)
    }
    try {
      await readTar({ body, limits: LIMITS }, take)
    } finally {
      await record.rest()
    }
    return { files: whole().map(({ receipt }) => receipt) }
  }

  /**
   * Writes down what has arrived: all of a bundle at its end, since a thousand writes would take longer than their bytes
   * do; and over a slow line often enough that little is sent again when it breaks.
   */
  #recorder(versionId: string) {
    const { arrivals, clock } = this.#options
    let waiting: Arrived[] = []
    let written = clock()
    const rest = async () => {
      const rows = waiting.map(({ fileNumber, receipt: { hash, size } }) => {
        return { version_id: versionId, file_number: fileNumber, hash, size }
      })
      waiting = []
      written = clock()
      await arrivals.add(rows)
    }
    return {
      rest,
      async add(one: Arrived): Promise<void> {
        waiting.push(one)
        if (clock() - written >= OFTEN) await rest()
      },
    }
  }

  /** The files that may come, by path. */
  async #manifest(slug: string, versionId: string): Promise<Map<string, Awaited>> {
    const { store, clock } = this.#options
    const site = await store.read.sites.bySlug(slug)
    if (site && site.gone_reason !== 'deleted') unexpired(site, clock())
    const version = await store.read.versions.byId(versionId)
    if (version?.slug !== slug || version.state !== 'pending') {
      throw new Failure('UPLOAD_EXPIRED', 'This version takes no more uploads: it is finalized or gone')
    }
    const files = JSON.parse(version.files) as StoredFile[]
    return new Map(files.map((file, fileNumber) => [inNfc(file.path), { ...file, fileNumber }]))
  }
}

/**
 * What the manifest says of a file that comes for the first time; undefined for litter that nobody meant to send.
 * Paths are the same in both Unicode forms, as they are for visitors.
 */
function expectedOf({ path, size }: ArchiveFile, awaited: Map<string, Awaited>): Awaited | undefined {
  const expected = awaited.get(inNfc(path))
  if (!expected && isJunk(path)) return undefined
  if (!expected) throw invalid([{ field: shown(path), message: 'is not in the manifest' }])
  if (expected.taken) throw invalid([{ field: shown(path), message: 'is in the bundle twice' }])
  expected.taken = true
  if (size !== expected.size) {
    const sentence = `'${shown(path)}' has ${expected.size} bytes in the manifest, but ${size} in the bundle`
    throw new Failure('SIZE_MISMATCH', sentence, { details: { path: expected.path } })
  }
  return expected
}

/** The failure of one file among many says which. */
function named(error: unknown, path: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'HASH_MISMATCH') return error
  return new Failure(error.code, `'${shown(path)}': ${error.message}`, { details: { path } })
}

function receiptOf(path: string, { size, hash }: Received): UploadReceipt {
  return { path, size, hash }
}
