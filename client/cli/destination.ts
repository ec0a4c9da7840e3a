import { createHash } from 'node:crypto'
import type { SiteMetadata } from '../../protocol/api/publish.ts'
import type { PublishOptions, PublishResult, StagedVersion } from '../sdk/publish.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand } from './account.ts'
import type { CommandContext } from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import type { RememberedSite } from './memory/site-memory.ts'
import { CliError } from './trouble.ts'

/** What to publish, and where. */
export interface PublishPlan {
  folder: string
  server: string
  key: string | undefined
  /** The explicitly named site. */
  slug: string | undefined
  /** The site that the folder was published as before. */
  remembered: RememberedSite | undefined
  viewer: SiteMetadata
  live: boolean
}

export interface PublishObserver {
  /** `resumed`: the version was staged by an earlier, interrupted publish. */
  onStaged(staged: StagedVersion, resumed: boolean): void | Promise<void>
  onProgress: NonNullable<PublishOptions['onProgress']>
  onRetry: NonNullable<PublishOptions['onRetry']>
}

/** Credentials for a site: its claim token, the account's key, or none for a new site. */
interface Credentials {
  slug?: string
  claimToken?: string
  key: string | undefined
}

/** The result of a publish, and what is stored about the site. */
export interface PublishOutcome {
  published: PublishResult
  site: RememberedSite
}

/**
 * Publishes to the named or remembered site, otherwise to a new one. A remembered site that no longer exists
 * is replaced by a new one with a notice. A staged version is stored before the first upload.
 */
export async function publishToSite(
  work: CommandContext,
  order: PublishPlan,
  files: HashedFile[],
  watch: PublishObserver,
): Promise<PublishOutcome> {
  const refusals: unknown[] = []
  for (const way of credentialsFor(work, order)) {
    const attempt = new PublishAttempt(work, order, way, files)
    try {
      return await attempt.run(watch)
    } catch (error) {
      if (attempt.staged || !isRecoverable(way, error)) throw error
      refusals.push(error)
    }
  }
  if (refusals.length > 0) throwUnlessGone(work, order, refusals)
  return new PublishAttempt(work, order, { key: order.key }, files).run(watch)
}

function credentialsFor(work: CommandContext, { server, key, slug, remembered }: PublishPlan): Credentials[] {
  const known = slug === undefined || remembered?.slug === slug ? remembered : undefined
  const target = slug ?? known?.slug
  if (target === undefined) return []
  const ways: Credentials[] = []
  if (known?.claimToken) ways.push({ slug: target, claimToken: known.claimToken, key: undefined })
  if (key !== undefined) ways.push({ slug: target, key })
  if (ways.length > 0) return ways
  const address = known?.siteUrl ?? `${target} at ${server}`
  throw new CliError(
    `${address} belongs to an account`,
    `Sign in: ${loginCommand(work, server)}`,
    `Or publish a new site: ${work.settings.program} publish --new`,
  )
}

const GONE_CODES = ['NOT_FOUND', 'SITE_EXPIRED'] as const

/** Whether other credentials may still work. A claim token is useless once the site has an owner. */
function isRecoverable({ claimToken }: Credentials, error: unknown): boolean {
  return isSlipwayError(error, ...GONE_CODES) || (claimToken !== undefined && isOwned(error))
}

function isOwned(error: unknown): boolean {
  return isSlipwayError(error, 'UNAUTHORIZED', 'INVALID_CLAIM_TOKEN', 'ALREADY_CLAIMED')
}

/** Throws unless every error says that the remembered site no longer exists. */
function throwUnlessGone(work: CommandContext, { slug, remembered }: PublishPlan, refusals: unknown[]): void {
  if (!remembered || slug !== undefined) throw refusals.at(-1)
  const { siteUrl, server } = remembered
  if (refusals.some(isOwned)) {
    throw new CliError(
      `${siteUrl} was claimed by somebody`,
      `Sign in as its owner: ${loginCommand(work, server)}`,
      `Or publish a new site: ${work.settings.program} publish --new`,
    )
  }
  const expired = refusals.some((refusal) => isSlipwayError(refusal, 'SITE_EXPIRED'))
  const reason = expired ? 'has expired' : 'is gone, or belongs to somebody else'
  work.terminal.printNote(`${siteUrl} ${reason}. This becomes a new site.`)
  work.siteMemory.forget(remembered.slug, server)
}

class PublishAttempt {
  staged = false
  readonly #work: CommandContext
  readonly #plan: PublishPlan
  readonly #credentials: Credentials
  readonly #files: HashedFile[]
  readonly #manifest: string

  constructor(work: CommandContext, order: PublishPlan, way: Credentials, files: HashedFile[]) {
    this.#work = work
    this.#plan = order
    this.#credentials = way
    this.#files = files
    this.#manifest = manifestDigest(order.viewer, files)
  }

  async run(watch: PublishObserver): Promise<PublishOutcome> {
    const { server, viewer, live } = this.#plan
    const { slug, claimToken, key } = this.#credentials
    const pendingVersionId = this.#pendingVersion()
    let site: RememberedSite | undefined
    const published = await this.#work.connect(server, key).publish({
      ...viewer,
      files: this.#files,
      live,
      slug,
      claimToken,
      pendingVersionId,
      signal: this.#work.signal,
      onProgress: watch.onProgress,
      onRetry: watch.onRetry,
      onStaged: async (staged) => {
        this.staged = true
        site = this.#remember(staged, { versionId: staged.upload.versionId, manifest: this.#manifest })
        await watch.onStaged(staged, staged.upload.versionId === pendingVersionId)
      },
    })
    const { pending: _finished, ...finished } = site!
    this.#work.siteMemory.remember(this.#plan.folder, finished)
    return { published, site: finished }
  }

  /** The version that an interrupted publish of exactly these files left. */
  #pendingVersion(): string | undefined {
    const { remembered } = this.#plan
    if (remembered?.slug !== this.#credentials.slug || remembered?.pending?.manifest !== this.#manifest)
      return undefined
    return remembered.pending.versionId
  }

  #remember(staged: StagedVersion, pending: NonNullable<RememberedSite['pending']>): RememberedSite {
    const { folder, server, remembered } = this.#plan
    const { claimToken, claimUrl, expiresAt } = staged.claimToken
      ? staged
      : this.#credentials.claimToken !== undefined && remembered
        ? remembered
        : {}
    return this.#work.siteMemory.remember(folder, {
      server,
      slug: staged.slug,
      siteUrl: staged.siteUrl,
      ...(claimToken !== undefined && { claimToken }),
      ...(claimUrl !== undefined && { claimUrl }),
      ...(expiresAt !== undefined && { expiresAt }),
      pending,
    })
  }
}

/** A digest of the files and the metadata. */
function manifestDigest(viewer: SiteMetadata, files: HashedFile[]): string {
  const entries = files.map(({ path, size, contentType, hash }) => [path, size, contentType, hash])
  return createHash('sha256')
    .update(JSON.stringify([viewer, entries]))
    .digest('hex')
}
