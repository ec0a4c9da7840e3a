import { hasContentHash } from './removal.ts'
import { isRuleFile } from './rule-files.ts'

/**
 * A sentence about what visitors see at a site's address without a top-level `index.html`; undefined when
 * there is one.
 */
export function missingIndexWarning(paths: readonly string[]): string | undefined {
  const served = paths.filter((path) => !isRuleFile(path))
  if (served.length < 2 || served.includes('index.html')) return undefined
  const first = findNearestIndex(served.map((path) => ({ path })))?.path
  const unless = paths.includes('_redirects') ? ', unless _redirects has a rule for /' : ''
  return first === undefined
    ? `No index.html found. Visitors will see ${describeStartPage(served)}${unless}.`
    : `No index.html in the top folder. Visitors will be redirected to /${first.replace('index.html', '')}${unless}.`
}

/** What the site server shows without any `index.html` (docs/serving.md, "Paths"). */
function describeStartPage(paths: readonly string[]): string {
  const document = findMarkdownStart(paths.map((path) => ({ path })))
  const pictures = paths.filter((path) => PICTURE.test(path)).length
  if (document) return document.path
  return pictures > 1 && 2 * pictures >= paths.length ? 'a gallery of the pictures' : 'a list of files'
}

/** Without the table of types, which the dashboard loads with the first file. */
const PICTURE = /\.(?:apng|avif|bmp|dib|gif|hei[cf]|ico|jfif|jpe|jpe?g|jxl|png|svgz?|tiff?|webp)$/i

const MARKDOWN = /\.(?:md|markdown)$/i
const START_NAMES = /^(?:index|readme)\.(?:md|markdown)$/i
const INDEX = /(?:^|\/)index\.html$/

/** For a version without an `index.html`: its top `index.md` or `README.md`, or its only Markdown file, at the top. */
export function findMarkdownStart<File extends { path: string }>(files: readonly File[]): File | undefined {
  if (files.some(({ path }) => INDEX.test(path))) return undefined
  const documents = files.filter(({ path }) => MARKDOWN.test(path))
  const named = documents
    .filter(({ path }) => START_NAMES.test(path))
    .sort((one, other) => (one.path.toLowerCase() < other.path.toLowerCase() ? -1 : 1))
  const [only] = documents
  return named[0] ?? (documents.length === 1 && !only!.path.includes('/') ? only : undefined)
}

/** The `index.html` nearest to the root, then the first by name. */
export function findNearestIndex<File extends { path: string }>(files: readonly File[]): File | undefined {
  const indexes = files.filter(({ path }) => INDEX.test(path))
  const depths = new Map(indexes.map((file) => [file, file.path.split('/').length]))
  const least = Math.min(...depths.values())
  return indexes
    .filter((file) => depths.get(file) === least)
    .reduce<File | undefined>((first, file) => (first && first.path < file.path ? first : file), undefined)
}

/**
 * The files that other servers accept as the index of a folder that has no `index.html`, each with the path of that: such as
 * `INDEX.HTML` and `index.htm`.
 */
export function findIndexAliases<File extends { path: string }>(
  files: readonly File[],
): { path: string; file: File }[] {
  const paths = new Set(files.map(({ path }) => path))
  const aliases = new Map<string, File>()
  for (const pattern of [/^(.*\/)?index\.html$/i, /^(.*\/)?index\.htm$/i])
    for (const file of files) {
      const found = pattern.exec(file.path)
      const path = `${found?.[1] ?? ''}index.html`
      if (found && !paths.has(path) && !aliases.has(path)) aliases.set(path, file)
    }
  return Array.from(aliases, ([path, file]) => ({ path, file }))
}

/** "index.htm is also published as index.html" */
export function describeIndexAlias({ path, file }: { path: string; file: { path: string } }): string {
  return `${file.path} is also published as ${path}`
}

/** Usual output folders of build tools. */
export const BUILD_OUTPUT_DIRS = ['dist', 'build', 'out', 'public', '_site']

/**
 * Whether these are the files of a single-page application whose routes nothing serves yet: one HTML page, at the top, with
 * assets that a build tool has named by their contents.
 */
export function isLikelySpa(paths: readonly string[]): boolean {
  const pages = paths.filter((path) => /\.html?$/i.test(path))
  const hasAssets = paths.some((path) => /\.m?js$/.test(path) && hasContentHash(path))
  return pages.length === 1 && pages[0] === 'index.html' && hasAssets && !paths.includes('_redirects')
}
