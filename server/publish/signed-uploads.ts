import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import type { BundleTarget, UploadTarget } from '../../protocol/api/publish.schema.ts'
import { attempt } from '../lib/attempt.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { HOUR_SECONDS } from '../lib/time.ts'
import { isId, Signer } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import { isSlug } from '../sites/slug.ts'

/** Spec 2.3 and 8.2. */
export const UPLOAD_TTL_SECONDS = HOUR_SECONDS

/** The format of a bundle: POSIX.1-2001, "pax" and "ustar Interchange Format". */
export const BUNDLE_CONTENT_TYPE = 'application/x-tar'

export const MAX_BUNDLE_BYTES = 32 * 2 ** 20

/** The claims of a signed target: one file of one version, with these bytes. */
export interface SignedUpload {
  slug: string
  versionId: string
  path: string
  fileNumber: number
  size: number
  contentType: string
  hash: string | undefined
}

export type BundleUpload = Pick<SignedUpload, 'slug' | 'versionId'>

export interface UploadQuery {
  token?: string
  ct?: string
  exp?: string
}

/** All claims are in the signed URL (contract, "Publish"), so that an upload needs no lookup before its bytes. */
export class SignedUploadUrls extends Component<Pick<Parts, 'baseUrl' | 'secret' | 'clock'>> {
  readonly #signer = new Signer(this.parts.secret, 'upload targets')

  /** Valid for an hour (spec 2.3). */
  target(upload: SignedUpload): UploadTarget {
    const { slug, versionId, path, fileNumber, size, contentType, hash = '' } = upload
    const expires = this.#expiry()
    const claims = [`${fileNumber}`, `${size}`, hash]
    const signature = this.#signer.sign(fileFields({ slug, versionId, path, claims, contentType, expires }))
    const token = [this.#signer.keyId, ...claims, signature].join('.')
    const query = `token=${token}&ct=${encodeURIComponent(contentType)}&exp=${expires}`
    return {
      path,
      method: 'PUT',
      url: `${this.parts.baseUrl}${UPLOAD_PATH}${slug}/${versionId}/${path.split('/').map(encodeURIComponent).join('/')}?${query}`,
      headers: { 'Content-Type': contentType },
    }
  }

  /** Valid for an hour. */
  bundleTarget({ slug, versionId }: BundleUpload): BundleTarget {
    const expires = this.#expiry()
    const signature = this.#signer.sign(bundleFields({ slug, versionId }, expires))
    const token = `${this.#signer.keyId}.${signature}`
    return {
      method: 'PUT',
      url: `${this.parts.baseUrl}${UPLOAD_PATH}${slug}/${versionId}?token=${token}&exp=${expires}`,
      headers: { 'Content-Type': BUNDLE_CONTENT_TYPE },
      maxBytes: MAX_BUNDLE_BYTES,
    }
  }

  /** `encodedKey` follows `_upload/`, percent-encoded. INVALID_UPLOAD_TOKEN for any change, UPLOAD_EXPIRED. */
  verify(encodedKey: string, query: UploadQuery): SignedUpload {
    // The slashes of a key may be percent-encoded. No signature matches when it is not percent-encoded UTF-8.
    const key = attempt(() => decodeURIComponent(encodedKey)) ?? ''
    const [slug = '', versionId = '', ...segments] = key.split('/')
    const [keyId, fileNumber = '', size = '', hash = '', signature, ...more] = (query.token ?? '').split('.')
    const [path, contentType, expires] = [segments.join('/'), query.ct ?? '', readExpiry(query)]
    const fields = { slug, versionId, path, claims: [fileNumber, size, hash], contentType, expires }
    this.#verify(fields, keyId, more.length > 0 ? undefined : signature, fileFields(fields))
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

  verifyBundle(bundle: BundleUpload, query: UploadQuery): void {
    const [keyId, signature, ...more] = (query.token ?? '').split('.')
    const expires = readExpiry(query)
    const fields = bundleFields(bundle, expires)
    this.#verify({ ...bundle, expires }, keyId, more.length > 0 ? undefined : signature, fields)
  }

  #expiry(): number {
    return Math.floor(this.parts.clock() / 1000) + UPLOAD_TTL_SECONDS
  }

  #verify(
    { slug, versionId, expires }: BundleUpload & { expires: number },
    keyId: string | undefined,
    signature: string | undefined,
    fields: readonly (string | number)[],
  ): void {
    const isSigned =
      isSlug(slug) &&
      isId(versionId) &&
      keyId !== undefined &&
      this.#signer.hasKey(keyId) &&
      signature !== undefined &&
      this.#signer.verify(fields, signature)
    if (!isSigned) {
      const sentence = 'Invalid upload URL: it was changed, or another server signed it'
      throw new ApiError('INVALID_UPLOAD_TOKEN', sentence)
    }
    if (this.parts.clock() / 1000 < expires) return
    const sentence = 'This upload URL has expired. Request new ones with uploads/refresh.'
    throw new ApiError('UPLOAD_EXPIRED', sentence)
  }
}

interface FileFields extends BundleUpload {
  path: string
  claims: readonly string[]
  contentType: string
  expires: number
}

/** The signed fields of one file; the first one distinguishes it from a bundle. */
function fileFields({ slug, versionId, path, claims, contentType, expires }: FileFields) {
  return ['file', slug, versionId, path, ...claims, contentType, expires]
}

function bundleFields({ slug, versionId }: BundleUpload, expires: number) {
  return ['bundle', slug, versionId, expires]
}

/** -1, which is never signed, when it is not in canonical decimal form. */
function readExpiry({ exp = '' }: UploadQuery): number {
  return /^[1-9]\d{0,14}$/.test(exp) ? Number(exp) : -1
}
