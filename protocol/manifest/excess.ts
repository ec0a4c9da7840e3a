import { formatExcess, formatNumber } from '../format.ts'
import { sanitizePath } from './paths.ts'

// What exceeds the limits of a site, in the same words for a folder and for the fields of a request.

/** Names the largest folders of `paths`, since one of them often does not belong to the site. */
export function describeFileCount(count: number, max: number, paths: readonly string[]): string {
  const largest = largestFolders(paths)
  const where = largest.map(([folder, files]) => `${sanitizePath(folder)} has ${formatNumber(files)}`)
  const sentence = `${formatNumber(count)} files. The limit is ${formatNumber(max)} per site`
  return where.length > 0 ? `${sentence} (${where.join(', ')})` : sentence
}

/** A file of more bytes than the limit. */
export function describeSize(bytes: number, max: number): string {
  const { found, limit } = formatExcess(bytes, max)
  return `${found}. The limit is ${limit} per file`
}

/** Files that together have more bytes than the limit. */
export function describeTotal(bytes: number, max: number): string {
  const { found, limit } = formatExcess(bytes, max)
  return `${found} in total. The limit is ${limit} per site`
}

/** The three top folders with the most files, and how many they have. */
function largestFolders(paths: readonly string[]): [folder: string, files: number][] {
  const folders = new Map<string, number>()
  for (const path of paths) {
    const folder = path.slice(0, path.indexOf('/') + 1)
    if (folder.length > 1) folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  return [...folders].sort((a, b) => b[1] - a[1]).slice(0, 3)
}
