import type { Removal } from '../api/publish.schema.ts'

type WithPath = { path: string }

/** Whether an update that removes this must be confirmed: the start page, or more than half of the live files. */
export function removesMuch({ files, liveFiles, index }: Removal): boolean {
  return index || files > liveFiles / 2
}

/**
 * The files of the live version that a new one does not have; undefined when it has all. A file whose name differs only
 * in a content hash, as build tools add it, has taken the place of the other.
 */
export function findRemoval(live: readonly WithPath[], files: readonly WithPath[]): Removal | undefined {
  const paths = new Set(files.map(({ path }) => path))
  const gone = live.filter(({ path }) => !paths.has(path))
  if (gone.length === 0) return undefined
  const names = new Set(files.map(({ path }) => withoutContentHash(path)))
  const removed = gone.filter(({ path }) => !names.has(withoutContentHash(path)))
  if (removed.length === 0) return undefined
  return {
    files: removed.length,
    liveFiles: live.length,
    index: removed.some(({ path }) => path === 'index.html'),
  }
}

/** Whether the name of a file has a content hash, as build tools add it. */
export function hasContentHash(path: string): boolean {
  return withoutContentHash(path) !== path
}

/** 'assets/index-BX3k9a2c.js' and 'assets/index.1f2e3d4c.js' without their hashes. */
function withoutContentHash(path: string): string {
  const start = path.lastIndexOf('/') + 1
  const [stem = '', ...suffixes] = path.slice(start).split('.')
  const extension = suffixes.pop()
  if (extension === undefined) return path
  const others = suffixes.filter((suffix) => !isContentHash(suffix))
  return path.slice(0, start) + [withoutHashSuffix(stem), ...others, extension].join('.')
}

/** A hash of eight characters may contain the hyphen that separates it. */
function withoutHashSuffix(stem: string): string {
  const hyphen = stem.at(-9) === '-' ? stem.length - 9 : stem.lastIndexOf('-')
  return hyphen > 0 && isContentHash(stem.slice(hyphen + 1)) ? stem.slice(0, hyphen) : stem
}

function isContentHash(text: string): boolean {
  return /^[\w-]{8,}$/.test(text) && /[\dA-Z]/.test(text)
}
