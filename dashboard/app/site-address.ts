import { settings } from '../api/settings.ts'

/** The address of a site by its slug, where the server tells no more of it: it takes scheme and port of the service. */
export function siteAddress(slug: string): string {
  const { protocol, port } = new URL(settings.baseUrl)
  return `${protocol}//${slug}${settings.siteDomain}${port && `:${port}`}/`
}
