import { tab } from '../api/browser-storage.ts'

/** A version that the server waits for, should this page be reloaded in the middle. */
export interface Pending {
  /** Of the manifest: the same files are needed to go on. */
  digest: string
  slug: string
  siteUrl: string
  versionId: string
  /** Of a site without an owner. */
  claimToken?: string
  claimUrl?: string
  expiresAt?: string
  /** Whether the site is new with it. */
  isNew: boolean
}

const NAME = 'slipway.pending'
const MOST = 5

/** What was begun in this tab with these very files, for this site or, without a slug, as a new one. */
export function pendingFor(digest: string, slug: string | undefined): Pending | undefined {
  return all().find((one) => one.digest === digest && (slug === undefined ? one.isNew : one.slug === slug))
}

export function rememberPending(pending: Pending): void {
  write([pending, ...all().filter(({ slug }) => slug !== pending.slug)].slice(0, MOST))
}

export function forgetPending(slug: string): void {
  write(all().filter((one) => one.slug !== slug))
}

function all(): Pending[] {
  try {
    const kept: unknown = JSON.parse(tab.read(NAME) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isPending) : []
  } catch {
    return []
  }
}

/** What was kept may have been written by another version, or by hand. */
function isPending(one: unknown): one is Pending {
  const { digest, slug, siteUrl, versionId } = (one ?? {}) as Record<string, unknown>
  return [digest, slug, siteUrl, versionId].every((text) => typeof text === 'string')
}

function write(pending: Pending[]): void {
  tab.write(NAME, pending.length > 0 ? JSON.stringify(pending) : null)
}
