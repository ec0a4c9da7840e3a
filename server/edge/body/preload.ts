import { ENCODINGS } from '../../blobs/encoding.ts'
import { forEachConcurrent } from '../../lib/concurrency.ts'
import type { RouteTable } from '../resolve/route-table.ts'
import type { Representation, ServedFile } from '../respond/served-file.ts'
import { type BodyCache, discard, MAX_BUFFERED_FILE_BYTES } from './body-cache.ts'

const MAX_FILES = 32
const MAX_BYTES = 4 * 2 ** 20
const MAX_CONCURRENT_FILES = 4

const CODINGS = [undefined, ...ENCODINGS]

/**
 * Loads the new files of a site whose former files are in memory, so that the bucket may be unreachable by the next
 * visit. Files at the paths of cached ones come first. A file that cannot be read is loaded when it is requested.
 */
export async function preloadNewFiles(
  bodies: BodyCache,
  before: RouteTable,
  after: RouteTable,
): Promise<void> {
  const files = findNewFiles(bodies, before, after)
  await forEachConcurrent(MAX_CONCURRENT_FILES, files, (file) => discard(bodies.open(file)))
}

function findNewFiles(bodies: BodyCache, before: RouteTable, after: RouteTable): Representation[] {
  const isCached = (file: ServedFile) => CODINGS.some((coding) => bodies.has(file.representation(coding)))
  const replaced = new Map<string, ServedFile>()
  const added = new Map<string, ServedFile>()
  for (const [path, file] of after.entries) {
    if (file.kind !== 'file' || file.size > MAX_BUFFERED_FILE_BYTES) continue
    const former = before.entries.get(path)
    if (former?.kind !== 'file') added.set(file.hash, file)
    else if (former.hash !== file.hash && isCached(former)) replaced.set(file.hash, file)
  }
  // Without a cached file the site is not visited, or all that visitors use is as it was.
  if (replaced.size === 0) return []
  let bytes = 0
  const files: Representation[] = []
  for (const file of new Map([...replaced, ...added]).values()) {
    bytes += file.size
    if (files.length === MAX_FILES || bytes > MAX_BYTES) break
    files.push(file.representation(undefined))
  }
  return files
}
