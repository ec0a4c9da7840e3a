/** A site's host without the common prefix. */
export function toHost(siteUrl: string): string {
  return new URL(siteUrl).host
}

/** The URL of a file of a site, or of a version. */
export function fileUrl(siteUrl: string, path: string): string {
  return siteUrl + path.split('/').map(encodeURIComponent).join('/')
}
