import type { Readable } from 'node:stream'
import { ApiError } from '../lib/errors.ts'
import { notPending } from './pending-manifest-cache.ts'

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

/**
 * One at a time for each file of a version, so that a version holds at most one staged and one arriving copy of each
 * file, whatever is sent.
 */
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
