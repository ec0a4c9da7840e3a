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

function findStartPage(files: readonly StoredFile[]): StoredFile | undefined {
  const depth = ({ path }: StoredFile) => path.split('/').length
  return files
    .filter(({ path, contentType }) => /(^|\/)index\.html$/.test(path) && HTML.test(contentType))
    .sort((one, other) => depth(one) - depth(other) || (one.path < other.path ? -1 : 1))[0]
}
