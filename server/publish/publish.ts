import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type {
  BundleReceipt,
  CreateResponse,
  PublishRequest,
  UpdateResponse,
  UploadPlan,
  UploadReceipt,
} from '../../protocol/api/publish.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { assertPermitted, type Caller, publishScope } from '../accounts/authorization.ts'
import type { StoredBlob } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { ApiError, tooLarge } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import { findReplacedId } from '../sites/preview.ts'
import { requireVersion } from '../sites/version.ts'
import { BundleUploads, withPath } from './bundle-upload.ts'
import {
  ActiveUpload,
  notInManifest,
  notPending,
  PendingManifestCache,
  UploadSlots,
} from './pending-uploads.ts'
import {
  BUNDLE_CONTENT_TYPE,
  type BundleUpload,
  MAX_BUNDLE_BYTES,
  type SignedUpload,
  type SignedUploadUrls,
  UPLOAD_TTL_SECONDS,
  type UploadQuery,
} from './signed-uploads.ts'
import { compareManifests, type PendingVersionStore, type StagedVersion } from './stage.ts'
import { UploadRecorder } from './upload-recorder.ts'

type PublishServiceParts = Pick<Parts, 'store' | 'blobs' | 'addresses' | 'clock' | 'log' | 'publishQueue'> & {
  pendingVersions: PendingVersionStore
  targets: SignedUploadUrls
}

interface UploadHeaders {
  contentType: string | undefined
  contentLength: number | undefined
}

/** Spec 4.3, 4.4, 4.6, contract "Publish". Yields between steps of up to 25 ms each for 1,000 long names. */
export class PublishService extends Component<PublishServiceParts> {
  readonly #manifests = new PendingManifestCache(this.parts)
  readonly #slots = new UploadSlots()
  readonly #uploadRecorder = new UploadRecorder({ ...this.parts, manifests: this.#manifests })
  readonly #bundleUploads = new BundleUploads({
    ...this.parts,
    uploadRecorder: this.#uploadRecorder,
    slots: this.#slots,
  })

  constructor(parts: PublishServiceParts) {
    super(parts)
    parts.store.onChange((names) => this.#invalidate(names))
  }

  /** Spec 4.3. */
  async create(caller: Caller, request: PublishRequest): Promise<CreateResponse> {
    await this.parts.blobs.assertSpace()
    await turn()
    const { generation } = this.#manifests
    const staged = await this.parts.pendingVersions.newSite(caller, request)
    await this.#await(caller, staged, generation)
    return { ...this.#buildResponse(staged), status: 'pending', ...staged.anonymous }
  }

  /** Spec 4.4. Anonymous sites need their claim token in place of a key. */
  async update(caller: Caller, slug: string, request: PublishRequest): Promise<UpdateResponse> {
    await this.parts.blobs.assertSpace()
    await turn()
    const { generation } = this.#manifests
    const staged = await this.parts.pendingVersions.newVersion({ caller, slug, request })
    await this.#await(caller, staged, generation)
    return this.#buildResponse(staged)
  }

  async #await(caller: Caller, staged: StagedVersion, generation: number): Promise<void> {
    const { slug, files, skipped } = staged
    this.#manifests.add(staged, generation)
    this.parts.publishQueue.expectUploads(caller, slug, files.length - skipped.size)
    await turn()
  }

  async refresh(
    caller: Caller,
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateResponse> {
    const { store, pendingVersions, clock } = this.parts
    const { claimToken } = request
    const site = await pendingVersions.authorize(caller, slug, { claimToken, scope: 'preview' })
    const version = requireVersion(await store.read.versions.find(request.versionId), slug)
    const scope = publishScope(version.previewName)
    await assertPermitted(store.read, caller, { scope, reach: 'site' }, slug)
    if (version.state !== 'pending') throw notPending()
    const arrivals = await store.newest.versions.listArrivals(version.id)
    const arrived = new Set(arrivals.map((row) => row.fileNumber))
    const files = version.files
    const known = files.flatMap((file, index) => (file.known ? [index] : []))
    const damaged = await store.read.blobs.damagedAmong(known.map((index) => files[index]!.hash!))
    const skipped = new Set(known.filter((index) => !damaged.has(files[index]!.hash!)))
    const replacedId = await findReplacedId(store.read, site, version.previewName, clock())
    const replaced = await store.read.versions.findFiles(replacedId)
    const compared = compareManifests(replaced, files)
    return this.#buildResponse({ slug, versionId: version.id, files, skipped, ...compared }, arrived)
  }

  /** Whether a signed URL is for a site that does not expire, as those without an account do. UPLOAD_EXPIRED for another URL. */
  async isOfAccount(target: string | BundleUpload, query: UploadQuery): Promise<boolean> {
    const { targets, store } = this.parts
    if (typeof target !== 'string') targets.verifyBundle(target, query)
    const { versionId } = typeof target === 'string' ? targets.verify(target, query) : target
    return (await this.#manifests.load(versionId, store.read))?.expiresAt === null
  }

  /** Spec 4.6: receives one file. `key` and `query` are the signed URL, the only credential. */
  async upload(
    key: string,
    query: UploadQuery,
    body: Readable,
    headers: UploadHeaders,
  ): Promise<UploadReceipt> {
    const upload = this.parts.targets.verify(key, query)
    this.parts.publishQueue.uploadsArrived(upload.slug, 1)
    if (headers.contentType !== ANY_TYPE && !isSameMediaType(headers.contentType, upload.contentType)) {
      const sentence = `'${upload.path}' must be uploaded with Content-Type: ${upload.contentType}`
      throw new ApiError('CONTENT_TYPE_MISMATCH', sentence)
    }
    if (headers.contentLength !== undefined && headers.contentLength !== upload.size) {
      const sentence = `The manifest declares ${pluralize(upload.size, 'byte')} for '${upload.path}', but the upload has ${headers.contentLength}`
      throw new ApiError('SIZE_MISMATCH', sentence)
    }
    const { versionId, path, fileNumber } = upload
    const active = new ActiveUpload(body)
    using _slot = this.#slots.take(upload, active)
    const { slug, blob } = await this.#receive(upload, body, active)
    await this.#uploadRecorder.add(slug, [{ ...blob, versionId, fileNumber }])
    return { path, size: blob.size, hash: blob.hash }
  }

  /** Compares the claims with the manifest before the first byte. */
  async #receive(
    upload: SignedUpload,
    body: Readable,
    active: ActiveUpload,
  ): Promise<{ slug: string; blob: StoredBlob }> {
    const { versionId, fileNumber, size, hash } = upload
    const manifest = await this.#manifests.manifest(versionId, upload.slug)
    if (!manifest.has({ fileNumber, size, hash })) throw notInManifest()
    const expected = { size, signal: active.signal, ...(hash === undefined ? {} : { hash }) }
    const blob = await active.run(this.parts.blobs.put(body, expected)).catch((error: unknown) => {
      throw withPath(error, upload.path)
    })
    return { slug: manifest.slug, blob }
  }

  /** See `BundleUpload`; the signed URL is the only credential. */
  async uploadBundle(
    bundle: BundleUpload,
    query: UploadQuery,
    body: Readable,
    headers: UploadHeaders,
  ): Promise<BundleReceipt> {
    this.parts.targets.verifyBundle(bundle, query)
    this.parts.publishQueue.uploadsArrived(bundle.slug)
    if (!isSameMediaType(headers.contentType, BUNDLE_CONTENT_TYPE)) {
      const sentence = `A bundle must be uploaded with Content-Type: ${BUNDLE_CONTENT_TYPE}`
      throw new ApiError('CONTENT_TYPE_MISMATCH', sentence)
    }
    if ((headers.contentLength ?? 0) > MAX_BUNDLE_BYTES) throw tooLarge('The bundle', MAX_BUNDLE_BYTES)
    return this.#bundleUploads.receive(bundle, body)
  }

  /** These sites have changed: their versions may no longer be pending. */
  async #invalidate(names: readonly string[] | undefined): Promise<void> {
    this.#manifests.invalidate(names)
    const active = this.#slots.listVersions(names)
    if (active.size === 0) return
    // The change is committed, so this must not fail. `UploadRecorder` rejects uploads that continue.
    const pending = await this.parts.store.read.versions.pendingAmong([...active]).catch(() => active)
    for (const id of active) if (!pending.has(id)) this.#slots.stopVersion(id)
  }

  #buildResponse(
    staged: Omit<StagedVersion, 'isNew' | 'expiresAt' | 'anonymous'>,
    arrived = new Set<number>(),
  ): UpdateResponse {
    const { targets, addresses } = this.parts
    const { slug, versionId, files, skipped, removal, changes } = staged
    const uploads: UploadPlan['uploads'] = []
    files.forEach(({ path, size, contentType, hash }, fileNumber) => {
      if (size === 0 || skipped.has(fileNumber) || arrived.has(fileNumber)) return
      uploads.push(targets.target({ slug, versionId, path, fileNumber, size, contentType, hash }))
    })
    return {
      slug,
      siteUrl: addresses.site(slug),
      upload: {
        versionId,
        uploads,
        ...(uploads.length > 0 && { bundle: targets.bundleTarget({ slug, versionId }) }),
        skipped: [...skipped].map((index) => ({ path: files[index]!.path, reason: 'hash_match' as const })),
        finalizeUrl: addresses.finalize(slug),
        expiresInSeconds: UPLOAD_TTL_SECONDS,
      },
      ...(removal && { removal }),
      ...(changes && { changes }),
    }
  }
}

/** Some generated clients send the media range of the OpenAPI document. It states no type: the signed one applies. */
const ANY_TYPE = '*/*'

function isSameMediaType(one: string | undefined, other: string): boolean {
  return one?.trim().toLowerCase() === other.trim().toLowerCase()
}
