import type { Readable } from 'node:stream'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { isRetired, requireNotExpired } from '../accounts/authorization.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { Arrival } from '../store/tables/versions.ts'
import type { StagedVersion } from './stage.ts'

type ArrivedFile = Pick<Arrival, 'fileNumber' | 'size' | 'hash'>

/** 72 bytes for each file, so at most 18 MB with 1,000 files each. */
const MAX_CACHED_MANIFESTS = 256

const HASH_CHARACTERS = 64
const NO_HASH = '\0'.repeat(HASH_CHARACTERS)

const MAX_KEPT_INVALIDATIONS = 64

class ManifestFiles {
  readonly slug: string
  /** When the site expires, as of the read. */
  readonly expiresAt: number | null
  readonly #sizes: Float64Array
  /** Hexadecimal digits; zero bytes where the manifest declares no hash. */
  readonly #hashes: Buffer

  constructor(slug: string, files: readonly StoredFile[], expiresAt: number | null = null) {
    this.slug = slug
    this.expiresAt = expiresAt
    this.#sizes = Float64Array.from(files, (file) => file.size)
    // No part of a pool, which it would keep.
    this.#hashes = Buffer.allocUnsafeSlow(files.length * HASH_CHARACTERS)
    this.#hashes.write(files.map(({ hash = NO_HASH }) => hash).join(''), 'latin1')
  }

  /** Compares the hash only where the manifest declares one. */
  has({ fileNumber, size, hash }: Omit<ArrivedFile, 'hash'> & { hash?: string | undefined }): boolean {
    if (this.#sizes[fileNumber] !== size) return false
    const start = fileNumber * HASH_CHARACTERS
    return (
      this.#hashes[start] === 0 || hash === this.#hashes.toString('latin1', start, start + HASH_CHARACTERS)
    )
  }
}

/**
 * Checks an upload before its first byte without a read of the store. Every change of a version's state calls
 * `notifyChanged`, which invalidates the entry here immediately, in other processes within a second: `UploadRecorder`
 * checks again within its transaction.
 */
export class PendingManifestCache extends Component<Pick<Parts, 'store'>> {
  readonly #manifests = new Map<string, ManifestFiles>()
  #generation = 0
  readonly #invalidated = new Map<number, readonly string[] | undefined>()

  get generation(): number {
    return this.#generation
  }

  /**
   * UPLOAD_EXPIRED without a pending version of this id, SITE_EXPIRED after the expiry of its site. The slug in a signed
   * address only matters without a version: the site may have another name since.
   */
  async manifest(versionId: string, signedSlug: string): Promise<ManifestFiles> {
    const { store } = this.parts
    const manifest = await this.load(versionId, store.read)
    // It may have an owner, or another expiry, since.
    if (!manifest || (manifest.expiresAt !== null && manifest.expiresAt <= store.clock())) {
      const site = await store.read.sites.find(manifest?.slug ?? signedSlug)
      if (site && !isRetired(site)) requireNotExpired(site, store.clock())
    }
    if (!manifest) throw notPending()
    return manifest
  }

  /** From the cache or read with `queries`; undefined when the version is not pending. */
  async load(
    versionId: string,
    { versions, sites }: Pick<Queries, 'versions' | 'sites'>,
  ): Promise<ManifestFiles | undefined> {
    const cached = this.#manifests.get(versionId)
    if (cached) {
      this.#manifests.delete(versionId)
      this.#manifests.set(versionId, cached)
      return cached
    }
    const generation = this.#generation
    const version = await versions.find(versionId)
    if (version?.state !== 'pending') return undefined
    const site = await sites.find(version.slug)
    const manifest = new ManifestFiles(version.slug, version.files, site?.expiresAt)
    if (generation === this.#generation) this.#add(versionId, manifest)
    return manifest
  }

  /** One that has just been stored, unless its site was invalidated since `generation`, which is from before. */
  add({ versionId, slug, files, expiresAt }: StagedVersion, generation: number): void {
    for (let later = generation + 1; later <= this.#generation; later++) {
      const names = this.#invalidated.get(later)
      if (!names || names.includes(slug)) return
    }
    this.#add(versionId, new ManifestFiles(slug, files, expiresAt))
  }

  /** Without names, all. */
  invalidate(names: readonly string[] | undefined): void {
    this.#invalidated.set(++this.#generation, names)
    this.#invalidated.delete(this.#generation - MAX_KEPT_INVALIDATIONS)
    if (names === undefined) this.#manifests.clear()
    else for (const [id, { slug }] of this.#manifests) if (names.includes(slug)) this.#manifests.delete(id)
  }

  #add(versionId: string, manifest: ManifestFiles): void {
    this.#manifests.set(versionId, manifest)
    if (this.#manifests.size > MAX_CACHED_MANIFESTS)
      this.#manifests.delete(this.#manifests.keys().next().value!)
  }
}

export function notPending(): ApiError {
  const sentence = 'This version accepts no more uploads: it is finalized or deleted'
  return new ApiError('UPLOAD_EXPIRED', sentence, { hint: 'Publish the files as a new version.' })
}

export function notInManifest(): ApiError {
  return new ApiError('INVALID_UPLOAD_TOKEN', 'The upload does not match the manifest of its version')
}

interface UploadPlace {
  slug: string
  versionId: string
  fileNumber: number
}

export class ActiveUpload {
  readonly #body: Readable & { complete?: boolean }
  readonly #replaced = Promise.withResolvers<never>()
  readonly #controller = new AbortController()

  constructor(body: Readable) {
    this.#body = body
    this.#replaced.promise.catch(() => undefined)
  }

  /** Aborted with the failure that ends the upload: no more of its bytes may be kept. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(reason: ApiError): void {
    this.#controller.abort(reason)
  }

  /** Ends the upload, unless all of its bytes were received: it then ends soon without help. */
  replace(): void {
    if (this.#body.complete) return
    const reason = new ApiError('UPLOAD_EXPIRED', 'A newer upload of the same file replaced this one')
    this.stop(reason)
    this.#replaced.reject(reason)
  }

  /** Rejects as soon as the upload is replaced, although `work` may still be running. */
  run<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined)
    return Promise.race([work, this.#replaced.promise])
  }
}

/** One at a time for each file, so that a version has at most one staged and one arriving copy of it. */
export class UploadSlots {
  readonly #bySlug = new Map<string, Map<string, { versionId: string; upload: ActiveUpload }>>()

  /** Ends an earlier upload of the file; valid until the slot is disposed. */
  take({ slug, versionId, fileNumber }: UploadPlace, upload: ActiveUpload): Disposable {
    const place = `${versionId} ${fileNumber}`
    const slots = this.#bySlug.get(slug) ?? new Map()
    this.#bySlug.set(slug, slots)
    const earlier = slots.get(place)?.upload
    slots.set(place, { versionId, upload })
    if (earlier !== upload) earlier?.replace()
    return {
      [Symbol.dispose]: () => {
        if (slots.get(place)?.upload !== upload) return
        slots.delete(place)
        if (slots.size === 0 && this.#bySlug.get(slug) === slots) this.#bySlug.delete(slug)
      },
    }
  }

  /** Without names, of all sites. */
  listVersions(names: readonly string[] | undefined): Set<string> {
    const slugs = names ?? [...this.#bySlug.keys()]
    return new Set(
      slugs.flatMap((slug) => [...(this.#bySlug.get(slug)?.values() ?? [])].map((one) => one.versionId)),
    )
  }

  stopVersion(versionId: string): void {
    for (const slots of this.#bySlug.values())
      for (const one of slots.values()) if (one.versionId === versionId) one.upload.stop(notPending())
  }
}
