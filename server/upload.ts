import type { BundleTarget, UploadTarget } from '../client/wire.ts'
import { Failure } from './failure.ts'
import { Signer } from './key.ts'

/** Spec 2.3 and 8.2. */
export const UPLOAD_SECONDS = 3600

/** Where uploads are sent; the signed key follows. */
export const UPLOAD_PATH = '/api/v1/_upload/'

/** What a bundle is: POSIX.1-2001, "pax" and "ustar Interchange Format". */
export const BUNDLE_TYPE = 'application/x-tar'

/** Most bytes of one bundle. */
export const BUNDLE_BYTES = 32 * 2 ** 20

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

/** What the address of a bundle allows: any files of one version, as its manifest says they are. */
export type Bundle = Pick<Upload, 'slug' | 'versionId'>

/** What stands in the query of an address. */
export interface UploadQuery {
  token?: string
  ct?: string
  exp?: string
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
    const { contentType } = upload
    const key = objectKey(upload)
    const { token, expires } = this.#sign(key, contentType, [
      upload.fileNumber,
      upload.size,
      upload.hash ?? '',
    ])
    const query = `token=${token}&ct=${encodeURIComponent(contentType)}&exp=${expires}`
    return {
      path: upload.path,
      method: 'PUT',
      url: `${this.#baseUrl}${UPLOAD_PATH}${key}?${query}`,
      headers: { 'Content-Type': contentType },
    }
  }

  /** The target for bundles of a version, valid for an hour from now too. */
  bundle(bundle: Bundle): BundleTarget {
    const key = bundleKey(bundle)
    const { token, expires } = this.#sign(key, BUNDLE_TYPE, [])
    return {
      method: 'PUT',
      url: `${this.#baseUrl}${UPLOAD_PATH}${key}?token=${token}&exp=${expires}`,
      headers: { 'Content-Type': BUNDLE_TYPE },
      maxBytes: BUNDLE_BYTES,
    }
  }

  /**
   * What the address of an upload allows. `came` is the part after `_upload/`, still percent-encoded in any way.
   * INVALID_UPLOAD_TOKEN when anything was changed or is missing, UPLOAD_EXPIRED after its time.
   */
  read(came: string, query: UploadQuery): Upload {
    const [slug = '', versionId = '', ...segments] = decoded(came)
    const path = segments.join('/')
    const contentType = query.ct ?? ''
    const claims = this.#verified(objectKey({ slug, versionId, path }), contentType, query, 3)
    const [fileNumber, size, hash] = claims
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

  /** Refuses, as `read` does, unless the address is one for bundles of this version. */
  readBundle(bundle: Bundle, query: UploadQuery): void {
    this.#verified(bundleKey(bundle), BUNDLE_TYPE, query, 0)
  }

  #sign(key: string, contentType: string, said: readonly (string | number)[]) {
    const expires = Math.floor(this.#clock() / 1000) + UPLOAD_SECONDS
    const claims = [this.#signer.keyId, ...said].join('.')
    const signature = this.#signer.sign(['PUT', key, claims, contentType, expires])
    return { token: `${claims}.${signature}`, expires }
  }

  /** The `count` things that a token says, once it is sure that this service signed them for that key and type. */
  #verified(key: string, contentType: string, { token = '', exp }: UploadQuery, count: number): string[] {
    const claims = token.split('.')
    const signature = claims.pop()!
    const [keyId, ...said] = claims
    const expires = Number(exp)
    if (
      said.length !== count ||
      keyId !== this.#signer.keyId ||
      String(expires) !== exp ||
      !this.#signer.verify(['PUT', key, claims.join('.'), contentType, expires], signature)
    ) {
      throw new Failure('INVALID_UPLOAD_TOKEN', 'The upload address is not one that this service signed')
    }
    if (this.#clock() / 1000 >= expires) {
      throw new Failure(
        'UPLOAD_EXPIRED',
        'The upload address is over; ask for fresh ones with uploads/refresh',
      )
    }
    return said
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

/** `<slug>/<versionId>`, which is the key of no file. */
function bundleKey({ slug, versionId }: Bundle): string {
  return `${encodeURIComponent(slug)}/${encodeURIComponent(versionId)}`
}
