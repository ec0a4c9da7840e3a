import { settings } from '../api/settings.ts'

/** The address of a site by its slug, for pages that know nothing else: scheme and port are those of the service. */
export function siteAddress(slug: string): string {
  const { protocol, port } = new URL(settings.baseUrl)
  return `${protocol}//${slug}${settings.siteDomain}${port && `:${port}`}/`
}
