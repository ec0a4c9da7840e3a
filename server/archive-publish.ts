import type { Readable } from 'node:stream'
import { mediaType } from '../client/sdk/media-type.ts'
import type { ArchiveAnswer, FinalizeAnswer, PublishRequest, Viewer } from '../client/wire.ts'
import { type ArchiveKind, readArchive, type Skipped } from './archive/archive.ts'
import type { Blobs, Received } from './blobs/blobs.ts'
import { invalid } from './failure.ts'
import {
  type FileLimits,
  MOST_PATH_CHARACTERS,
  manifestProblems,
  type StoredFile,
  totalBytes,
} from './file.ts'
import type { Finalizing } from './finalize.ts'
import { newId } from './key.ts'
import type { Caller } from './ownership.ts'
import type { Staged, Staging } from './stage.ts'
import type { Store } from './store/store.ts'
import { viewerProblems } from './viewer.ts'

/** An archive on its way, and what its publish says beside the files. */
export interface ArchiveRequest {
  kind: ArchiveKind
  body: Readable
  viewer: Viewer
  live: boolean
  baseVersionId: string | undefined
  claimToken: string | undefined
}

interface ArchivesOptions {
  store: Store
  blobs: Blobs
  staging: Staging
  finalizing: Finalizing
  /** An existing folder for archives that are too large for memory. */
  spoolFolder: string
  clock: () => number
}

interface Unpacked {
  files: StoredFile[]
  received: Received[]
  skipped: Skipped[]
}

/** A whole folder in one request: the same rules as a manifest, and live when it is answered (contract, "One request"). */
export class Archives {
  readonly #options: ArchivesOptions

  constructor(options: ArchivesOptions) {
    this.#options = options
  }

  create(caller: Caller, request: ArchiveRequest): Promise<ArchiveAnswer> {
    return this.#publish(caller, request, (manifest, versionId) =>
      this.#options.staging.newSite(caller, manifest, versionId),
    )
  }

  /** Refuses what it can before it reads the archive; the site is looked at again when the version is staged. */
  async update(caller: Caller, slug: string, request: ArchiveRequest): Promise<ArchiveAnswer> {
    const { staging } = this.#options
    await staging.authorize(caller, slug, request.claimToken)
    return this.#publish(caller, request, (manifest, versionId) =>
      staging.newVersion(caller, slug, manifest, versionId),
    )
  }

  /** Nothing is kept of an archive that is refused at any point. */
  async #publish(
    caller: Caller,
    request: ArchiveRequest,
    stage: (manifest: PublishRequest, versionId: string) => Promise<Staged>,
  ): Promise<ArchiveAnswer> {
    const { staging, finalizing, blobs, clock } = this.#options
    const limits = staging.limitsFor(caller)
    const wrong = viewerProblems(request.viewer, '')
    if (wrong.length > 0) throw invalid(wrong)
    const versionId = newId(clock())
    let staged: Staged | undefined
    let finalized: FinalizeAnswer
    let unpacked: Unpacked
    try {
      unpacked = await this.#unpack(versionId, request, limits)
      staged = await stage(manifestOf(request, unpacked.files), versionId)
      await this.#arrived(versionId, unpacked.received)
      finalized = await finalizing.finalize(caller, staged.slug, { versionId, live: request.live })
    } catch (error) {
      if (staged) await staging.withdraw(staged)
      await blobs.discard(versionId)
      throw error
    }
    return {
      ...finalized,
      fileCount: unpacked.files.length,
      totalBytes: totalBytes(unpacked.files),
      skipped: unpacked.skipped,
      ...staged.anonymous,
    }
  }

  /** Records that the bytes have come, as uploads would. */
  async #arrived(versionId: string, received: readonly Received[]): Promise<void> {
    const rows = received.map((one, index) => ({ version_id: versionId, file_number: index, ...one }))
    await this.#options.store.write('soft', (tx) => tx.versions.arrive(rows))
  }

  async #unpack(batch: string, { kind, body }: ArchiveRequest, limits: FileLimits): Promise<Unpacked> {
    const { blobs, spoolFolder } = this.#options
    const found: { file: StoredFile; received: Received }[] = []
    const { skipped } = await readArchive(
      {
        body,
        kind,
        spoolFolder,
        limits: {
          files: limits.files,
          fileBytes: limits.fileBytes,
          totalBytes: limits.siteBytes,
          pathCharacters: MOST_PATH_CHARACTERS,
        },
      },
      async ({ path, size, body: bytes }) => {
        const received = await blobs.receive(batch, bytes, { size })
        found.push({ file: { path, size, contentType: mediaType(path), hash: received.hash }, received })
      },
    )
    const files = found.map((one) => one.file)
    const problems = manifestProblems(files, limits)
    if (problems.length > 0) throw invalid(problems)
    return { files, received: found.map((one) => one.received), skipped }
  }
}

/** What a JSON publish of the same would say. */
function manifestOf(
  { viewer, baseVersionId, claimToken }: ArchiveRequest,
  files: StoredFile[],
): PublishRequest {
  return {
    files,
    ...viewer,
    ...(baseVersionId === undefined ? {} : { baseVersionId }),
    ...(claimToken === undefined ? {} : { claimToken }),
  }
}
