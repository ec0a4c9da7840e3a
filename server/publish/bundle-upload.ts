import type { Readable } from 'node:stream'
import type { BundleReceipt } from '../../protocol/api/publish.schema.ts'
import { MAX_FILES } from '../../protocol/api/publish.ts'
import { pluralize } from '../../protocol/format.ts'
import { MAX_PATH_LENGTH, sanitizePath } from '../../protocol/manifest/paths.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { isRetired, requireNotExpired } from '../accounts/authorization.ts'
import type { StoredBlob } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { ManifestFile } from '../store/tables/versions.ts'
import { type ArchiveFile, readTar } from './archive/archive.ts'
import { isOsMetadata } from './archive/file.ts'
import { entryError } from './archive/limits.ts'
import { ActiveUpload, notPending, type UploadSlots } from './pending-uploads.ts'
import { type BundleUpload, MAX_BUNDLE_BYTES } from './signed-uploads.ts'
import type { UploadRecorder } from './upload-recorder.ts'

/** Each file of the version once, and no more bytes than one request. */
const BUNDLE_LIMITS = {
  files: MAX_FILES,
  fileBytes: Number.POSITIVE_INFINITY,
  totalBytes: MAX_BUNDLE_BYTES,
  pathCharacters: MAX_PATH_LENGTH,
  wireBytes: MAX_BUNDLE_BYTES,
} as const

const FLUSH_INTERVAL_MS = 500

type BundleUploadsParts = Pick<Parts, 'store' | 'blobs' | 'clock'> & {
  uploadRecorder: UploadRecorder
  slots: UploadSlots
}

interface ManifestEntry extends ManifestFile {
  fileNumber: number
  received?: true
}

interface ReceivedFile {
  fileNumber: number
  path: string
  blob: StoredBlob
}

export class BundleUploads extends Component<BundleUploadsParts> {
  /** Complete files stay received when one is refused or the body ends early. UPLOAD_EXPIRED when not pending. */
  async receive({ slug: signed, versionId }: BundleUpload, body: Readable): Promise<BundleReceipt> {
    const { slug, awaited } = await this.#loadManifest(signed, versionId)
    const active = new ActiveUpload(body)
    return await active.run(this.#read({ slug, versionId }, body, { awaited, active }))
  }

  async #read(
    { slug, versionId }: BundleUpload,
    body: Readable,
    { awaited, active }: { awaited: Map<string, ManifestEntry>; active: ActiveUpload },
  ): Promise<BundleReceipt> {
    const { blobs, slots } = this.parts
    const { signal } = active
    // A file keeps its slot until it is recorded: until then another copy of it would be one too many.
    using held = new DisposableStack()
    const arrived: (ReceivedFile | undefined)[] = []
    const whole = () => arrived.filter((one) => one !== undefined)
    const record = this.#bundleWriter({ slug, versionId })
    const take = async (file: ArchiveFile) => {
      const expected = findExpected(file, awaited)
      if (!expected || (await this.#isHeld(expected))) return
      const { path, size, hash, fileNumber } = expected
      const place = arrived.push(undefined) - 1
      held.use(slots.take({ slug, versionId, fileNumber }, active))
      const blob = await blobs
        .put(file.body, { size, signal, ...(hash === undefined ? {} : { hash }) })
        .catch((error: unknown) => {
          throw withPath(error, path)
        })
      const one = { fileNumber, path, blob }
      arrived[place] = one
      await record.add(one)
    }
    try {
      await readTar({ body, limits: BUNDLE_LIMITS }, take)
    } finally {
      await record.rest()
    }
    return { files: whole().map(({ path, blob: { size, hash } }) => ({ path, size, hash })) }
  }

  /** A file that the site has must not be stored again: `sumUploads` does not count it. */
  async #isHeld({ size, known, hash }: ManifestFile): Promise<boolean> {
    if (size === 0) return true
    return known === true && (await this.parts.store.read.blobs.damagedAmong([hash!])).size === 0
  }

  /** At the end, as a thousand writes would take long; over a slow connection more often, so that little is lost. */
  #bundleWriter({ slug, versionId }: BundleUpload) {
    const { uploadRecorder, clock } = this.parts
    let waiting: ReceivedFile[] = []
    let written = clock()
    const rest = async () => {
      const rows = waiting.map(({ fileNumber, blob }) => ({ ...blob, versionId, fileNumber }))
      waiting = []
      written = clock()
      await uploadRecorder.add(slug, rows)
    }
    return {
      rest,
      async add(one: ReceivedFile): Promise<void> {
        waiting.push(one)
        if (clock() - written >= FLUSH_INTERVAL_MS) await rest()
      },
    }
  }

  /** The expected files by path, and the present name of the site. */
  async #loadManifest(
    signedSlug: string,
    versionId: string,
  ): Promise<{ slug: string; awaited: Map<string, ManifestEntry> }> {
    const { store, clock } = this.parts
    const version = await store.read.versions.find(versionId)
    // The site may have another name than when the target was signed.
    const site = await store.read.sites.find(version?.slug ?? signedSlug)
    if (site && !isRetired(site)) requireNotExpired(site, clock())
    if (version?.state !== 'pending') throw notPending()
    const { slug, files } = version
    const awaited = new Map(
      files.map((file, fileNumber) => [normalizeNfc(file.path), { ...file, fileNumber }]),
    )
    return { slug, awaited }
  }
}

/** Undefined for a repeated file and for metadata of operating systems. Paths are equal in both Unicode forms. */
function findExpected(
  { path, size }: ArchiveFile,
  awaited: Map<string, ManifestEntry>,
): ManifestEntry | undefined {
  const expected = awaited.get(normalizeNfc(path))
  if (!expected && isOsMetadata(path)) return undefined
  if (!expected) throw entryError(path, 'is not in the manifest')
  if (expected.received) throw entryError(path, 'occurs twice in the bundle')
  expected.received = true
  if (size !== expected.size) {
    const sentence = `The manifest declares ${pluralize(expected.size, 'byte')} for '${sanitizePath(path)}', but the bundle has ${size}`
    throw new ApiError('SIZE_MISMATCH', sentence, { details: { path: expected.path } })
  }
  return expected
}

export function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof ApiError) || !/^(HASH|SIZE)_MISMATCH$/.test(error.code)) return error
  return new ApiError(error.code, `'${sanitizePath(path)}': ${error.message}`, { details: { path } })
}
