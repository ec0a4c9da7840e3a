import { setImmediate as turn } from 'node:timers/promises'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { findMarkdownStart } from '../../protocol/manifest/root-document.ts'
import type { BlobReader } from '../blobs/blob-reader.ts'
import { findTitle } from '../sites/markdown/title.ts'
import type { DocumentSummary } from '../sites/page-metadata/document-summary.ts'

const HTML = /^text\/html\s*(;|$)/i

/**
 * Reads the `index.html` nearest to the root, or the Markdown document. Undefined without one, and when it cannot be
 * read: a version without a title is better than none.
 */
export async function loadDocument(
  blobs: BlobReader,
  files: readonly StoredFile[],
): Promise<DocumentSummary | undefined> {
  const page = findStartPage(files)
  const document = page ?? findMarkdownStart(files)
  if (!document) return undefined
  // Loaded on first use: the parser would take part of the start time.
  const { summarizeDocument, MAX_HEAD_BYTES } = await import('../sites/page-metadata/document-summary.ts')
  const { hash, size, contentType, path } = document
  const range = { start: 0, end: Math.min(size, MAX_HEAD_BYTES) - 1 }
  const bytes = await blobs
    .read(hash!, range)
    .then((body) => body?.toArray() as Promise<Buffer[]> | undefined)
    .catch(() => undefined)
  if (!bytes) return undefined
  if (!page) return { title: findTitle(Buffer.concat(bytes).toString()), icons: [] }
  const summary = summarizeDocument(Buffer.concat(bytes), contentType, path)
  // Parsing may take as long as a turn of the event loop is allowed to.
  await turn()
  return summary
}

function findStartPage(files: readonly StoredFile[]): StoredFile | undefined {
  const depth = ({ path }: StoredFile) => path.split('/').length
  return files
    .filter(({ path, contentType }) => /(^|\/)index\.html$/.test(path) && HTML.test(contentType))
    .sort((one, other) => depth(one) - depth(other) || (one.path < other.path ? -1 : 1))[0]
}
