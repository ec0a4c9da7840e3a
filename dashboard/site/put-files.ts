import { MAX_MESSAGE_LENGTH } from '../../protocol/api/publish.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { truncate } from '../../protocol/format.ts'
import { beginJob } from '../drop/jobs.ts'

/** Publishes the live version with these files added or replaced. The page of the files shows the progress. */
export function putFiles(
  { slug, files: known }: Pick<SiteDetails, 'slug' | 'files'>,
  put: Record<string, File>,
  message: string,
): void {
  const types = new Map(known.map(({ path, contentType }) => [path, contentType]))
  const files = Object.entries(put).map(([path, source]) => ({ path, source, contentType: types.get(path) }))
  const change = { files, message: truncate(message, MAX_MESSAGE_LENGTH) }
  beginJob(slug, { entries: [], files: [], change }, { kind: 'own', slug })
}
