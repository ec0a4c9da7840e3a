import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import { Tally } from '../../packages/http-server/clients/tally.ts'
import type {
  ArchiveResponse,
  FileLimits,
  FinalizeResponse,
  PublishRequest,
} from '../../protocol/api/publish.schema.ts'
import type { LinkedFile } from '../../protocol/folder/archive-links.ts'
import type { IncludeOptions } from '../../protocol/ignore/default-rules.ts'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { caseCollisions } from '../../protocol/manifest/folder.ts'
import { type StoredFile, sumSizes, validateManifest } from '../../protocol/manifest/manifest.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { MAX_PATH_LENGTH } from '../../protocol/manifest/paths.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { describeSkipped } from '../../protocol/publish-story.ts'
import { type Caller, publishScope } from '../accounts/authorization.ts'
import { holdersOf, type SiteHolder } from '../accounts/quotas.ts'
import type { StoredBlob } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { ApiError, invalidField, validationError } from '../lib/errors.ts'
import { SECOND_MS } from '../lib/time.ts'
import { newId } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { toBatches } from '../store/statement.ts'
import { INDEPENDENT } from '../store/store.ts'
import type { Site } from '../store/tables/sites.ts'
import {
  type ArchiveFile,
  type ArchiveKind,
  type ReadArchive,
  readArchive,
  readContents,
  selectFolder,
} from './archive/archive.ts'
import type { ContentFile } from './archive/content.ts'
import type { SpoolSpace } from './archive/spool.ts'
import type { Finalizer } from './finalize.ts'
import type { PendingVersionStore, StagedVersion } from './stage.ts'
import { removeDiscarded } from './upload-recorder.ts'

type ArchiveSource =
  | { kind: ArchiveKind; body: Readable }
  | { kind: 'contents'; files: readonly ContentFile[] }

export interface ArchiveRequest {
  source: ArchiveSource
  fields: Omit<PublishRequest, 'files' | 'emptyFiles'>
  live: boolean
  ifChanged: boolean
  allowSecrets?: string[] | undefined
  include: IncludeOptions
  /** Otherwise the contents of a top folder that all files share are the site. */
  keepTopFolder: boolean
  /** Rejects when the credential of the caller has ended while the files arrived. */
  confirmCaller: () => Promise<void>
}

const REPLACED = 'Newer uploads of this site have replaced this one before it was complete'

type ArchivePublisherParts = Pick<Parts, 'store' | 'blobs' | 'clock' | 'quotas' | 'log'> & {
  pendingVersions: PendingVersionStore
  finalizer: Finalizer
  /** An existing folder for archives that are too large for memory. */
  spoolFolder: string
  spoolSpace: SpoolSpace
  /** In seconds. Received files without a version may be deleted when they are older. */
  pendingLifetime: number
}

interface ReceivedFile {
  file: StoredFile | { path: string; size: 0 }
  blob?: StoredBlob
}

interface UnpackedArchive extends Pick<ReadArchive, 'excluded' | 'notes' | 'removedFolder'> {
  files: StoredFile[]
  blobs: StoredBlob[]
  emptyFiles: string[]
}

/** Same rules as a manifest, and live when it returns (contract, "One request"). */
export class ArchivePublisher extends Component<ArchivePublisherParts> {
  readonly #receipts = new Receipts(this.parts)

  /** Rejects a name before reading the archive. */
  async create(caller: Caller, request: ArchiveRequest): Promise<ArchiveResponse> {
    const site = await this.parts.pendingVersions.assertMayCreate(caller, request.fields)
    return this.#publish(caller, request, site, (manifest, versionId) =>
      this.parts.pendingVersions.newSite(caller, manifest, versionId),
    )
  }

  /** Rejects what it can before reading the archive; the site is checked again when the version is staged. */
  async update(caller: Caller, slug: string, request: ArchiveRequest): Promise<ArchiveResponse> {
    const { pendingVersions } = this.parts
    const { claimToken, preview } = request.fields
    const scope = publishScope(preview)
    const site = await pendingVersions.authorize(caller, slug, { claimToken, scope })
    return this.#publish(caller, request, site, (manifest, versionId) =>
      pendingVersions.newVersion({ caller, slug, request: manifest, versionId }),
    )
  }

  /** A rejected archive leaves nothing behind. */
  async #publish(
    caller: Caller,
    request: ArchiveRequest,
    site: Site | undefined,
    stage: (manifest: PublishRequest, versionId: string) => Promise<StagedVersion>,
  ): Promise<ArchiveResponse> {
    const { pendingVersions, finalizer, blobs, clock } = this.parts
    const problems = pendingVersions.validateFields(request.fields)
    if (problems.length > 0) throw validationError(problems)
    await blobs.assertSpace()
    const versionId = newId(clock())
    let staged: StagedVersion | undefined
    let finalized: FinalizeResponse
    let unpacked: UnpackedArchive
    /** Without a row, and with one. */
    const [received, recorded]: [StoredBlob[], StoredBlob[]] = [[], []]
    try {
      const { account, address } = caller
      const holder = site ?? {
        ownerId: account?.id ?? null,
        network: account ? null : this.parts.quotas.hashNetwork(address),
      }
      const limits = await pendingVersions.limitsFor(caller, site)
      unpacked = await this.#unpack(received, caller, request, { holder, limits })
      await request.confirmCaller()
      const { files, emptyFiles } = unpacked
      staged = await stage({ ...request.fields, files, emptyFiles }, versionId)
      await this.#recordReceived(versionId, unpacked.blobs)
      const kept = new Set(unpacked.blobs.map(({ object }) => object))
      recorded.push(...received.splice(0))
      await this.#discard(recorded.filter(({ object }) => !kept.has(object)))
      const { live, ifChanged, allowSecrets = [] } = request
      const finalization = { versionId, live, ifChanged, allowSecrets }
      finalized = await finalizer.finalize(caller, staged.slug, finalization)
    } catch (error) {
      const isReplaced =
        staged !== undefined &&
        error instanceof ApiError &&
        error.code === 'NOT_FOUND' &&
        (await this.#isReplaced(staged).catch(() => false))
      await this.#undo(staged, received, recorded)
      throw isReplaced ? new ApiError('UPLOAD_EXPIRED', REPLACED) : error
    }
    return {
      ...finalized,
      fileCount: staged.files.length,
      totalBytes: sumSizes(staged.files),
      excluded: unpacked.excluded,
      ...(unpacked.notes.length === 0 ? {} : { notes: unpacked.notes }),
      ...(unpacked.removedFolder === '' ? {} : { removedFolder: unpacked.removedFolder }),
      ...(staged.removal && { removal: staged.removal }),
      ...(staged.changes && { changes: staged.changes }),
      ...staged.anonymous,
    }
  }

  /** Never rejects: the refusal is what the publisher has to know, and sweeps delete what is left. */
  async #undo(
    staged: StagedVersion | undefined,
    received: readonly StoredBlob[],
    recorded: readonly StoredBlob[],
  ): Promise<void> {
    const { pendingVersions, store, blobs, log } = this.parts
    const report = (error: unknown) =>
      log.warn('a sweep will delete what is left of a failed publish', { slug: staged?.slug, error })
    if (staged) await pendingVersions.abort(staged).catch(report)
    await this.#discard(received).catch(report)
    const objects = [...received, ...recorded].map(({ object }) => object)
    // Without waiting for a sweep: repeated archives take no more space than one.
    for (const batch of toBatches(objects)) await removeDiscarded(store, blobs, batch).catch(report)
  }

  /** Newer uploads of the site may have ended the version before it was finalized. */
  async #isReplaced({ slug, versionId }: StagedVersion): Promise<boolean> {
    // As the finalize that was refused has seen them.
    const { versions, sites } = this.parts.store.newest
    return (await versions.header(versionId)) === undefined && (await sites.find(slug)) !== undefined
  }

  async #recordReceived(versionId: string, received: readonly StoredBlob[]): Promise<void> {
    const rows = received.map((one, fileNumber) => ({ ...one, versionId, fileNumber }))
    await this.parts.store.write('unread', INDEPENDENT, (tx) => tx.versions.recordArrivals(rows))
  }

  async #discard(received: readonly StoredBlob[]): Promise<void> {
    const objects = received.map(({ object }) => object)
    if (objects.length > 0)
      await this.parts.store.write('relaxed', INDEPENDENT, (tx) => tx.blobs.discard(objects))
  }

  /** Adds to `received` what the publish has to record or to discard. */
  async #unpack(
    received: StoredBlob[],
    caller: Caller,
    { source, fields, include, keepTopFolder }: ArchiveRequest,
    { holder, limits }: { holder: SiteHolder; limits: FileLimits },
  ): Promise<UnpackedArchive> {
    const { blobs, spoolFolder, clock, pendingLifetime } = this.parts
    const endsAt = clock() + pendingLifetime * SECOND_MS
    const spoolSpace = this.parts.spoolSpace.shareOf(rateLimitSubnet(caller.address))
    using receipt = this.#receipts.open(holder, limits.siteBytes)
    // In the order of the archive, in which a later file of a tar replaces an earlier one of the same path.
    const found: ReceivedFile[] = []
    const archiveLimits = {
      files: limits.files,
      fileBytes: limits.fileBytes,
      totalBytes: limits.siteBytes,
      pathCharacters: MAX_PATH_LENGTH,
      selection: selectFolder({ include, keepsTopFolder: keepTopFolder, isMerged: fields.merge === true }),
    }
    const store = async (file: ArchiveFile) => {
      const { path, size, body } = file
      const place = found.push({ file: { path, size: 0 } }) - 1
      if (size === 0) return
      await receipt.add(size)
      const blob = await blobs.put(body, { size })
      received.push(blob)
      if (clock() > endsAt) throw tooLong()
      const { contentType = mediaType(path, file.start) } = file
      found[place] = { file: { path, size, contentType, hash: blob.hash }, blob }
    }
    const assertSpace = (bytes: number) => blobs.assertLocalSpace(bytes)
    const selected =
      source.kind === 'contents'
        ? await readContents({ ...source, limits: archiveLimits }, store)
        : await readArchive({ ...source, spoolFolder, spoolSpace, assertSpace, limits: archiveLimits }, store)
    const isTar = source.kind === 'tar' || source.kind === 'tar.gz'
    const unpacked = await toSite(isTar ? withoutReplaced(found) : found, selected)
    await nextTurn()
    const { files, emptyFiles, excluded } = unpacked
    if (files.length + emptyFiles.length === 0 && excluded.length > 0) throw nothingLeft(source, excluded)
    const problems = validateManifest({ ...fields, files, emptyFiles }, limits)
    if (problems.length > 0) throw validationError(problems)
    return unpacked
  }
}

/** In turns: names with marks take milliseconds. */
async function toSite(
  found: readonly ReceivedFile[],
  { kept, copies, indexes, excluded, notes, removedFolder }: ReadArchive,
): Promise<UnpackedArchive> {
  const inArchive = withCopies(found, kept, copies)
  const aliases = new Set(indexes)
  const named = inArchive.flatMap(({ file: { path, size } }) => {
    const name = path.slice(removedFolder.length)
    return aliases.has(path) ? [] : { path: name, local: name, size }
  })
  const all = inArchive.map(({ file, blob }) => {
    return { file: { ...file, path: normalizeNfc(file.path.slice(removedFolder.length)) }, blob }
  })
  await nextTurn()
  return {
    files: all.flatMap(({ file }) => ('hash' in file ? file : [])),
    blobs: all.flatMap(({ blob }) => blob ?? []),
    emptyFiles: all.flatMap(({ file }) => ('hash' in file ? [] : file.path)),
    excluded,
    notes: [...notes, ...caseCollisions(named)],
    removedFolder,
  }
}

function withoutReplaced(files: readonly ReceivedFile[]): ReceivedFile[] {
  return [...new Map(files.map((one) => [one.file.path, one])).values()]
}

/** The kept files, and those with the bytes of others. */
function withCopies(
  files: readonly ReceivedFile[],
  kept: ReadonlySet<string>,
  copies: readonly LinkedFile[],
): ReceivedFile[] {
  const sources = new Map(files.map((one) => [one.file.path, one]))
  const copied = copies.map(({ path, source }): ReceivedFile => {
    const { file, blob } = sources.get(source)!
    return 'hash' in file && blob
      ? { file: { ...file, path, contentType: linkedType(path, file) }, blob }
      : { file: { path, size: 0 } }
  })
  return [...files.filter(({ file }) => kept.has(file.path)), ...copied]
}

const TEXT_TYPE = /^text\//
const NO_BYTES = new Uint8Array()

/** The type of its own name, if that has one, else that of the file, whose bytes may have decided it. */
function linkedType(path: string, { path: source, contentType }: StoredFile): string {
  const own = mediaType(path, TEXT_TYPE.test(contentType) ? NO_BYTES : undefined)
  return own === mediaType(source) ? contentType : own
}

function tooLong(): ApiError {
  const sentence = 'The archive took longer than the time in which an upload must be finalized.'
  return new ApiError('REQUEST_TIMEOUT', sentence)
}

function nothingLeft({ kind }: ArchiveSource, excluded: readonly Exclusion[]): ApiError {
  const field = kind === 'contents' ? 'files' : kind === 'html' ? 'body' : 'archive'
  return invalidField(field, ['contains no files to publish', describeSkipped(excluded)].join('. '))
}

/** After these bytes, what the holder has is read again. */
const BYTES_PER_CHECK = 8 * 2 ** 20

/** Counts the contents of an archive until its version is staged, which then counts them. */
interface Receipt extends Disposable {
  /** Before the content is stored. QUOTA_EXCEEDED when there is no room for it. */
  add(bytes: number): Promise<void>
}

/** Contents of archives that are stored and not staged yet: uncounted, many archives together could fill the disk. */
class Receipts extends Component<Pick<ArchivePublisherParts, 'quotas' | 'store'>> {
  readonly #received = new Tally()

  /** `siteBytes`: the largest site of the holder. */
  open(holder: SiteHolder, siteBytes: number): Receipt {
    const holders = holdersOf(holder)
    let own = 0
    // A small archive of an account reads nothing: its version is checked when it is staged.
    let unchecked = holder.ownerId === null ? BYTES_PER_CHECK : 0
    const count = (bytes: number) => {
      own += bytes
      for (const key of holders) this.#received.add(key, bytes)
    }
    return {
      add: async (bytes) => {
        count(bytes)
        unchecked += bytes
        if (unchecked < BYTES_PER_CHECK) return
        unchecked = 0
        const { store, quotas } = this.parts
        // As of now: what arrives while the store answers must not refuse the archives before it.
        const sent = new Map(holders.map((key) => [key, this.#received.of(key)]))
        await quotas.assertRoom(store.read, holder, { sent, siteBytes })
      },
      [Symbol.dispose]: () => {
        if (own > 0) count(-own)
      },
    }
  }
}
