/** A site's address as it is read: without what every address has. */
export function hostOf(siteUrl: string): string {
  return new URL(siteUrl).host
}

/** Read when a version is made live, and never served. */
export function isServed(path: string): boolean {
  return path !== '_headers' && path !== '_redirects'
}

/** The address of one file of a site, or of a version of it. */
export function fileUrl(siteUrl: string, path: string): string {
  return siteUrl + path.split('/').map(encodeURIComponent).join('/')
}
