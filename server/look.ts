import type { SiteKind } from '../client/wire.ts'
import type { StoredFile } from './file.ts'

/** What lists of sites show of a version. */
export interface Look {
  kind: SiteKind
  /** Path of an icon of the site, or of the one image that it is. */
  image: string | null
}

/** The best first; at the root of a site, as browsers look for them. */
const ICONS = [
  /^apple-touch-icon(-[\w-]+)?\.png$/i,
  /^favicon\.svg$/i,
  /^favicon(-[\w-]+)?\.png$/i,
  /^icon\.(svg|png)$/i,
  /^logo\.(svg|png|webp|jpe?g)$/i,
  /^favicon\.ico$/i,
]

const IMAGE = /^image\//i

/** Types of each kind; what is in none of them is just files. */
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

/** Read by the service and never shown. */
const UNSEEN = /^_(redirects|headers)$/

/** What a finalized manifest looks like. A site with pages is one, whatever else it has; any other is what most of it is. */
export function lookOf(files: readonly StoredFile[]): Look {
  const seen = files.filter(({ path }) => !UNSEEN.test(path))
  return { kind: kindOf(seen), image: imageOf(seen) }
}

function kindOf(files: readonly StoredFile[]): SiteKind {
  if (files.some(({ contentType }) => HTML.test(contentType))) return 'page'
  const most = KINDS.find(([, types]) => {
    return 2 * files.filter(({ contentType }) => types.test(contentType)).length > files.length
  })
  return most?.[0] ?? 'files'
}

function imageOf(files: readonly StoredFile[]): string | null {
  const images = files.filter(({ contentType }) => IMAGE.test(contentType)).map(({ path }) => path)
  for (const icon of ICONS) {
    const found = images.find((path) => icon.test(path))
    if (found !== undefined) return found
  }
  return files.length === 1 ? (images[0] ?? null) : null
}
