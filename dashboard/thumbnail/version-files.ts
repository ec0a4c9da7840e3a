import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { readFile } from '../site/read-file.ts'
import type { SourceFile } from './site-files.ts'

/** Files of one drawing that are downloaded, which costs requests. */
const MAX_DOWNLOADS = 20

/** Bytes of downloaded files that are kept for the next drawing. */
const MAX_KEPT_BYTES = 8_000_000

const downloaded = new Map<string, Blob>()

/** The files of a version: the ones at hand, and the others of its manifest, which are downloaded when they are opened. */
export function versionFiles(
  { slug, versionId }: { slug: string; versionId: string },
  atHand: readonly SourceFile[],
  manifest: readonly FileEntry[],
): SourceFile[] {
  const paths = new Set(atHand.map(({ path }) => path))
  let downloads = 0
  const download = async ({ path, hash }: FileEntry): Promise<Blob> => {
    const known = hash === undefined ? undefined : downloaded.get(hash)
    if (known) return known
    if (++downloads > MAX_DOWNLOADS) throw new Error('The start page refers to too many files')
    const bytes = await readFile(slug, path, versionId)
    if (hash !== undefined) keep(hash, bytes)
    return bytes
  }
  const others = manifest.filter(({ path }) => !paths.has(path))
  return [...atHand, ...others.map((file) => ({ ...file, open: () => download(file) }))]
}

/** Forgets the oldest files where there is no room. */
function keep(hash: string, bytes: Blob): void {
  downloaded.set(hash, bytes)
  let sum = [...downloaded.values()].reduce((total, { size }) => total + size, 0)
  for (const [oldest, { size }] of downloaded) {
    if (sum <= MAX_KEPT_BYTES) break
    downloaded.delete(oldest)
    sum -= size
  }
}
