import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import type { Site } from '../../store/tables/sites.ts'
import type { Version } from '../../store/tables/versions.ts'
import { hasImage, metadataChange } from '../site-metadata.ts'
import type { UrlBuilder } from '../urls.ts'
import type { HeadTags } from './head-injection.ts'

/** Metadata that the head of the root document shows. */
export type HeadMetadata = Pick<Site, 'title' | 'description' | 'ogImagePath'>

export interface HeadInjection {
  /** The document as published. */
  published: StoredFile & { hash: string }
  tags: HeadTags
}

/**
 * While this version is live: the metadata of its publish applies when it first goes live, and an Open Graph image that
 * the version does not contain is ignored.
 */
export function effectiveMetadata(
  site: HeadMetadata,
  version: Pick<Version, 'metadata' | 'publishedAt'>,
  files: readonly StoredFile[],
): HeadMetadata {
  const isFirst = version.publishedAt === null
  const ofPublish = isFirst ? metadataChange(version.metadata, 0) : {}
  const { title, description, ogImagePath: image } = { ...site, ...ofPublish }
  const isLost = image !== null && !hasImage(files, image)
  return { title, description, ogImagePath: isLost ? null : image }
}

/** Undefined without metadata, or without a root document in HTML. */
export function findInjection(
  site: HeadMetadata & { slug: string },
  version: Pick<Version, 'files' | 'metadata' | 'publishedAt'>,
  addresses: UrlBuilder,
): HeadInjection | undefined {
  const files = version.files
  const { title, description, ogImagePath: path } = effectiveMetadata(site, version, files)
  if (title === null && description === null && path === null) return undefined
  const root = files.find((file) => file.path === 'index.html')
  // Bytes with a content coding have no head that could be changed.
  if (!root?.hash || root.coded || !/^text\/html\s*(;|$)/i.test(root.contentType)) return undefined
  const image = path === null ? null : addresses.file(site.slug, path)
  return { published: { ...root, hash: root.hash }, tags: { title, description, image } }
}
