import type { Progress, Published, PublishFile, Slipway, Staged } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { slipway } from '../api/slipway.ts'
import { type AnonymousSite, anonymousSites, forgetAnonymous, rememberAnonymous } from './anonymous-sites.ts'
import { type Destination, getSlug } from './destination.ts'
import { networkRetryPolicy } from './network-patience.ts'
import { forgetPending, type Pending, pendingFor, rememberPending } from './pending.ts'
import { uploadTransport } from './upload-transport.ts'

interface DeliveryOptions {
  files: PublishFile[]
  /** A digest of the files. */
  digest: string
  destination: Destination
  /** Concurrent uploads. */
  parallel: number
  signal: AbortSignal
  /** Called with the paths to upload before the first upload. */
  onStarted(paths: string[]): void
  onProgress(progress: Progress): void
  /** Called when an attempt failed and will be repeated. */
  onWaiting(reason: unknown): void
}

export interface DeliveryResult {
  published: Published
  isNew: boolean
  /** Credentials for a site without an owner. */
  anonymous?: AnonymousSite
}

/** Delays in milliseconds between attempts after the SDK gave up while the browser is online. */
const RETRY_DELAYS_MS = [2_000, 5_000, 15_000, 30_000, 60_000]
/**
 * Maximum number of attempts to create a site: a lost response may have created one, and they are limited.
 */
const MAX_CREATE_ATTEMPTS = 3

/**
 * Publishes, and retries as long as only the network fails. Also continues what was begun with the same files
 * before a reload. Rejects with a SlipwayError, or with the signal's reason.
 */
export async function publishWithRetry(options: DeliveryOptions): Promise<DeliveryResult> {
  const client = slipway.with({ send: uploadTransport, retryPolicy: networkRetryPolicy })
  for (let failures = 0; ; failures++) {
    const pending = pendingFor(options.digest, getSlug(options.destination))
    try {
      return await attempt(client, options, pending)
    } catch (error) {
      if (pending && isGone(error)) {
        forgetPending(pending.slug)
        continue
      }
      if (!isSlipwayError(error, 'NETWORK')) throw error
      const hasBegun = pendingFor(options.digest, getSlug(options.destination)) !== undefined
      if (!hasBegun && navigator.onLine && failures >= MAX_CREATE_ATTEMPTS) throw error
      options.onWaiting(error)
      await networkRetryPolicy.wait(
        RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length - 1)]!,
        options.signal,
      )
    }
  }
}

async function attempt(
  client: Slipway,
  {
    files,
    digest,
    destination,
    parallel: concurrency,
    signal,
    onStarted,
    onProgress,
    onWaiting,
  }: DeliveryOptions,
  pending: Pending | undefined,
): Promise<DeliveryResult> {
  const known = destination.kind === 'anonymous' ? destination.site : undefined
  let begun: Pending | undefined
  const published = await client.publish({
    files,
    concurrency,
    signal,
    slug: pending?.slug ?? getSlug(destination),
    claimToken: pending?.claimToken ?? known?.claimToken,
    pendingVersionId: pending?.versionId,
    onProgress,
    onRetry: onWaiting,
    onStaged(staged) {
      begun = toPending(staged, { digest, destination, before: pending ?? known })
      rememberPending(begun)
      onStarted(staged.upload.uploads.map(({ path }) => path))
    },
  })
  const { slug, isNew } = begun!
  const anonymous = toAnonymousSite(begun!)
  if (anonymous) rememberAnonymous(anonymous)
  forgetPending(slug)
  return { published, isNew, ...(anonymous && { anonymous }) }
}

interface NewPending {
  digest: string
  destination: Destination
  before: Pending | AnonymousSite | undefined
}

function toPending(staged: Staged, { digest, destination, before }: NewPending): Pending {
  const { slug, siteUrl, upload } = staged
  const { claimToken, claimUrl, expiresAt } = staged.claimToken === undefined ? (before ?? {}) : staged
  return {
    digest,
    slug,
    siteUrl,
    versionId: upload.versionId,
    isNew: destination.kind === 'new',
    ...(claimToken !== undefined && { claimToken }),
    ...(claimUrl !== undefined && { claimUrl }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}

function toAnonymousSite({
  slug,
  siteUrl,
  claimToken,
  claimUrl,
  expiresAt,
}: Pending): AnonymousSite | undefined {
  if (claimToken === undefined || claimUrl === undefined || expiresAt === undefined) return undefined
  return { slug, siteUrl, claimToken, claimUrl, expiresAt }
}

/** Whether the pending version no longer exists. */
function isGone(error: unknown): boolean {
  return isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED', 'INVALID_CLAIM_TOKEN', 'UNAUTHORIZED')
}

/** Forgets a site that no longer exists or was claimed. */
export function forgetIfGone(destination: Destination, error: unknown): void {
  if (destination.kind !== 'anonymous' || !isGone(error)) return
  const { slug } = destination.site
  if (anonymousSites.value.some((site) => site.slug === slug)) forgetAnonymous(slug)
}
