import { setImmediate as turn } from 'node:timers/promises'
import { MAX_HEAD_BYTES } from '../../protocol/api/publish.ts'
import type { SiteKind } from '../../protocol/api/sites.schema.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { findMarkdownStart, findNearestIndex } from '../../protocol/manifest/root-document.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { findTitle } from '../sites/markdown/title.ts'
import type { DocumentSummary } from '../sites/page-metadata/document-head.ts'
import type { SitePreview } from '../store/tables/versions.ts'

const HTML = /^text\/html\s*(;|$)/i

/** The `index.html` nearest to the root, or the Markdown document; undefined when there is none to be read. */
export async function loadDocument(
  blobs: BlobReader,
  files: readonly StoredFile[],
): Promise<DocumentSummary | undefined> {
  const page = findNearestIndex(files.filter(({ contentType }) => HTML.test(contentType)))
  const document = page ?? findMarkdownStart(files)
  if (!document) return undefined
  // Loaded on first use: the parser would take part of the start time.
  const { summarizeDocument } = await import('../sites/page-metadata/document-head.ts')
  const { hash, size, contentType, path } = document
  const load = size > MAX_HEAD_BYTES ? readStart(blobs, hash!, MAX_HEAD_BYTES) : blobs.bytes(hash!)
  const bytes = await load.catch(() => undefined)
  if (!bytes) return undefined
  if (!page) return { title: findTitle(bytes.toString()), icons: [] }
  const summary = summarizeDocument(bytes, contentType, path)
  // Parsing may take as long as a turn of the event loop is allowed to.
  await turn()
  return summary
}

async function readStart(blobs: BlobReader, hash: string, bytes: number): Promise<Buffer | undefined> {
  const body = await blobs.read(hash, { start: 0, end: bytes - 1 })
  return body && Buffer.concat(await body.toArray())
}

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

const WEB_PAGE = /^(text\/html|application\/xhtml\+xml)\s*(;|$)/i

/** Read by the service and never served. */
const NEVER_SHOWN = /^_(redirects|headers)$/

/** A site with pages is one, any other what most of its files are. `linkedIcons`: of its start page, the best first. */
export function describeSite(files: readonly StoredFile[], linkedIcons: readonly string[] = []): SitePreview {
  const seen = files.filter(({ path }) => !NEVER_SHOWN.test(path))
  const images = seen.filter(({ contentType }) => IMAGE.test(contentType)).map(({ path }) => path)
  const icon = linkedIcons.find((path) => images.includes(path)) ?? findRootIcon(images)
  const onlyImage = seen.length === 1 ? (images[0] ?? null) : null
  return { kind: classifySite(seen), image: icon ?? onlyImage, icon }
}

function classifySite(files: readonly StoredFile[]): SiteKind {
  if (files.some(({ contentType }) => WEB_PAGE.test(contentType))) return 'page'
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
