// With this chunk, so that a publish that begins offline waits for the network.
import '../../client/sdk/publish.ts'
import type { Progress, Published, PublishFile, Removal, SiteDetails } from '../../client/sdk/slipway.ts'
import {
  isSlipwayError,
  type PublishedSite,
  type PublishMemory,
  publishRemembered,
  SiteOwnedError,
  type Slipway,
} from '../../client/sdk/slipway.ts'
import { findRemoval, removesMuch } from '../../protocol/manifest/removal.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { type AnonymousSite, anonymousSites, forgetAnonymous, rememberAnonymous } from './anonymous-sites.ts'
import { type Destination, getSlug } from './destination.ts'
import { networkRetryPolicy } from './network-retry.ts'
import { findPending, forgetPending, rememberPending } from './pending-sites.ts'
import { uploadTransport } from './upload-transport.ts'

/** How an update treats the other files of the live version; undefined asks before much of it is removed. */
export type UpdateMode = 'merge' | 'replace' | undefined

export interface RemovalQuestion {
  removal: Removal
  /** The only live file with the name of the only file of the update, in another folder. */
  sameName?: string | undefined
}

/** The update removes much of the live version, and the user has not decided. Nothing has been uploaded. */
export class UnconfirmedRemoval extends Error {
  readonly question: RemovalQuestion

  constructor(question: RemovalQuestion) {
    super('the update removes much of the live version')
    this.question = question
  }
}

interface DeliveryOptions {
  files: PublishFile[]
  /** A digest of the files. */
  digest: string
  destination: Destination
  mode: UpdateMode
  /** Noted with the version. */
  message: string | undefined
  /** Fingerprints. */
  allowSecrets: string[]
  /** Concurrent uploads. */
  parallel: number
  signal: AbortSignal
  /** Called with the paths to upload before the first upload. */
  onStarted(paths: string[]): void
  onProgress(progress: Progress): void
  /** Called when an attempt failed and will be repeated. */
  onWaiting(reason: unknown): void
}

/** Numbers of files, compared with the version that was live before. */
export interface Change {
  added: number
  changed: number
  removed: number
  unchanged: number
}

export interface DeliveryResult {
  published: Published
  /** For own sites. */
  change?: Change
  /** The files of the version that was live before; for own sites. */
  live?: readonly LiveFile[]
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
 * Publishes, and retries as long as only the network fails. Also resumes what was begun with the same files
 * before a reload. Rejects with a SlipwayError, with an UnconfirmedRemoval, or with the signal's reason.
 */
export async function publishWithRetry(options: DeliveryOptions): Promise<DeliveryResult> {
  const client = slipway.with({ send: uploadTransport, retryPolicy: networkRetryPolicy })
  const { digest, destination } = options
  for (let failures = 0; ; failures++) {
    try {
      return await publishOnce(client, options)
    } catch (error) {
      const pending = findPending(digest, getSlug(destination))
      if (error instanceof SiteOwnedError && destination.kind === 'new' && pending) {
        forgetPending(pending.slug)
        continue
      }
      if (!isSlipwayError(error, 'NETWORK')) throw error
      if (!pending && navigator.onLine && failures >= MAX_CREATE_ATTEMPTS) throw error
      options.onWaiting(error)
      await networkRetryPolicy.wait(
        RETRY_DELAYS_MS[Math.min(failures, RETRY_DELAYS_MS.length - 1)]!,
        options.signal,
      )
    }
  }
}

async function publishOnce(
  client: Slipway,
  {
    files,
    digest,
    destination,
    mode,
    message,
    parallel,
    signal,
    onStarted,
    onProgress,
    onWaiting,
    allowSecrets,
  }: DeliveryOptions,
): Promise<DeliveryResult> {
  const live = destination.kind === 'own' ? await findLive(client, destination.slug) : undefined
  if (live && mode === undefined) assertKeepsMost(live, files)
  const { published, site } = await publishRemembered({
    files,
    ...(mode === 'merge' && { merge: true }),
    message,
    allowSecrets,
    concurrency: parallel,
    signal,
    slug: getSlug(destination),
    manifest: digest,
    memory: createMemory(digest, destination),
    hasAccount: destination.kind === 'own' || signedInAs.value !== null,
    connect: () => client,
    onProgress,
    onRetry: onWaiting,
    onStaged({ upload, removal }) {
      if (mode === undefined && removal && removesMuch(removal)) throw new UnconfirmedRemoval({ removal })
      onStarted(upload.uploads.map(({ path }) => path))
    },
  })
  const anonymous = toAnonymousSite(site)
  return {
    published,
    ...(live && { live, change: compare(live, files, mode) }),
    ...(anonymous && { anonymous }),
  }
}

type LiveFile = SiteDetails['files'][number]

async function findLive(client: Slipway, slug: string): Promise<readonly LiveFile[]> {
  const { currentVersionId, files } = await client.details(slug)
  return currentVersionId === null ? [] : files
}

/** Asks before a version is staged: the answer may be another version, or none. */
function assertKeepsMost(live: readonly LiveFile[], files: readonly PublishFile[]): void {
  const removal = findRemoval(live, files)
  if (removal && removesMuch(removal))
    throw new UnconfirmedRemoval({ removal, sameName: findSameName(live, files) })
}

function findSameName(live: readonly LiveFile[], [file, ...others]: readonly PublishFile[]) {
  if (!file || others.length > 0 || live.some(({ path }) => path === file.path)) return undefined
  const same = live.filter(({ path }) => baseName(path) === baseName(file.path))
  return same.length === 1 ? same[0]!.path : undefined
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function compare(live: readonly LiveFile[], files: readonly PublishFile[], mode: UpdateMode): Change {
  const hashes = new Map(live.map(({ path, hash }) => [path, hash]))
  const known = files.filter(({ path }) => hashes.has(path))
  const changed = known.filter(({ path, hash }) => hashes.get(path) !== hash).length
  const removed = mode === 'merge' ? 0 : live.length - known.length
  const unchanged = live.length - removed - changed
  return { added: files.length - known.length, changed, removed, unchanged }
}

/** The tab stores a pending version, the browser the sites without an owner. */
function createMemory(digest: string, destination: Destination): PublishMemory {
  const known = destination.kind === 'anonymous' ? destination.site : undefined
  return {
    find: () => findPending(digest, getSlug(destination)) ?? known,
    remember({ pending, ...site }) {
      if (pending) return rememberPending({ ...site, pending, isNew: destination.kind === 'new' })
      const anonymous = toAnonymousSite(site)
      if (anonymous) rememberAnonymous(anonymous)
      else forgetIfKnown(site.slug)
      forgetPending(site.slug)
    },
    forget: forgetPending,
  }
}

function toAnonymousSite({
  slug,
  siteUrl,
  claimToken,
  claimUrl,
  expiresAt,
}: PublishedSite): AnonymousSite | undefined {
  if (claimToken === undefined || claimUrl === undefined || expiresAt === undefined) return undefined
  return { slug, siteUrl, claimToken, claimUrl, expiresAt }
}

/** Forgets a site that no longer exists or was claimed. */
export function forgetIfGone(destination: Destination, error: unknown): void {
  if (destination.kind !== 'anonymous') return
  if (isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED', 'INVALID_CLAIM_TOKEN', 'UNAUTHORIZED'))
    forgetIfKnown(destination.site.slug)
}

function forgetIfKnown(slug: string): void {
  if (anonymousSites.value.some((site) => site.slug === slug)) forgetAnonymous(slug)
}
