import { hash } from 'node:crypto'
import type { Viewer } from '../client/wire.ts'
import type { StoredFile } from './file.ts'
import type { SiteRow, VersionRow } from './store/schema.ts'
import { hasImage, viewerColumns } from './viewer.ts'

/** The root document with the site's metadata in its head, kept as a blob of its own. */
export interface Front {
  /** Tells which metadata and which document it was made of: with others it is not to be served. */
  key: string
  hash: string
  /** Bytes. */
  size: number
}

/** What is said of a site in the head of its root document. */
export type Said = Pick<SiteRow, 'title' | 'description' | 'og_image_path'>

/** The document that a site's metadata is set in; undefined when there is none, or none in HTML. */
export function rootDocument(files: readonly StoredFile[]): StoredFile | undefined {
  const root = files.find((file) => file.path === 'index.html')
  return root && /^text\/html\s*(;|$)/i.test(root.contentType) ? root : undefined
}

/**
 * What is said of the site while this version is live, whether it is now or not: what its publish said counts when it
 * goes live for the first time, and an Open Graph image that the version does not have does not count.
 */
export function saidWhenLive(
  site: Said,
  version: Pick<VersionRow, 'viewer' | 'published_at'>,
  files: readonly StoredFile[],
): Said {
  const first = version.published_at === null
  const said = { ...site, ...(first ? viewerColumns(JSON.parse(version.viewer) as Viewer, 0) : {}) }
  const { title, description, og_image_path: image } = said
  return { title, description, og_image_path: image !== null && hasImage(files, image) ? image : null }
}

/**
 * The key of the front that a root document of this hash has with what is said, at this address; undefined when
 * nothing is said, so that the document is served as it was published.
 */
export function frontKey(rootHash: string, said: Said, siteUrl: string): string | undefined {
  const { title, description, og_image_path: image } = said
  if (title === null && description === null && image === null) return undefined
  return hash('sha256', JSON.stringify([rootHash, title, description, image, siteUrl]))
}
