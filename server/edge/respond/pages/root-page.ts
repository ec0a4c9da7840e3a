import { findNearestIndex } from '../../../../protocol/manifest/root-document.ts'
import type { RenderedMarkdown } from '../../../sites/markdown/render-markdown.ts'
import type { HeadMetadata } from '../../../sites/site-metadata.ts'
import { basename, decodePath, dirname, toHref } from '../../paths.ts'
import type { Policy } from '../policy.ts'
import { RedirectResponse } from '../redirect-response.ts'
import { type ServedFile, toFileType } from '../served-file.ts'
import type { SiteHeaders } from '../site-headers.ts'
import type { ErrorPages } from './error-pages.ts'
import { galleryPage, isGallery } from './gallery-page.ts'
import { GeneratedPage, type PageHead, type Tail } from './generated-page.ts'
import { listingPage } from './listing-page.ts'
import { markdownPage } from './markdown-page.ts'
import { framedPath, isTextType, TEXT_PATH, viewerPage } from './viewer-page.ts'

/**
 * Contract, "Serving", 5: a redirect to the first index below, so that relative links work, otherwise its Markdown
 * document, a viewer for its only file, its pictures or a listing.
 */
export function fallbackIndex(
  files: readonly ServedFile[],
  {
    policy,
    pages,
    metadata,
    toUrl,
    markdown,
    headers,
    tails = [],
  }: PageMetadata & {
    policy: Policy
    headers: SiteHeaders | undefined
    pages: ErrorPages
    markdown?: StartDocument | undefined
    tails?: readonly Tail[] | undefined
  },
): GeneratedPage | RedirectResponse | undefined {
  const index = findNearestIndex(files)
  if (index) return new RedirectResponse(toHref(dirname(index.path)), 302, policy)
  const [file] = files
  if (!file) return undefined
  const published = { metadata, toUrl }
  const options = { policy, accentStyle: pages.accentStyle, tails }
  const source = markdown && files.find(({ path }) => path === markdown.path)
  if (markdown && source) {
    const { html: content, title } = markdown
    const others = files.filter((one) => one !== source)
    const head = buildHead(title ?? basename(decodePath(source.path)), published)
    const make = () => markdownPage({ content, source, others }, head)
    return new GeneratedPage({ ...options, make, document: source })
  }
  if (files.length > 1) {
    const show = isGallery(files) ? galleryPage : listingPage
    return new GeneratedPage({
      ...options,
      make: ({ files: texts }) => show(files, buildHead(texts.title, published), texts),
    })
  }
  const framed = framedPath(file)
  const isUnframed = framed !== undefined && headers?.forbidsFrames(framed) === true
  return new GeneratedPage({
    ...options,
    make: ({ files: texts }) => viewerPage(file, singleFileHead(file, published), { texts, isUnframed }),
    tails: file.injected ? tails.filter(({ isVisible }) => !isVisible) : tails,
  })
}

export function plainTextView([file, ...others]: readonly ServedFile[]): ServedFile | undefined {
  if (!file || others.length > 0 || !isTextType(file.type.name)) return undefined
  const [, charset = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(file.type.name) ?? []
  return file.withType(TEXT_PATH, toFileType(`text/plain; charset=${charset}`))
}

export interface StartDocument extends RenderedMarkdown {
  path: string
}

interface PageMetadata {
  metadata: HeadMetadata
  toUrl: (name: string) => string
}

function buildHead(title: string, { metadata, toUrl }: PageMetadata): PageHead {
  const { ogImagePath: image } = metadata
  return {
    title: metadata.title ?? title,
    description: metadata.description,
    image: image === null ? undefined : toUrl(image),
  }
}

function singleFileHead(file: ServedFile, published: PageMetadata): PageHead {
  const head = buildHead(basename(decodePath(file.path)), published)
  const isImage = /^image\//i.test(file.type.name)
  return { ...head, image: head.image ?? (isImage ? published.toUrl(decodePath(file.path)) : undefined) }
}
