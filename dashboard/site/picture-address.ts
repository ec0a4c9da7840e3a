import type { FileEntry, SiteDetails } from '../../client/wire.ts'
import { versionAddress } from '../app/version-address.ts'

/** Bytes above which a picture is not loaded just to be shown small. */
const SMALL_ENOUGH = 5_000_000

/** The pictures among a site's files. */
export function picturesOf({ files }: Pick<SiteDetails, 'files'>): FileEntry[] {
  return files.filter(({ contentType }) => /^image\//i.test(contentType))
}

/**
 * Where a picture of the live version can be had to be shown here, or undefined when it should not be. It is the version's own
 * host, where nobody counts visits.
 */
export function pictureAddress(site: SiteDetails, { path, size }: FileEntry): string | undefined {
  const { siteUrl, currentVersionId: versionId } = site
  if (versionId === null || site.hasPassword || size > SMALL_ENOUGH) return undefined
  return versionAddress({ siteUrl, versionId }) + encoded(path)
}

/** Where the owner gets a picture however it is guarded. Each time it is one request of the API. */
export function ownersPictureAddress({ slug }: SiteDetails, { path }: FileEntry): string {
  return `/api/v1/publish/${slug}/files/${encoded(path)}`
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
