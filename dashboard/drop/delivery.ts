import type { Progress, Published, PublishFile, Slipway, Staged } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { slipway } from '../api/slipway.ts'
import { type AnonymousSite, anonymousSites, forgetAnonymous, rememberAnonymous } from './anonymous-sites.ts'
import { type Destination, slugOf } from './destination.ts'
import { networkPatience } from './network-patience.ts'
import { forgetPending, type Pending, pendingFor, rememberPending } from './pending.ts'
import { transport } from './upload-transport.ts'

interface DeliveryOptions {
  files: PublishFile[]
  /** Tells one set of files from another. */
  digest: string
  destination: Destination
  /** Uploads at a time. */
  parallel: number
  signal: AbortSignal
  /** Called with the paths that have to be sent, before the first of them is. */
  onBegun(paths: string[]): void
  onProgress(progress: Progress): void
  /** Called when a try failed that another one follows. */
  onWaiting(reason: unknown): void
}

export interface Delivered {
  published: Published
  isNew: boolean
  /** How to get at the site again, when nobody owns it. */
  anonymous?: AnonymousSite
}

/** Milliseconds between two tries where the SDK gave up on a network that the browser calls fine. */
const PAUSES = [2_000, 5_000, 15_000, 30_000, 60_000]
/** A new site is asked for so often at most: an answer that was lost may have made one, and they are counted. */
const MOST_BEGINNINGS = 3

/**
 * Publishes, and goes on by itself for as long as only the network stands in the way. What was begun with the same files
 * before the page was reloaded is gone on with, too. Rejects with a SlipwayError, or with the signal's reason.
 */
export async function deliver(options: DeliveryOptions): Promise<Delivered> {
  const client = slipway.with({ send: transport, patience: networkPatience })
  for (let failures = 0; ; failures++) {
    const pending = pendingFor(options.digest, slugOf(options.destination))
    try {
      return await attempt(client, options, pending)
    } catch (error) {
      if (pending && isGone(error)) {
        forgetPending(pending.slug)
        continue
      }
      if (!isSlipwayError(error, 'NETWORK')) throw error
      const hasBegun = pendingFor(options.digest, slugOf(options.destination)) !== undefined
      if (!hasBegun && navigator.onLine && failures >= MOST_BEGINNINGS) throw error
      options.onWaiting(error)
      await networkPatience.wait(PAUSES[Math.min(failures, PAUSES.length - 1)]!, options.signal)
    }
  }
}

async function attempt(
  client: Slipway,
  { files, digest, destination, parallel, signal, onBegun, onProgress, onWaiting }: DeliveryOptions,
  pending: Pending | undefined,
): Promise<Delivered> {
  const known = destination.kind === 'anonymous' ? destination.site : undefined
  let begun: Pending | undefined
  const published = await client.publish({
    files,
    parallel,
    signal,
    slug: pending?.slug ?? slugOf(destination),
    claimToken: pending?.claimToken ?? known?.claimToken,
    pendingVersionId: pending?.versionId,
    onProgress,
    onRetry: onWaiting,
    onStaged(staged) {
      begun = pendingOf(staged, { digest, destination, before: pending ?? known })
      rememberPending(begun)
      onBegun(staged.upload.uploads.map(({ path }) => path))
    },
  })
  const { slug, isNew } = begun!
  const anonymous = anonymousOf(begun!)
  if (anonymous) rememberAnonymous(anonymous)
  forgetPending(slug)
  return { published, isNew, ...(anonymous && { anonymous }) }
}

interface Beginning {
  digest: string
  destination: Destination
  before: Pending | AnonymousSite | undefined
}

function pendingOf(staged: Staged, { digest, destination, before }: Beginning): Pending {
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

function anonymousOf({ slug, siteUrl, claimToken, claimUrl, expiresAt }: Pending): AnonymousSite | undefined {
  if (claimToken === undefined || claimUrl === undefined || expiresAt === undefined) return undefined
  return { slug, siteUrl, claimToken, claimUrl, expiresAt }
}

/** Whether there is nothing to go on with any more. */
function isGone(error: unknown): boolean {
  return isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED', 'INVALID_CLAIM_TOKEN', 'UNAUTHORIZED')
}

/** A site that is gone, or somebody's by now, is nothing that this browser could still update. */
export function forgetLost(destination: Destination, error: unknown): void {
  if (destination.kind !== 'anonymous' || !isGone(error)) return
  const { slug } = destination.site
  if (anonymousSites.value.some((site) => site.slug === slug)) forgetAnonymous(slug)
}
