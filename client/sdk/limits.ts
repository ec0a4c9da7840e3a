import type { FileLimits } from '../../protocol/api/publish.schema.ts'
import { type NamedFile, validateFolder } from '../../protocol/manifest/folder.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { isTransient } from './retry.ts'

/**
 * Files and bytes up to which the limits are not asked for: reading them takes less time than a request, and the response
 * to the manifest has the limit that applies.
 */
const MAX_UNASKED_FILES = 1000
const MAX_UNASKED_BYTES = 64_000_000

/** The calls of a client that answer what may be published. */
export interface LimitsClient {
  limits(site?: string): Promise<FileLimits>
}

/** The limits of a site, or of a new one, asked from the server; undefined when reading the files costs less than the answer. */
export async function askLimits(
  client: LimitsClient,
  files: readonly { size: number }[],
  site?: string,
): Promise<FileLimits | undefined> {
  if (files.length <= MAX_UNASKED_FILES && sumSizes(files) <= MAX_UNASKED_BYTES) return undefined
  try {
    return await client.limits(site)
  } catch (error) {
    // A server that answers may still admit the publish, which repeats such requests.
    if (isTransient(error) && error.code !== 'NETWORK') return undefined
    throw error
  }
}

/** Which limits the files exceed, a sentence for each, before a byte of them is read. */
export async function exceededLimits(
  client: LimitsClient,
  files: readonly NamedFile[],
  site?: string,
): Promise<string[]> {
  const limits = await askLimits(client, files, site)
  return limits === undefined ? [] : validateFolder(files, limits)
}
