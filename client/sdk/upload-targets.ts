import type {
  BundleTarget,
  UpdateResponse,
  UploadPlan,
  UploadTarget,
} from '../../protocol/api/publish.schema.ts'
import { truncate } from '../../protocol/format.ts'
import { isPrivateUrl } from '../../protocol/private-url.ts'
import { isSlipwayError, SlipwayError } from './slipway-error.ts'

/**
 * The request of an upload target, whose server may be hostile: nothing but a `Content-Type` is sent beside the bytes,
 * over HTTPS if the server uses it, and a public server names no target in the network of this machine. Throws BAD_ANSWER.
 */
export function uploadRequest(
  baseUrl: string,
  { url, headers }: Pick<UploadTarget, 'url' | 'headers'>,
): { url: string; contentType: string | undefined } {
  if (baseUrl !== '') {
    const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    const isDowngrade = /^https:/i.test(baseUrl) && !/^https:/i.test(url)
    if (!isWeb || isDowngrade || (isPrivateUrl(url) && !isPrivateUrl(baseUrl)))
      throw new SlipwayError(`${baseUrl} sent an upload target that it cannot have: ${truncate(url, 200)}`, {
        code: 'BAD_ANSWER',
      })
  }
  const [, contentType] = Object.entries(headers).find(([name]) => /^content-type$/i.test(name)) ?? []
  return { url: baseUrl === '' ? url : onSameLoopback(new URL(url), new URL(baseUrl)), contentType }
}

/** The names of this machine, which may be unequal: that of a server without a public name may lack an IPv6 address. */
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/** The URL of an upload at the loopback name that the server was reached by. */
function onSameLoopback(url: URL, base: URL): string {
  const isSame = url.protocol === base.protocol && url.port === base.port
  if (isSame && LOOPBACK.test(url.hostname) && LOOPBACK.test(base.hostname)) url.host = base.host
  return url.href
}

/** A target this close to its expiry is renewed first, in milliseconds. */
const REFRESH_MARGIN_MS = 30_000

/** The upload targets of one pending version, renewed together when they expire. */
export class UploadTargets {
  #targets = new Map<string, UploadTarget>()
  #bundle: BundleTarget | undefined
  #validUntil = 0
  #renewal: Promise<void> | undefined
  #renewals = 0
  readonly #refresh: () => Promise<UpdateResponse>
  readonly #now: () => number

  constructor(plan: UploadPlan, refresh: () => Promise<UpdateResponse>, now: () => number) {
    this.#refresh = refresh
    this.#now = now
    this.#store(plan)
  }

  /** The missing paths, as last reported by the server. */
  get paths(): string[] {
    return [...this.#targets.keys()]
  }

  /** How often the missing files were requested. */
  get renewals(): number {
    return this.#renewals
  }

  /** Maximum bytes of a bundle; undefined when the server accepts none. */
  get maxBundleBytes(): number | undefined {
    return this.#bundle?.maxBytes
  }

  /** Whether that file is missing, as last reported by the server. */
  isMissing(path: string): boolean {
    return this.#targets.has(path)
  }

  /** A valid target, or undefined when the file has been received. */
  async get(path: string): Promise<UploadTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.refresh()
    return this.#targets.get(path)
  }

  /** A replacement for an expired target, or undefined when the file has been received. */
  async replaceStale(stale: UploadTarget): Promise<UploadTarget | undefined> {
    if (this.#targets.get(stale.path) === stale) await this.refresh()
    return this.#targets.get(stale.path)
  }

  /** The bundle target; undefined when nothing is missing or the server accepts none. */
  async getBundle(): Promise<BundleTarget | undefined> {
    if (this.#now() > this.#validUntil) await this.refresh()
    return this.#bundle
  }

  /** A replacement for an expired bundle target. */
  async replaceStaleBundle(stale: BundleTarget): Promise<BundleTarget | undefined> {
    if (this.#bundle === stale) await this.refresh()
    return this.#bundle
  }

  /**
   * Requests the list of missing files, which is empty once another program has finalized the version. Concurrent
   * renewals share one request.
   */
  refresh(): Promise<void> {
    this.#renewal ??= this.#refresh()
      .then(
        ({ upload }) => this.#store(upload),
        (error) => {
          if (!isSlipwayError(error, 'UPLOAD_EXPIRED')) throw error
          this.#targets.clear()
          this.#bundle = undefined
          this.#validUntil = Number.POSITIVE_INFINITY
        },
      )
      .finally(() => {
        this.#renewal = undefined
        this.#renewals++
      })
    return this.#renewal
  }

  #store(plan: UploadPlan): void {
    this.#targets = new Map(plan.uploads.map((target) => [target.path, target]))
    this.#bundle = plan.bundle
    this.#validUntil = this.#now() + plan.expiresInSeconds * 1000 - REFRESH_MARGIN_MS
  }
}
