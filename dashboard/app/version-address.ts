/** The URL of one version of a site, where visits are not counted. */
export function versionAddress({ siteUrl, versionId }: { siteUrl: string; versionId: string }): string {
  return siteUrl.replace('//', `//${versionId}--`)
}
