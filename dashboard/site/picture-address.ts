import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { versionAddress } from '../app/version-address.ts'

/** Larger images are not loaded as thumbnails, in bytes. */
const MAX_PICTURE_BYTES = 5_000_000

/** Types that the link previews of messengers and social networks show; none of them shows SVG. */
const PREVIEW_TYPES = /^image\/(png|jpeg|webp|gif)\b/i

/** The images of a site. */
export function findImages({ files }: Pick<SiteDetails, 'files'>): FileEntry[] {
  return files.filter(({ contentType }) => /^image\//i.test(contentType))
}

export function isPreviewType({ contentType }: Pick<FileEntry, 'contentType'>): boolean {
  return PREVIEW_TYPES.test(contentType)
}

/**
 * The URL of an image of the live version for display here, or undefined when it should not be displayed.
 * Uses the version's host, where visits are not counted.
 */
export function pictureUrl(site: SiteDetails, { path, size }: FileEntry): string | undefined {
  const { siteUrl, currentVersionId: versionId } = site
  if (versionId === null || site.hasPassword || size > MAX_PICTURE_BYTES) return undefined
  return versionAddress({ siteUrl, versionId }) + encoded(path)
}

/** The URL of an image for its owner, also behind a password. Costs one API request. */
export function ownerPictureUrl({ slug }: SiteDetails, { path }: FileEntry): string {
  return `/api/v1/publish/${slug}/files/${encoded(path)}`
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
