import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Exclusion } from '../../protocol/ignore/exclusions.ts'
import { digestAll } from './folder/digest.ts'
import {
  type FolderScan,
  folderProblems,
  isPrivateFolder,
  linkTarget,
  type ScanOptions,
  scan,
} from './folder/scan.ts'
import { exceededLimits } from './limits.ts'
import type { PublishOptions, PublishResult } from './publish.ts'
import type { Slipway } from './slipway.ts'
import { SlipwayError } from './slipway-error.ts'
import type { PublishFile } from './upload.ts'

/** The files of a folder, and the paths that are left out. */
export interface FolderFiles {
  files: PublishFile[]
  skipped: Exclusion[]
}

export type FolderOptions = Omit<PublishOptions, 'files'> & ScanOptions

export interface FolderResult extends PublishResult {
  /** Paths that were left out. */
  skipped: Exclusion[]
}

/**
 * Publishes a folder or a file of this machine, with the rules of `slipway publish`: hidden files, secrets, dependencies
 * and what `.slipwayignore` excludes are left out, links outside the folder are not followed, and files that the server
 * has are not uploaded. The server is asked for its limits before a large folder is read. Rejects as `Slipway.publish`,
 * with VALIDATION_ERROR when the folder cannot be published, and with the error of the operating system when it cannot be
 * read.
 */
export async function publishFolder(
  slipway: Pick<Slipway, 'publish' | 'limits' | 'with' | 'signal'>,
  path: string,
  { secrets, ...options }: FolderOptions = {},
): Promise<FolderResult> {
  const { claimToken, merge, signal = slipway.signal, slug, name, update } = options
  const found = scanFolder(path, { secrets, merge })
  const caller = slipway.with({ signal, ...(claimToken !== undefined && { key: undefined }) })
  assertPublishable(await exceededLimits(caller, found.files, slug ?? (update ? name : undefined)))
  const files = await digestAll(found.files, { signal })
  return { ...(await slipway.publish({ ...options, files })), skipped: found.excluded }
}

type ReadOptions = Pick<FolderOptions, 'secrets' | 'signal' | 'merge'>

/** The files that `publishFolder` publishes, with their hashes, whatever the limits of a server are. */
export async function readFolder(path: string, options: ReadOptions = {}): Promise<FolderFiles> {
  const found = scanFolder(path, options)
  return { files: await digestAll(found.files, { signal: options.signal }), skipped: found.excluded }
}

/** What `folderProblems` and a link that leads out of its folder allow. */
function scanFolder(path: string, { secrets, merge }: ReadOptions): FolderScan {
  const outside = linkTarget(resolve(path))
  if (existsSync(path) && isPrivateFolder(resolve(path), { secrets }))
    assertPublishable([
      `${path} is the data of a repository or a folder of secrets or of the system, or in one`,
    ])
  const found = scan(path, { secrets, mode: merge ? 'merge' : undefined })
  const refused = folderProblems(found)
  if (outside !== undefined)
    refused.push(`${path} is a link to ${outside}, which is outside the folder of the link: name that folder`)
  if (found.files.length === 0) refused.push(`${path} has no files to publish`)
  assertPublishable(refused)
  return found
}

function assertPublishable(refused: readonly string[]): void {
  if (refused.length === 0) return
  throw new SlipwayError(refused[0]!, {
    code: 'VALIDATION_ERROR',
    status: 0,
    details: refused.map((message) => ({ field: 'files', message })),
  })
}
