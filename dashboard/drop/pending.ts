import { tab } from '../api/browser-storage.ts'

/** A pending version, stored for a reload of this page. */
export interface Pending {
  /** Of the manifest: the same files are needed to continue. */
  digest: string
  slug: string
  siteUrl: string
  versionId: string
  /** Of a site without an owner. */
  claimToken?: string
  claimUrl?: string
  expiresAt?: string
  /** Whether the site was created with it. */
  isNew: boolean
}

const STORAGE_KEY = 'slipway.pending'
const MAX_PENDING = 5

/** The pending version of this tab for exactly these files and this site, or without a slug for a new one. */
export function pendingFor(digest: string, slug: string | undefined): Pending | undefined {
  return readAll().find(
    (one) => one.digest === digest && (slug === undefined ? one.isNew : one.slug === slug),
  )
}

export function rememberPending(pending: Pending): void {
  write([pending, ...readAll().filter(({ slug }) => slug !== pending.slug)].slice(0, MAX_PENDING))
}

export function forgetPending(slug: string): void {
  write(readAll().filter((one) => one.slug !== slug))
}

function readAll(): Pending[] {
  try {
    const kept: unknown = JSON.parse(tab.read(STORAGE_KEY) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isPending) : []
  } catch {
    return []
  }
}

/** Stored data may come from another version, or be edited. */
function isPending(one: unknown): one is Pending {
  const { digest, slug, siteUrl, versionId } = (one ?? {}) as Record<string, unknown>
  return [digest, slug, siteUrl, versionId].every((text) => typeof text === 'string')
}

function write(pending: Pending[]): void {
  tab.write(STORAGE_KEY, pending.length > 0 ? JSON.stringify(pending) : null)
}
