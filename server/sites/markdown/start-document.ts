import type { StoredFile } from '../../../protocol/manifest/manifest.ts'

const MARKDOWN = /\.(?:md|markdown)$/i
const START_NAMES = /^(?:index|readme)\.(?:md|markdown)$/i
const INDEX = /(?:^|\/)index\.html$/

/** For a version without an `index.html`: its top `index.md` or `README.md`, or its only Markdown file, at the top. */
export function findMarkdownStart<File extends Pick<StoredFile, 'path'>>(
  files: readonly File[],
): File | undefined {
  if (files.some(({ path }) => INDEX.test(path))) return undefined
  const documents = files.filter(({ path }) => MARKDOWN.test(path))
  const named = documents
    .filter(({ path }) => START_NAMES.test(path))
    .sort((one, other) => (one.path.toLowerCase() < other.path.toLowerCase() ? -1 : 1))
  const [only] = documents
  return named[0] ?? (documents.length === 1 && !only!.path.includes('/') ? only : undefined)
}
