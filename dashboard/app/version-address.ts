/**
 * The address of one version of a site, from the site's own: what is looked at from here goes there, where nobody counts
 * visits.
 */
export function versionAddress({ siteUrl, versionId }: { siteUrl: string; versionId: string }): string {
  return siteUrl.replace('//', `//${versionId}--`)
}
