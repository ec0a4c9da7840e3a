import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import { type PaletteOption, pageCommands } from './page-commands.ts'
import { hasWords } from './rank.ts'

const PUBLISH: PaletteOption = { key: 'publish', name: 'Publish a site', icon: 'upload', target: '/' }
const DOCS: PaletteOption = {
  key: 'docs',
  name: 'Docs',
  keywords: 'help documentation',
  icon: 'document',
  target: '/docs',
}

const OWNER_OPTIONS: readonly PaletteOption[] = [
  PUBLISH,
  { key: 'sites', name: 'Sites', icon: 'files', target: '/sites' },
  { key: 'trash', name: 'Trash', icon: 'trash', target: '/trash' },
  { key: 'domains', name: 'Domains', icon: 'globe', target: '/domains' },
  { key: 'account', name: 'Account', icon: 'lock', target: '/account' },
  DOCS,
]

const VISITOR_OPTIONS: readonly PaletteOption[] = [
  PUBLISH,
  { key: 'sign-in', name: 'Sign in', icon: 'lock', target: '/sign-in' },
  DOCS,
]

/** The actions of the shown page, the pages and `signOut`: those whose names or keywords contain all of these words. */
export function usePageOptions(words: string, signOut: () => unknown): readonly PaletteOption[] {
  const isSignedIn = useSignal(signedInAs) !== null
  const commands = useSignal(pageCommands)
  const isShown: Record<string, boolean> = {
    domains: settings.customDomains,
    trash: settings.trashLifetime > 0,
  }
  const pages = isSignedIn ? OWNER_OPTIONS : VISITOR_OPTIONS
  const all = [
    ...commands,
    ...pages.filter(({ key }) => isShown[key] ?? true),
    ...(isSignedIn ? [{ key: 'sign-out', name: 'Sign out', icon: 'leave' as const, target: signOut }] : []),
  ]
  return all.filter((option) => hasWords(option, words))
}

export function docsSearchOption(words: string): PaletteOption {
  return {
    key: 'docs-search',
    name: `Search the docs for “${words}”`,
    icon: 'search',
    target: `/docs?q=${encodeURIComponent(words)}`,
  }
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
