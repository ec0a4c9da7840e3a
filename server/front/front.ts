import { hash } from 'node:crypto'
import type { Viewer } from '../../client/wire.ts'
import type { StoredFile } from '../file.ts'
import type { SiteRow, VersionRow } from '../store/schema.ts'
import { hasImage, viewerColumns } from '../viewer.ts'

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

/** What decides which front a version has. */
type FrontedVersion = Pick<VersionRow, 'files' | 'viewer' | 'published_at'>

/** What a front is made of. */
export interface FrontWish {
  key: string
  /** The document as it was published. */
  root: StoredFile
  said: Said
}

/**
 * The front to serve in place of the root document of a version, at the site's host or at its own; undefined when the
 * document is served as it was published: nothing is said of the site, or something else than when the front was made.
 */
export function currentFront(
  site: Said,
  version: FrontedVersion & Pick<VersionRow, 'front'>,
  siteUrl: string,
): Front | undefined {
  if (version.front === null) return undefined
  const front = JSON.parse(version.front) as Front
  return front.key === frontWish(site, version, siteUrl)?.key ? front : undefined
}

/** What the front of a version is to be made of; undefined when it needs none. */
export function frontWish(site: Said, version: FrontedVersion, siteUrl: string): FrontWish | undefined {
  const said = saidWhenLive(site, version)
  if (Object.values(said).every((one) => one === null)) return undefined
  const root = rootDocument(JSON.parse(version.files) as StoredFile[])
  return root && { key: frontKey(root.hash!, said, siteUrl), root, said }
}

/**
 * What is said of the site while this version is live, whether it is now or not: what its publish said counts when it
 * goes live for the first time, and an Open Graph image that the version does not have does not count.
 */
export function saidWhenLive(site: Said, version: FrontedVersion): Said {
  const first = version.published_at === null
  const said = { ...site, ...(first ? viewerColumns(JSON.parse(version.viewer) as Viewer, 0) : {}) }
  const { title, description, og_image_path: image } = said
  const lost = image !== null && !hasImage(JSON.parse(version.files) as StoredFile[], image)
  return { title, description, og_image_path: lost ? null : image }
}

/** The document that a site's metadata is set in; undefined when there is none, or none in HTML. */
function rootDocument(files: readonly StoredFile[]): StoredFile | undefined {
  const root = files.find((file) => file.path === 'index.html')
  return root && /^text\/html\s*(;|$)/i.test(root.contentType) ? root : undefined
}

/** The key of the front that a root document of this hash has with what is said, at this address. */
function frontKey(rootHash: string, said: Said, siteUrl: string): string {
  const { title, description, og_image_path: image } = said
  return hash('sha256', JSON.stringify([rootHash, title, description, image, siteUrl]))
}
