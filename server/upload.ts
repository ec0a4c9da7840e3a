import type { UploadTarget } from '../client/wire.ts'
import { Failure } from './failure.ts'
import { Signer } from './key.ts'

/** Spec 2.3 and 8.2. */
export const UPLOAD_SECONDS = 3600

/** Where uploads are sent; the signed key follows. */
export const UPLOAD_PATH = '/api/v1/_upload/'

/** What a signed target allows: one file of one version, with these bytes. */
export interface Upload {
  slug: string
  versionId: string
  path: string
  /** Its place in the manifest. */
  fileNumber: number
  size: number
  contentType: string
  hash: string | undefined
}

/**
 * Signs upload targets and reads them back. Everything that matters is in the address and under the signature
 * (contract, "Publish"), so that an upload needs no look into the store before its bytes flow.
 */
export class UploadTargets {
  readonly #baseUrl: string
  readonly #signer: Signer
  readonly #clock: () => number

  constructor(options: { baseUrl: string; secret: string; clock: () => number }) {
    this.#baseUrl = options.baseUrl
    this.#signer = new Signer(options.secret, 'upload targets')
    this.#clock = options.clock
  }

  /** The target for one file, valid for an hour from now (spec 2.3). */
  target(upload: Upload): UploadTarget {
    const expires = Math.floor(this.#clock() / 1000) + UPLOAD_SECONDS
    const key = objectKey(upload)
    const claims = `${this.#signer.keyId}.${upload.fileNumber}.${upload.size}.${upload.hash ?? ''}`
    const signature = this.#signer.sign(['PUT', key, claims, upload.contentType, expires])
    const query = `token=${claims}.${signature}&ct=${encodeURIComponent(upload.contentType)}&exp=${expires}`
    return {
      path: upload.path,
      method: 'PUT',
      url: `${this.#baseUrl}${UPLOAD_PATH}${key}?${query}`,
      headers: { 'Content-Type': upload.contentType },
    }
  }

  /**
   * What the address of an upload allows. `came` is the part after `_upload/`, still percent-encoded in any way.
   * INVALID_UPLOAD_TOKEN when anything was changed or is missing, UPLOAD_EXPIRED after its time.
   */
  read(came: string, query: { token?: string; ct?: string; exp?: string }): Upload {
    const [slug = '', versionId = '', ...segments] = decoded(came)
    const path = segments.join('/')
    const key = objectKey({ slug, versionId, path })
    const parts = (query.token ?? '').split('.')
    const [keyId, fileNumber, size, hash, signature] = parts
    const expires = Number(query.exp)
    const contentType = query.ct ?? ''
    const claims = parts.slice(0, 4).join('.')
    if (
      parts.length !== 5 ||
      keyId !== this.#signer.keyId ||
      String(expires) !== query.exp ||
      !this.#signer.verify(['PUT', key, claims, contentType, expires], signature!)
    ) {
      throw new Failure('INVALID_UPLOAD_TOKEN', 'The upload address is not one that this service signed')
    }
    if (this.#clock() / 1000 >= expires) {
      throw new Failure(
        'UPLOAD_EXPIRED',
        'The upload address is over; ask for fresh ones with uploads/refresh',
      )
    }
    return {
      slug,
      versionId,
      path,
      fileNumber: Number(fileNumber),
      size: Number(size),
      contentType,
      hash: hash || undefined,
    }
  }
}

/** The segments of a key; none when it is not percent-encoded UTF-8, which no signature fits. */
function decoded(key: string): string[] {
  try {
    return key.split('/').map(decodeURIComponent)
  } catch {
    return []
  }
}

/** `<slug>/<versionId>/<path>`, percent-encoded in one way. */
function objectKey({ slug, versionId, path }: Pick<Upload, 'slug' | 'versionId' | 'path'>): string {
  return `${slug}/${versionId}/${path.split('/').map(encodeURIComponent).join('/')}`
}
