import type { PublishedSite } from '../../client/sdk/resume.ts'
import { tab } from '../api/browser-storage.ts'

/** A site with a pending version, stored for a reload of this page. */
export type PendingSite = PublishedSite & {
  pending: NonNullable<PublishedSite['pending']>
  /** Whether the site was created with this version. */
  isNew: boolean
}

const STORAGE_KEY = 'slipway.pending'
const MAX_PENDING = 5

/** The site of this tab with a pending version of exactly these files: this one, or without a slug a new one. */
export function findPending(manifest: string, slug: string | undefined): PendingSite | undefined {
  return readAll().find(
    (site) => site.pending.manifest === manifest && (slug === undefined ? site.isNew : site.slug === slug),
  )
}

export function rememberPending(site: PendingSite): void {
  write([site, ...readAll().filter(({ slug }) => slug !== site.slug)].slice(0, MAX_PENDING))
}

export function forgetPending(slug: string): void {
  write(readAll().filter((site) => site.slug !== slug))
}

function readAll(): PendingSite[] {
  try {
    const stored: unknown = JSON.parse(tab.read(STORAGE_KEY) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isPendingSite) : []
  } catch {
    return []
  }
}

/** Stored data may come from another version, or be edited. */
function isPendingSite(value: unknown): value is PendingSite {
  const { slug, siteUrl, pending } = (value ?? {}) as Record<string, unknown>
  const { versionId, manifest } = (pending ?? {}) as Record<string, unknown>
  return [slug, siteUrl, versionId, manifest].every((text) => typeof text === 'string')
}

function write(sites: PendingSite[]): void {
  tab.write(STORAGE_KEY, sites.length > 0 ? JSON.stringify(sites) : null)
}
