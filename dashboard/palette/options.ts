import type { SiteSummary } from '../../protocol/api/sites.ts'
import { signedInAs } from '../api/session.ts'
import { useSignal } from '../api/use-signal.ts'
import type { IconName } from '../kit/icon.tsx'

/** A row of the command palette. */
export interface PaletteOption {
  key: string
  name: string
  /** Beside the name: the host of a site. */
  detail?: string
  icon: IconName
  /** A page to open, or `sign-out`. */
  target: string
}

export const SIGN_OUT = 'sign-out'

const PUBLISH: PaletteOption = { key: 'publish', name: 'Publish a site', icon: 'upload', target: '/' }
const DOCS: PaletteOption = { key: 'docs', name: 'Docs', icon: 'document', target: '/docs' }

const OWNER_OPTIONS: readonly PaletteOption[] = [
  PUBLISH,
  { key: 'sites', name: 'Sites', icon: 'files', target: '/sites' },
  { key: 'domains', name: 'Domains', icon: 'globe', target: '/domains' },
  { key: 'account', name: 'Account', icon: 'lock', target: '/account' },
  DOCS,
  { key: SIGN_OUT, name: 'Sign out', icon: 'leave', target: SIGN_OUT },
]

const VISITOR_OPTIONS: readonly PaletteOption[] = [
  PUBLISH,
  { key: 'sign-in', name: 'Sign in', icon: 'lock', target: '/sign-in' },
  DOCS,
]

/** The pages and actions whose names contain all of these words. */
export function usePageOptions(words: string): readonly PaletteOption[] {
  const all = useSignal(signedInAs) === null ? VISITOR_OPTIONS : OWNER_OPTIONS
  const wanted = words.toLowerCase().split(/\s+/)
  return all.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)))
}

export function toSiteOption({ slug, siteUrl, title }: SiteSummary): PaletteOption {
  const { host } = new URL(siteUrl)
  return {
    key: `site-${slug}`,
    name: title ?? slug,
    detail: host,
    icon: 'page',
    target: `/sites/${slug}`,
  }
}
