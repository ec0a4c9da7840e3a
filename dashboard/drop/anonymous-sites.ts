import type { ClaimOffer } from '../../protocol/api/sites.schema.ts'
import { browser } from '../api/browser-storage.ts'
import { serverNow } from '../api/server-clock.ts'
import { Signal } from '../api/signal.ts'

/**
 * A site without an owner that was published with this browser; its claim token allows updating and claiming
 * it.
 */
export interface AnonymousSite extends Partial<SiteDescription> {
  slug: string
  siteUrl: string
  claimToken: string
  claimUrl: string
  expiresAt: string
}

/** What lists show of a site beside its address. */
export type SiteDescription = Pick<ClaimOffer, 'title' | 'iconUrl' | 'thumbnailUrl'>

const STORAGE_KEY = 'slipway.anonymous-sites'
const MAX_SITES = 50

/** Known sites of this browser, newest first. Stored beyond the tab and shared with other tabs. */
export const anonymousSites = new Signal<readonly AnonymousSite[]>(parseUnexpired(browser.read(STORAGE_KEY)))

/** Puts a site first. Its known description stays. */
export function rememberAnonymous(site: AnonymousSite): void {
  const known = parseUnexpired(browser.read(STORAGE_KEY))
  const before = known.find(({ slug }) => slug === site.slug)
  const others = known.filter((one) => one !== before)
  store([{ ...before, ...site }, ...others].slice(0, MAX_SITES))
}

/** Changes the description of a site; nothing when it is not known. */
export function describeAnonymous(slug: string, description: Partial<SiteDescription>): void {
  const known = parseUnexpired(browser.read(STORAGE_KEY))
  if (known.some((site) => site.slug === slug))
    store(known.map((site) => (site.slug === slug ? { ...site, ...description } : site)))
}

/** Called when a site was claimed or dismissed. */
export function forgetAnonymous(slug: string): void {
  store(parseUnexpired(browser.read(STORAGE_KEY)).filter((site) => site.slug !== slug))
}

function store(sites: readonly AnonymousSite[]): void {
  browser.write(STORAGE_KEY, sites.length > 0 ? JSON.stringify(sites) : null)
  anonymousSites.value = sites
}

/** Stored data may come from another version, or be edited. */
function parseUnexpired(text: string | null): AnonymousSite[] {
  let stored: unknown
  try {
    stored = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  return Array.isArray(stored)
    ? stored.filter((one) => isSite(one) && Date.parse(one.expiresAt) > serverNow())
    : []
}

function isSite(one: unknown): one is AnonymousSite {
  const site = (one ?? {}) as Record<string, unknown>
  const { slug, siteUrl, claimToken, claimUrl, expiresAt } = site
  const { title = null, iconUrl = null, thumbnailUrl = null } = site
  const texts = [slug, claimToken, expiresAt].every((text) => typeof text === 'string')
  const isDescription = [title, iconUrl, thumbnailUrl].every(
    (text) => text === null || typeof text === 'string',
  )
  return texts && isDescription && [siteUrl, claimUrl].every(isAddress)
}

function isAddress(url: unknown): boolean {
  return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url)
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === STORAGE_KEY) anonymousSites.value = parseUnexpired(newValue)
})
