import type { SiteKind } from '../../protocol/api/sites.schema.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import type { SitePreview } from '../store/tables/versions.ts'

/** In order of preference; at the root, where browsers request them. */
const ICONS = [
  /^apple-touch-icon(-[\w-]+)?\.png$/i,
  /^favicon\.svg$/i,
  /^favicon(-[\w-]+)?\.png$/i,
  /^icon\.(svg|png)$/i,
  /^logo\.(svg|png|webp|jpe?g)$/i,
  /^favicon\.ico$/i,
]

const IMAGE = /^image\//i

/** Media types of each kind; any other site is just files. */
const KINDS: readonly [SiteKind, RegExp][] = [
  ['image', IMAGE],
  ['video', /^video\//i],
  ['audio', /^audio\//i],
  [
    'document',
    /^(text\/(plain|markdown|csv|rtf)|application\/(pdf|rtf|epub\+zip|msword|vnd\.(ms-|openxmlformats-|oasis\.)[\w.-]+))\s*(;|$)/i,
  ],
]

const HTML = /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i

/** Read by the service and never served. */
const NEVER_SHOWN = /^_(redirects|headers)$/

/**
 * A site with pages is one, whatever else it contains; any other is what most of its files are. `linkedIcons` are those
 * of its start page, the best first.
 */
export function describeSite(files: readonly StoredFile[], linkedIcons: readonly string[] = []): SitePreview {
  const seen = files.filter(({ path }) => !NEVER_SHOWN.test(path))
  const images = seen.filter(({ contentType }) => IMAGE.test(contentType)).map(({ path }) => path)
  const icon = linkedIcons.find((path) => images.includes(path)) ?? findRootIcon(images)
  const onlyImage = seen.length === 1 ? (images[0] ?? null) : null
  return { kind: classifySite(seen), image: icon ?? onlyImage, icon }
}

function classifySite(files: readonly StoredFile[]): SiteKind {
  if (files.some(({ contentType }) => HTML.test(contentType))) return 'page'
  const dominant = KINDS.find(([, types]) => {
    return 2 * files.filter(({ contentType }) => types.test(contentType)).length > files.length
  })
  return dominant?.[0] ?? 'files'
}

function findRootIcon(images: readonly string[]): string | null {
  for (const icon of ICONS) {
    const found = images.find((path) => icon.test(path))
    if (found !== undefined) return found
  }
  return null
}
