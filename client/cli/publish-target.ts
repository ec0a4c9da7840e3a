import { createHash } from 'node:crypto'
import type { SiteMetadata } from '../../protocol/api/publish.ts'
import {
  type PublishMemory,
  publishRemembered,
  type ResumableOptions,
  type ResumableResult,
  SiteOwnedError,
} from '../sdk/resume.ts'
import { loginCommand } from './account.ts'
import { CliError } from './cli-error.ts'
import type { CommandContext } from './command.ts'
import type { HashedFile } from './folder/digest.ts'
import type { RememberedSite } from './state/site-memory.ts'

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
  /** Undefined asks before most of a site is replaced. */
  mode: 'merge' | 'replace' | undefined
}

export type PublishObserver = {
  [Name in 'onStaged' | 'onProgress' | 'onRetry']: NonNullable<ResumableOptions[Name]>
}

/** Publishes to the named or remembered site, otherwise to a new one; prints why a remembered site is replaced. */
export async function publishToSite(
  work: CommandContext,
  plan: PublishPlan,
  files: HashedFile[],
  observer: PublishObserver,
): Promise<ResumableResult> {
  const { server, key, slug, viewer, live } = plan
  const merge = plan.mode === 'merge'
  try {
    return await publishRemembered({
      ...viewer,
      ...observer,
      files,
      live,
      ...(merge && { merge }),
      slug,
      manifest: manifestDigest(viewer, files, merge),
      memory: createMemory(work, plan),
      hasAccount: key !== undefined,
      connect: (withAccount) => work.connect(server, withAccount ? key : undefined),
      signal: work.signal,
      onReplace({ siteUrl }, reason) {
        const why = reason === 'expired' ? 'has expired' : 'is gone, or belongs to somebody else'
        work.terminal.printNote(`${siteUrl} ${why}. This becomes a new site.`)
      },
    })
  } catch (error) {
    throw error instanceof SiteOwnedError ? ownedError(work, plan, error) : error
  }
}

function createMemory(
  { siteMemory }: CommandContext,
  { folder, server, remembered }: PublishPlan,
): PublishMemory {
  return {
    find: () => remembered,
    remember: (site) => siteMemory.remember(folder, { ...site, server }),
    forget: (slug) => siteMemory.forget(slug, server),
  }
}

function ownedError(
  work: CommandContext,
  { server, slug, remembered }: PublishPlan,
  { cause }: SiteOwnedError,
): CliError {
  const known = slug === undefined || remembered?.slug === slug ? remembered?.siteUrl : undefined
  const address = known ?? `${slug} at ${server}`
  const login = loginCommand(work, server)
  const createNew = `Or publish a new site: ${work.settings.program} publish --new`
  return cause === undefined
    ? new CliError(`${address} belongs to an account`, `Sign in: ${login}`, createNew)
    : new CliError(`${address} was claimed by somebody`, `Sign in as its owner: ${login}`, createNew)
}

/** A digest of the files, the metadata, and whether the files are added. */
function manifestDigest(viewer: SiteMetadata, files: HashedFile[], merge: boolean): string {
  const entries = files.map(({ path, size, contentType, hash }) => [path, size, contentType, hash])
  return createHash('sha256')
    .update(JSON.stringify([viewer, entries, ...(merge ? ['merge'] : [])]))
    .digest('hex')
}
