import type { Readable } from 'node:stream'
import type {
  BundleReceipt,
  CreateAnswer,
  PublishRequest,
  UpdateAnswer,
  UploadPlan,
  UploadReceipt,
} from '../client/wire.ts'
import type { Addresses } from './address.ts'
import { Arrivals } from './arrival.ts'
import type { Blobs } from './blobs/blobs.ts'
import { Bundles } from './bundle.ts'
import { Failure } from './failure.ts'
import type { Caller } from './ownership.ts'
import type { PendingFile, Staged, Staging } from './stage.ts'
import type { Store } from './store/store.ts'
import {
  BUNDLE_BYTES,
  BUNDLE_TYPE,
  type Bundle,
  UPLOAD_SECONDS,
  type UploadQuery,
  type UploadTargets,
} from './upload.ts'
import { versionOf } from './version.ts'

interface PublishingOptions {
  store: Store
  blobs: Blobs
  staging: Staging
  targets: UploadTargets
  addresses: Addresses
  clock: () => number
}

/** What the headers of an upload say of its body. */
interface Said {
  contentType: string | undefined
  length: number | undefined
}

/** From a manifest to uploaded bytes (spec 4.3, 4.4 and 4.6, contract "Publish"); `Finalizing` goes on from there. */
export class Publishing {
  readonly #options: PublishingOptions
  readonly #arrivals: Arrivals
  readonly #bundles: Bundles

  constructor(options: PublishingOptions) {
    this.#options = options
    this.#arrivals = new Arrivals(options)
    this.#bundles = new Bundles({ ...options, arrivals: this.#arrivals })
  }

  /** Spec 4.3: a new site with its first version, pending. */
  async create(caller: Caller, request: PublishRequest): Promise<CreateAnswer> {
    const staged = await this.#options.staging.newSite(caller, request)
    return { ...this.#answer(staged), status: 'pending', ...staged.anonymous }
  }

  /** Spec 4.4: a new version of a site. Anonymous sites take their claim token in place of a key. */
  async update(caller: Caller, slug: string, request: PublishRequest): Promise<UpdateAnswer> {
    return this.#answer(await this.#options.staging.newVersion(caller, slug, request))
  }

  /** Contract, "Publish": fresh targets for what is still missing of a pending version. */
  async refresh(
    caller: Caller,
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateAnswer> {
    const { store, staging } = this.#options
    await staging.authorize(caller, slug, request.claimToken)
    const version = versionOf(await store.read.versions.byId(request.versionId), slug)
    if (version.state !== 'pending')
      throw new Failure('UPLOAD_EXPIRED', 'This version is finalized; nothing is missing')
    const arrived = new Set((await store.read.versions.arrivalsOf(version.id)).map((row) => row.file_number))
    const files = JSON.parse(version.files) as PendingFile[]
    const skipped = new Set(files.flatMap((file, index) => (file.known ? [index] : [])))
    return this.#answer(
      { slug, versionId: version.id, files, skipped, isNew: false, anonymous: undefined },
      arrived,
    )
  }

  /** Spec 4.6: takes one file's bytes. `key` and `query` are the signed address, which alone gates this. */
  async upload(key: string, query: UploadQuery, body: Readable, said: Said): Promise<UploadReceipt> {
    const { targets, blobs } = this.#options
    const upload = targets.read(key, query)
    if (!sameType(said.contentType, upload.contentType)) {
      const sentence = `The upload of '${upload.path}' must carry Content-Type: ${upload.contentType}`
      throw new Failure('CONTENT_TYPE_MISMATCH', sentence)
    }
    if (said.length !== undefined && said.length !== upload.size) {
      const sentence = `'${upload.path}' has ${upload.size} bytes in the manifest, but the upload has ${said.length}`
      throw new Failure('SIZE_MISMATCH', sentence)
    }
    const expected = { size: upload.size, ...(upload.hash === undefined ? {} : { hash: upload.hash }) }
    const { hash, size } = await this.#arrivals.during(() => blobs.receive(upload.versionId, body, expected))
    await this.#arrivals.add([{ version_id: upload.versionId, file_number: upload.fileNumber, hash, size }])
    return { path: upload.path, size, hash }
  }

  /** Takes many files at once, as `Bundles` does; the signed address alone gates this too. */
  async bundle(bundle: Bundle, query: UploadQuery, body: Readable, said: Said): Promise<BundleReceipt> {
    this.#options.targets.readBundle(bundle, query)
    if (!sameType(said.contentType, BUNDLE_TYPE)) {
      throw new Failure('CONTENT_TYPE_MISMATCH', `A bundle must carry Content-Type: ${BUNDLE_TYPE}`)
    }
    if (said.length !== undefined && said.length > BUNDLE_BYTES) {
      throw new Failure('PAYLOAD_TOO_LARGE', `A bundle may have at most ${BUNDLE_BYTES} bytes`)
    }
    return this.#bundles.receive(bundle, body)
  }

  #answer(staged: Staged, arrived = new Set<number>()): UpdateAnswer {
    const { targets, addresses } = this.#options
    const { slug, versionId, files, skipped } = staged
    const uploads: UploadPlan['uploads'] = []
    files.forEach(({ path, size, contentType, hash }, fileNumber) => {
      if (skipped.has(fileNumber) || arrived.has(fileNumber)) return
      uploads.push(targets.target({ slug, versionId, path, fileNumber, size, contentType, hash }))
    })
    return {
      slug,
      siteUrl: addresses.site(slug),
      upload: {
        versionId,
        uploads,
        ...(uploads.length > 0 && { bundle: targets.bundle({ slug, versionId }) }),
        skipped: [...skipped].map((index) => ({ path: files[index]!.path, reason: 'hash_match' as const })),
        finalizeUrl: addresses.finalize(slug),
        expiresInSeconds: UPLOAD_SECONDS,
      },
    }
  }
}

/** Media types are compared without regard to case and to spaces around them. */
function sameType(one: string | undefined, other: string): boolean {
  return one?.trim().toLowerCase() === other.trim().toLowerCase()
}
