import type { Readable } from 'node:stream'
import { mediaType } from '../client/sdk/media-type.ts'
import type { ArchiveAnswer, FinalizeAnswer, Viewer } from '../client/wire.ts'
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

/** What an archive publish says beside its files. */
export interface ArchiveWishes {
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

  create(caller: Caller, kind: ArchiveKind, body: Readable, wishes: ArchiveWishes): Promise<ArchiveAnswer> {
    return this.#publish(caller, kind, body, wishes, (versionId, files) =>
      this.#options.staging.newSite(caller, files, wishes.viewer, versionId),
    )
  }

  /** Refuses what it can before it reads the archive; the site is looked at again when the version is staged. */
  async update(
    caller: Caller,
    slug: string,
    kind: ArchiveKind,
    body: Readable,
    wishes: ArchiveWishes,
  ): Promise<ArchiveAnswer> {
    const { staging } = this.#options
    await staging.authorize(caller, slug, wishes.claimToken)
    const { viewer, baseVersionId, claimToken } = wishes
    const request = {
      ...viewer,
      ...(baseVersionId === undefined ? {} : { baseVersionId }),
      ...(claimToken === undefined ? {} : { claimToken }),
    }
    return this.#publish(caller, kind, body, wishes, (versionId, files) =>
      staging.newVersion(caller, slug, files, request, versionId),
    )
  }

  /** Nothing is kept of an archive that is refused at any point. */
  async #publish(
    caller: Caller,
    kind: ArchiveKind,
    body: Readable,
    wishes: ArchiveWishes,
    stage: (versionId: string, files: StoredFile[]) => Promise<Staged>,
  ): Promise<ArchiveAnswer> {
    const { staging, finalizing, blobs, clock } = this.#options
    const limits = staging.limitsFor(caller)
    const wrong = viewerProblems(wishes.viewer, '')
    if (wrong.length > 0) throw invalid(wrong)
    const versionId = newId(clock())
    let staged: Staged | undefined
    let finalized: FinalizeAnswer
    let unpacked: Unpacked
    try {
      unpacked = await this.#unpack(versionId, kind, body, limits)
      staged = await stage(versionId, unpacked.files)
      await this.#arrived(versionId, unpacked.received)
      finalized = await finalizing.finalize(caller, staged.slug, { versionId, live: wishes.live })
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

  async #unpack(batch: string, kind: ArchiveKind, body: Readable, limits: FileLimits): Promise<Unpacked> {
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
