import type { PublishOptions, PublishResult, StagedVersion } from './publish.ts'
import { isSlipwayError, SlipwayError } from './slipway-error.ts'

/** A site as its publisher stores it between runs. */
export interface StoredSite {
  slug: string
  /** These three only while the site has no owner. */
  claimToken?: string
  claimUrl?: string
  expiresAt?: string
  /** A staged, unfinished version and the digest of its manifest. */
  pending?: { versionId: string; manifest: string }
}

/** A published site. */
export interface PublishedSite extends StoredSite {
  siteUrl: string
}

/** Where a publisher stores one site between runs: a file, or the storage of a browser. */
export interface PublishMemory {
  /** The site that was published from here, if any. */
  find(): StoredSite | undefined
  /** Called with `pending` before the first upload, and without it once the version is finalized. */
  remember(site: PublishedSite): void
  /** The site no longer exists. */
  forget(slug: string): void
}

export interface ResumableOptions
  extends Omit<PublishOptions, 'slug' | 'claimToken' | 'pendingVersionId' | 'onStaged'> {
  /** The site to update, never replaced by a new one. By default the remembered site, or else a new one. */
  slug?: string | undefined
  /** Creates the site of this slug when it does not exist, which needs an account. */
  create?: boolean | undefined
  /** A digest of the files and the metadata: a pending version is resumed only for the same ones. */
  manifest: string
  memory: PublishMemory
  /** Whether there are credentials of an account. */
  hasAccount: boolean
  /** A client with these credentials, or without any. */
  connect(withAccount: boolean): { publish(options: PublishOptions): Promise<PublishResult> }
  /** `resumed`: the version was staged by an earlier, interrupted publish. */
  onStaged?: ((staged: StagedVersion, resumed: boolean) => void | Promise<void>) | undefined
  /**
   * Called with NOT_FOUND or SITE_EXPIRED before a new site takes the place of the remembered one. It rejects to publish
   * nothing.
   */
  onReplace?: ((site: StoredSite, refusal: SlipwayError) => void | Promise<void>) | undefined
}

/** The result of a publish, and what is stored about the site. */
export interface ResumableResult {
  published: PublishResult
  site: PublishedSite
}

/**
 * The site has an owner, and no credentials of that account are at hand. `cause` is the refusal of the server, if a
 * request was made.
 */
export class SiteOwnedError extends SlipwayError {
  constructor(slug: string, cause?: SlipwayError) {
    const { message = `${slug} belongs to an account`, code = 'UNAUTHORIZED', status = 401 } = cause ?? {}
    super(message, { code, status, details: cause?.details, cause })
    this.name = 'SiteOwnedError'
  }
}

/**
 * Publishes to the named or remembered site, otherwise to a new one, and resumes an interrupted publish of the same
 * files. Updates by claim token, else as the account. A remembered site that no longer exists is replaced by a new
 * one. Without a change the live version stays (`ifChanged`). Rejects with a SlipwayError (a SiteOwnedError when only the owner can publish), or with the signal's reason.
 */
export async function publishRemembered(options: ResumableOptions): Promise<ResumableResult> {
  const stored = options.memory.find()
  const known = options.slug === undefined || stored?.slug === options.slug ? stored : undefined
  const slug = options.slug ?? known?.slug
  if (slug === undefined) return attempt(options, { usesAccount: options.hasAccount })
  const refusals: SlipwayError[] = []
  for (const target of targetsFor(options, slug, known)) {
    let isStaged = false
    const onStaged = () => {
      isStaged = true
    }
    try {
      return await attempt(options, target, onStaged)
    } catch (error) {
      if (isStaged || !isRecoverable(target, error)) throw error
      refusals.push(error)
    }
  }
  await replaceOrThrow(options, { slug, known, refusals })
  return attempt(options, { usesAccount: options.hasAccount })
}

/** A site with credentials for it; without a slug a new site. */
interface Target {
  slug?: string
  /** The site whose claim token is sent, in place of the account's credentials. */
  unowned?: StoredSite
  usesAccount: boolean
  pendingVersionId?: string | undefined
}

function targetsFor(
  { manifest, hasAccount }: ResumableOptions,
  slug: string,
  known: StoredSite | undefined,
): Target[] {
  const pendingVersionId = known?.pending?.manifest === manifest ? known.pending.versionId : undefined
  return [
    ...(known?.claimToken === undefined
      ? []
      : [{ slug, unowned: known, usesAccount: false, pendingVersionId }]),
    ...(hasAccount ? [{ slug, usesAccount: true, pendingVersionId }] : []),
  ]
}

/** Whether other credentials may still work. A claim token is useless once the site has an owner. */
function isRecoverable({ unowned }: Target, error: unknown): error is SlipwayError {
  return isSlipwayError(error, 'NOT_FOUND', 'SITE_EXPIRED') || (unowned !== undefined && isOwned(error))
}

function isOwned(error: unknown): boolean {
  return isSlipwayError(error, 'UNAUTHORIZED', 'INVALID_CLAIM_TOKEN', 'ALREADY_CLAIMED')
}

/** Throws unless each refusal means that the remembered site no longer exists. */
async function replaceOrThrow(
  { slug: named, memory, onReplace }: ResumableOptions,
  { slug, known, refusals }: { slug: string; known: StoredSite | undefined; refusals: SlipwayError[] },
): Promise<void> {
  if (refusals.length === 0) throw new SiteOwnedError(slug)
  if (named !== undefined || !known) throw refusals.at(-1)
  const owned = refusals.find(isOwned)
  if (owned) throw new SiteOwnedError(slug, owned)
  const expired = refusals.find(({ code }) => code === 'SITE_EXPIRED')
  await onReplace?.(known, expired ?? refusals.at(-1)!)
  memory.forget(known.slug)
}

async function attempt(
  options: ResumableOptions,
  { slug, unowned, usesAccount, pendingVersionId }: Target,
  onStaged?: () => void,
): Promise<ResumableResult> {
  const {
    memory,
    manifest,
    connect,
    onStaged: observe,
    hasAccount: _,
    onReplace: __,
    create,
    baseVersionId,
    ...publishOptions
  } = options
  let site: PublishedSite | undefined
  const published = await connect(usesAccount).publish({
    ifChanged: true,
    ...publishOptions,
    ...(create && usesAccount ? { slug: undefined, name: slug, update: true } : { slug }),
    ...(slug !== undefined && { baseVersionId }),
    claimToken: unowned?.claimToken,
    pendingVersionId,
    onStaged: async (staged) => {
      onStaged?.()
      const { versionId } = staged.upload
      const stored = toPublishedSite(staged, unowned)
      site = stored
      const remember = () => memory.remember({ ...stored, pending: { versionId, manifest } })
      // The claim token of a new site must not be lost. An update that is declined leaves no trace.
      if (!staged.removal) remember()
      await observe?.(staged, versionId === pendingVersionId)
      if (staged.removal) remember()
    },
  })
  memory.remember(site!)
  return { published, site: site! }
}

function toPublishedSite(staged: StagedVersion, unowned: StoredSite | undefined): PublishedSite {
  const { slug, siteUrl } = staged
  const { claimToken, claimUrl, expiresAt } = staged.claimToken === undefined ? (unowned ?? {}) : staged
  return {
    slug,
    siteUrl,
    ...(claimToken !== undefined && { claimToken }),
    ...(claimUrl !== undefined && { claimUrl }),
    ...(expiresAt !== undefined && { expiresAt }),
  }
}
