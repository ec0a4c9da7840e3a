import { createHash } from 'node:crypto'
import type { Published, PublishOptions, Staged } from '../sdk/publish.ts'
import { isSlipwayError } from '../sdk/slipway-error.ts'
import type { Viewer } from '../wire.ts'
import { loginCommand } from './account.ts'
import type { Workplace } from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import type { RememberedSite } from './memory/site-memory.ts'
import { Trouble } from './trouble.ts'

/** What is to be published where. */
export interface Order {
  folder: string
  server: string
  key: string | undefined
  /** The site that was named outright. */
  slug: string | undefined
  /** What the folder was published as before. */
  remembered: RememberedSite | undefined
  viewer: Viewer
  live: boolean
}

export interface Watch {
  /** `resumed` says that the version had been staged by an earlier, interrupted publish. */
  onStaged(staged: Staged, resumed: boolean): void | Promise<void>
  onProgress: NonNullable<PublishOptions['onProgress']>
  onRetry: NonNullable<PublishOptions['onRetry']>
}

/** One way to reach a site: by its claim token, by the account's key, or by making a new one. */
interface Way {
  slug?: string
  claimToken?: string
  key: string | undefined
}

/** How a publish ended, and what is remembered of the site. */
export interface Outcome {
  published: Published
  site: RememberedSite
}

/**
 * Publishes to the site that the order names or the folder remembers, else to a new one. A remembered site that is
 * gone is replaced by a new one, and that is said. What is staged is remembered before the first upload.
 */
export async function deliver(
  work: Workplace,
  order: Order,
  files: HashedFile[],
  watch: Watch,
): Promise<Outcome> {
  const refusals: unknown[] = []
  for (const way of waysTo(work, order)) {
    const attempt = new Attempt(work, order, way, files)
    try {
      return await attempt.run(watch)
    } catch (error) {
      if (attempt.staged || !isRefusal(way, error)) throw error
      refusals.push(error)
    }
  }
  if (refusals.length > 0) giveUp(work, order, refusals)
  return new Attempt(work, order, { key: order.key }, files).run(watch)
}

function waysTo(work: Workplace, { server, key, slug, remembered }: Order): Way[] {
  const known = slug === undefined || remembered?.slug === slug ? remembered : undefined
  const target = slug ?? known?.slug
  if (target === undefined) return []
  const ways: Way[] = []
  if (known?.claimToken) ways.push({ slug: target, claimToken: known.claimToken, key: undefined })
  if (key !== undefined) ways.push({ slug: target, key })
  if (ways.length > 0) return ways
  const address = known?.siteUrl ?? `${target} at ${server}`
  throw new Trouble(
    `${address} belongs to an account`,
    `Sign in: ${loginCommand(work, server)}`,
    `Or publish a new site: ${work.settings.program} publish --new`,
  )
}

const GONE = ['NOT_FOUND', 'SITE_EXPIRED'] as const

/** Whether another way may still lead to the site. A claim token is of no use once the site has an owner. */
function isRefusal({ claimToken }: Way, error: unknown): boolean {
  return isSlipwayError(error, ...GONE) || (claimToken !== undefined && isOwned(error))
}

function isOwned(error: unknown): boolean {
  return isSlipwayError(error, 'UNAUTHORIZED', 'INVALID_CLAIM_TOKEN', 'ALREADY_CLAIMED')
}

/** Throws unless every refusal says that the remembered site is gone. */
function giveUp(work: Workplace, { slug, remembered }: Order, refusals: unknown[]): void {
  if (!remembered || slug !== undefined) throw refusals.at(-1)
  const { siteUrl, server } = remembered
  if (refusals.some(isOwned)) {
    throw new Trouble(
      `${siteUrl} was claimed by somebody`,
      `Sign in as its owner: ${loginCommand(work, server)}`,
      `Or publish a new site: ${work.settings.program} publish --new`,
    )
  }
  const expired = refusals.some((refusal) => isSlipwayError(refusal, 'SITE_EXPIRED'))
  const reason = expired ? 'has expired' : 'is gone, or belongs to somebody else'
  work.terminal.say(`${siteUrl} ${reason}. This becomes a new site.`)
  work.sites.forget(remembered.slug, server)
}

class Attempt {
  staged = false
  readonly #work: Workplace
  readonly #order: Order
  readonly #way: Way
  readonly #files: HashedFile[]
  readonly #manifest: string

  constructor(work: Workplace, order: Order, way: Way, files: HashedFile[]) {
    this.#work = work
    this.#order = order
    this.#way = way
    this.#files = files
    this.#manifest = manifestDigest(order.viewer, files)
  }

  async run(watch: Watch): Promise<Outcome> {
    const { server, viewer, live } = this.#order
    const { slug, claimToken, key } = this.#way
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
    this.#work.sites.remember(this.#order.folder, finished)
    return { published, site: finished }
  }

  /** The version that an interrupted publish of these very files left behind. */
  #pendingVersion(): string | undefined {
    const { remembered } = this.#order
    if (remembered?.slug !== this.#way.slug || remembered?.pending?.manifest !== this.#manifest)
      return undefined
    return remembered.pending.versionId
  }

  #remember(staged: Staged, pending: NonNullable<RememberedSite['pending']>): RememberedSite {
    const { folder, server, remembered } = this.#order
    const { claimToken, claimUrl, expiresAt } = staged.claimToken
      ? staged
      : this.#way.claimToken !== undefined && remembered
        ? remembered
        : {}
    return this.#work.sites.remember(folder, {
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

/** Tells one set of files and wishes from another. */
function manifestDigest(viewer: Viewer, files: HashedFile[]): string {
  const entries = files.map(({ path, size, contentType, hash }) => [path, size, contentType, hash])
  return createHash('sha256')
    .update(JSON.stringify([viewer, entries]))
    .digest('hex')
}
