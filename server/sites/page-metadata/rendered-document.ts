import { hash } from 'node:crypto'
import type { SiteMetadata } from '../../../protocol/api/publish.ts'
import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import type { SiteRow, VersionRow } from '../../store/schema.ts'
import { hasImage, metadataColumns } from '../site-metadata.ts'

/** A root document with injected metadata, stored as a blob of its own. */
export interface RenderedIndex {
  /** Key of its inputs: with other inputs it must not be served. */
  key: string
  hash: string
  /** Bytes. */
  size: number
}

/** Metadata that is injected into the root document. */
export type HeadMetadata = Pick<SiteRow, 'title' | 'description' | 'og_image_path'>

/** The columns of a version that determine its injected document. */
type RenderableVersion = Pick<VersionRow, 'files' | 'viewer' | 'published_at'>

/** Inputs of an injected document. */
export interface RenderInput {
  key: string
  /** The document as published. */
  root: StoredFile
  metadata: HeadMetadata
}

/**
 * The injected document to serve in place of the root document, at the host of the site or the version;
 * undefined when the published document is served: there is no metadata, or it has changed since.
 */
export function currentRender(
  site: HeadMetadata,
  version: RenderableVersion & Pick<VersionRow, 'front'>,
  siteUrl: string,
): RenderedIndex | undefined {
  if (version.front === null) return undefined
  const front = JSON.parse(version.front) as RenderedIndex
  return front.key === renderInput(site, version, siteUrl)?.key ? front : undefined
}

/** Inputs for a version's injected document; undefined when it needs none. */
export function renderInput(
  site: HeadMetadata,
  version: RenderableVersion,
  siteUrl: string,
): RenderInput | undefined {
  const metadata = effectiveMetadata(site, version)
  if (Object.values(metadata).every((one) => one === null)) return undefined
  const root = findIndexDocument(JSON.parse(version.files) as StoredFile[])
  return root && { key: renderKey(root.hash!, metadata, siteUrl), root, metadata }
}

/**
 * The effective metadata while this version is live: the metadata of its publish applies when it first goes
 * live, and an Open Graph image that the version does not contain is ignored.
 */
export function effectiveMetadata(site: HeadMetadata, version: RenderableVersion): HeadMetadata {
  const first = version.published_at === null
  const said = { ...site, ...(first ? metadataColumns(JSON.parse(version.viewer) as SiteMetadata, 0) : {}) }
  const { title, description, og_image_path: image } = said
  const lost = image !== null && !hasImage(JSON.parse(version.files) as StoredFile[], image)
  return { title, description, og_image_path: lost ? null : image }
}

/** The document for a site's metadata; undefined when there is none, or none in HTML. */
function findIndexDocument(files: readonly StoredFile[]): StoredFile | undefined {
  const root = files.find((file) => file.path === 'index.html')
  return root && /^text\/html\s*(;|$)/i.test(root.contentType) ? root : undefined
}

/** The key of an injected document for a root document's hash, metadata and URL. */
function renderKey(rootHash: string, said: HeadMetadata, siteUrl: string): string {
  const { title, description, og_image_path: image } = said
  return hash('sha256', JSON.stringify([rootHash, title, description, image, siteUrl]))
}
