import { browser } from '../api/browser-storage.ts'
import { Kept } from '../api/kept.ts'
import { serverNow } from '../api/server-clock.ts'

/** A site without an owner that was published with this browser: who has its claim token can update and claim it. */
export interface AnonymousSite {
  slug: string
  siteUrl: string
  claimToken: string
  claimUrl: string
  expiresAt: string
}

const NAME = 'slipway.anonymous-sites'
const MOST = 50

/** Those that are not known to be gone, newest first. They outlive the tab; other tabs hear of them. */
export const anonymousSites = new Kept<readonly AnonymousSite[]>(lasting(browser.read(NAME)))

export function rememberAnonymous(site: AnonymousSite): void {
  const others = lasting(browser.read(NAME)).filter(({ slug }) => slug !== site.slug)
  keep([site, ...others].slice(0, MOST))
}

/** For who claims one, or does not want it any more. */
export function forgetAnonymous(slug: string): void {
  keep(lasting(browser.read(NAME)).filter((site) => site.slug !== slug))
}

function keep(sites: readonly AnonymousSite[]): void {
  browser.write(NAME, sites.length > 0 ? JSON.stringify(sites) : null)
  anonymousSites.value = sites
}

/** What was kept may have been written by another version, or by hand. */
function lasting(text: string | null): AnonymousSite[] {
  let kept: unknown
  try {
    kept = JSON.parse(text ?? '[]')
  } catch {
    return []
  }
  return Array.isArray(kept)
    ? kept.filter((one) => isSite(one) && Date.parse(one.expiresAt) > serverNow())
    : []
}

function isSite(one: unknown): one is AnonymousSite {
  const { slug, siteUrl, claimToken, claimUrl, expiresAt } = (one ?? {}) as Record<string, unknown>
  const texts = [slug, claimToken, expiresAt].every((text) => typeof text === 'string')
  return texts && [siteUrl, claimUrl].every(isAddress)
}

function isAddress(url: unknown): boolean {
  return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url)
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === NAME) anonymousSites.value = lasting(newValue)
})
