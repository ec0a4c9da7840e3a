import { createHash } from 'node:crypto'
import type { FinalizeResponse, SiteMetadata } from '../../protocol/api/publish.schema.ts'
import type { HashedFile } from '../sdk/folder/digest.ts'
import {
  type PublishMemory,
  publishRemembered,
  type ResumableOptions,
  type ResumableResult,
  SiteOwnedError,
} from '../sdk/resume.ts'
import { isSlipwayError, type SlipwayError } from '../sdk/slipway-error.ts'
import { loginCommand, rememberSite } from './account.ts'
import {
  AuthError,
  type CliError,
  NameTakenError,
  RefusedError,
  UnknownNameError,
  UsageError,
} from './cli-error.ts'
import type { CommandContext } from './command.ts'
import { isInTrash } from './format-error.ts'
import { quoteArgument } from './quote-argument.ts'
import { isUnwritable } from './state/private-file.ts'
import { describeSite, type RememberedSite } from './state/site-memory.ts'
import { suggestName } from './suggest-name.ts'
import { confirm } from './terminal/choose.ts'
import { formatWarnings } from './warnings.ts'

/** In place of a version that a folder should have seen: no version has this id. */
export const UNKNOWN_VERSION = 'unknown'

/** What to publish, and where. */
export interface PublishPlan {
  folder: string
  server: string
  key: string | undefined
  /** The explicitly named site. */
  slug: string | undefined
  /** Creates the named site when it does not exist. */
  create: boolean
  /** The site that the folder was published as before. */
  remembered: RememberedSite | undefined
  viewer: SiteMetadata
  /** Of the site. */
  name: string | undefined
  /** To set before the version is live; null to remove after it. */
  password?: string | null | undefined
  /** Called once it is set. */
  onPassword?: () => void
  /** Note about the version. */
  message: string | undefined
  live: boolean
  /** The name of the preview to publish to. */
  preview: string | undefined
  /** See `ScanOptions`. */
  secrets: boolean
  /** Fingerprints of secrets in the files that may be public. */
  allowSecrets: string[] | undefined
  /** Open pages of the preview reload after each update. */
  liveReload: boolean
  /** A conflict is a question on a terminal, otherwise always an error. */
  asksOnConflict: boolean
  /** Keeps a version with warnings as a draft. */
  strict: boolean
  /**
   * The version that the update replaces: VERSION_CONFLICT when another one is live, or shown by the preview. Undefined
   * replaces any.
   */
  baseVersionId: string | undefined
  /** Undefined asks before most of a site is replaced. */
  mode: 'merge' | 'replace' | undefined
}

export type PublishObserver = {
  [Name in 'onStaged' | 'onProgress' | 'onRetry']: NonNullable<ResumableOptions[Name]>
}

/**
 * Publishes to the named or remembered site, otherwise to a new one; prints why a remembered site is replaced.
 * With `strict` a version with warnings stays a draft, and a RefusedError lists them.
 */
export async function publishToSite(
  work: CommandContext,
  plan: PublishPlan,
  files: HashedFile[],
  observer: PublishObserver,
): Promise<ResumableResult> {
  const { server, key, slug, viewer, strict, name, message, preview, liveReload } = plan
  const merge = plan.mode === 'merge'
  const isDraft = !plan.live && preview === undefined
  const baseVersionId = isDraft || merge ? undefined : plan.baseVersionId
  // A version that was staged before the site was remembered is resumed.
  const seenVersionId = baseVersionId === UNKNOWN_VERSION ? undefined : baseVersionId
  try {
    const result = await publishRemembered({
      ...viewer,
      ...observer,
      files,
      name,
      message,
      preview,
      ...(liveReload && { liveReload }),
      live: plan.live && !strict,
      ...(merge && { merge }),
      slug,
      allowSecrets: plan.allowSecrets,
      create: plan.create,
      baseVersionId,
      manifest: manifestDigest({ ...viewer, message, preview, baseVersionId: seenVersionId }, files, merge),
      memory: createMemory(work, plan, plan.live && !strict),
      hasAccount: key !== undefined,
      connect: (withAccount) => work.connect(server, withAccount ? key : undefined),
      signal: work.signal,
      onReplace: (_site, refusal) => confirmNewSite(work, plan.remembered!, refusal),
    })
    if (strict && !plan.live) assertNoWarnings(result, isDraft ? 'draft' : 'preview')
    const done = strict && plan.live ? await goLiveWithoutWarnings(work, plan, result) : result
    if (strict && plan.live && slug !== undefined) createMemory(work, plan, true).remember(done.site)
    rememberLive(work, plan, done.published, merge)
    return done
  } catch (error) {
    if (isSlipwayError(error, 'NAME_TAKEN') && plan.create)
      throw new NameTakenError(
        error.message,
        'Choose another name with --site. To update a site that is shared with you, leave --create out.',
      )
    if (isSlipwayError(error, 'NAME_TAKEN') && name !== undefined)
      throw new NameTakenError(error.message, ...(await suggestName(work.connect(server, key), name)))
    if (isSlipwayError(error, 'NOT_FOUND') && slug !== undefined && !isInTrash(error)) {
      const { program } = work.settings
      throw new UnknownNameError(
        error.message,
        `List your sites: ${program} sites`,
        'To create it: add --create',
      )
    }
    throw error instanceof SiteOwnedError ? ownedError(work, plan, error) : error
  }
}

/**
 * Stores which version went live in a publish: another one may be live since. A merge shows nothing of a version that it was laid over, so the next
 * publish has to report that one.
 */
export function rememberLive(
  { siteMemory }: Pick<CommandContext, 'siteMemory'>,
  { live, server, folder, baseVersionId }: PublishPlan,
  { slug, versionId, previousVersionId, unchanged }: FinalizeResponse,
  merge: boolean,
): void {
  if (!live) return
  const seen = siteMemory.find(folder, server)?.liveVersionId ?? baseVersionId
  if (merge && (unchanged || previousVersionId !== seen)) return
  siteMemory.setLiveVersion(slug, server, versionId)
}

function assertNoWarnings({ published }: ResumableResult, what: 'draft' | 'preview'): void {
  const warnings = formatWarnings(published)
  if (warnings.length > 0) throw new RefusedError(`The ${what} has warnings`, ...warnings)
}

/** Before the version is live, so that it is never visible without the password. */
export async function setPassword(
  work: CommandContext,
  { server, key, password, onPassword }: PublishPlan,
  slug: string,
): Promise<void> {
  if (!password) return
  await work.connect(server, key).setMetadata(slug, { password })
  onPassword?.()
}

async function goLiveWithoutWarnings(
  work: CommandContext,
  plan: PublishPlan,
  result: ResumableResult,
): Promise<ResumableResult> {
  const { published, site } = result
  const warnings = formatWarnings(published)
  if (warnings.length > 0 && published.unchanged)
    throw new RefusedError('No changes. The version is already live, with warnings', ...warnings)
  if (warnings.length > 0) {
    const draft = `Draft: ${published.previewUrl}`
    throw new RefusedError('The version is not live because it has warnings', ...warnings, draft)
  }
  await setPassword(work, plan, site.slug)
  if (published.unchanged) return result
  const { claimToken } = site
  const client = work.connect(plan.server, claimToken === undefined ? plan.key : undefined)
  const finalized = await client.finalize(site.slug, {
    versionId: published.versionId,
    ...(claimToken !== undefined && { claimToken }),
  })
  return { site, published: { ...published, ...finalized } }
}

/**
 * Prints why the remembered site is replaced. If it had an owner, who may have deleted it, and whose password, required
 * approval and collaborators the new one would not have, asks first; without a terminal throws a UsageError.
 */
async function confirmNewSite(
  { terminal, settings: { program } }: CommandContext,
  site: RememberedSite,
  refusal: SlipwayError,
): Promise<void> {
  const { slug, claimToken } = site
  const isDeleted = isInTrash(refusal)
  const why = isDeleted ? 'was deleted' : "doesn't exist, or belongs to another account"
  const situation = `${describeSite(site)} ${refusal.code === 'SITE_EXPIRED' ? 'has expired' : why}`
  if (!isDeleted && claimToken !== undefined)
    return terminal.printNote(`${situation}. Publishing a new site.`)
  const restore = isDeleted ? [`To restore it: ${program} undelete ${quoteArgument(slug)}`] : []
  if (!terminal.interactive) throw new UsageError(situation, ...restore, 'To publish a new site: --new')
  for (const line of [situation, ...restore]) terminal.printNote(line)
  if (!(await confirm(terminal, 'Publish a new site?'))) throw new RefusedError('Nothing was published')
}

function createMemory(
  work: CommandContext,
  { folder, server, remembered, slug: named }: PublishPlan,
  live: boolean,
): PublishMemory {
  const { siteMemory } = work
  let known = remembered
  return {
    find: () => remembered,
    remember(site) {
      const stored = siteMemory.find(folder, server)
      // Another command may have stored a later one since this one began.
      const liveVersionId = siteMemory.all(server).find(({ slug }) => slug === site.slug)?.liveVersionId
      try {
        if (known?.slug === site.slug && !known.unlinked && isChangedElsewhere(known, stored))
          return rememberSite(work, folder, withoutPending(stored))
        // Until a version of the named one is live, the folder keeps its site.
        const isOther = named !== undefined && stored?.slug !== site.slug
        const unlinked = isOther && (site.pending !== undefined || (stored !== undefined && !live))
        const seen = { ...(unlinked && { unlinked }), ...(liveVersionId && { liveVersionId }) }
        rememberSite(work, folder, { ...site, server, ...seen })
        known = siteMemory.find(folder, server)
      } catch (error) {
        if (!isUnwritable(error)) throw error
        // Called again with the same site, once its version is live. Who names the site does not need the state.
        if (site.pending === undefined && (named === undefined || site.claimToken !== undefined))
          work.terminal.printNote(notStored(error, remembered, site))
      }
    },
    forget: (slug) => siteMemory.forget(slug, server),
  }
}

/** Whether another command of this user has renamed or claimed the site of the folder. */
function isChangedElsewhere(
  known: RememberedSite,
  stored: RememberedSite | undefined,
): stored is RememberedSite {
  if (!stored?.isOwn || stored.folder !== known.folder) return false
  return stored.slug !== known.slug || stored.claimToken !== known.claimToken
}

function withoutPending({ pending: _, ...site }: RememberedSite): RememberedSite {
  return site
}

function notStored(
  { path, code }: NodeJS.ErrnoException,
  remembered: RememberedSite | undefined,
  { claimToken }: { claimToken?: string | undefined },
): string {
  const condition = claimToken === undefined ? 'you pass --site' : 'you claim this one and pass --site'
  const next =
    remembered === undefined ? `. The next publish from here creates a new site unless ${condition}` : ''
  return `Can't write ${path} (${code})${next}.`
}

function ownedError(
  work: CommandContext,
  { server, slug, remembered }: PublishPlan,
  { cause }: SiteOwnedError,
): CliError {
  const address = describeSite({ slug: slug ?? remembered!.slug, server })
  const login = loginCommand(work, server)
  const createNew = 'Or publish a new site: --new'
  return cause === undefined
    ? new AuthError(`${address} belongs to an account`, `Sign in: ${login}`, createNew)
    : new AuthError(`${address} was claimed by another account`, `Sign in as its owner: ${login}`, createNew)
}

/** A digest of the files, the metadata, the replaced version, and whether the files are added. */
function manifestDigest(
  metadata: SiteMetadata & Pick<PublishPlan, 'message' | 'preview' | 'baseVersionId'>,
  files: HashedFile[],
  merge: boolean,
): string {
  const entries = files.map(({ path, size, contentType, hash }) => [path, size, contentType, hash])
  return createHash('sha256')
    .update(JSON.stringify([metadata, entries, ...(merge ? ['merge'] : [])]))
    .digest('hex')
}
