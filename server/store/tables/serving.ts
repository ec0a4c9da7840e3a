import type { EntityOf } from '../table.ts'
import type { BlobRecords } from './blobs.ts'
import type { Site } from './sites.ts'
import type { Suspension } from './suspension.ts'
import { type FormerFile, versionTable } from './versions.ts'

/** The parts of a version that are served. */
export const servedVersion = versionTable.pick(
  ...([
    'id',
    'files',
    'rules',
    'metadata',
    'publishedAt',
    'createdAt',
    'previewUntil',
    'liveReload',
  ] as const),
)

export type ServedVersion = EntityOf<typeof servedVersion>

/** A version by its id, or by the name of the preview that shows it. */
export type VersionReference = { id: string } | { previewName: string }

/** A site, deleted or not, with the versions that were requested. */
export interface ServedSite {
  site: Site
  /** Of the site or of its owner; null when neither is suspended. */
  suspension: Suspension | null
  live: ServedVersion | undefined
  /** The requested version, when it is a finalized one of this site. */
  requested: ServedVersion | undefined
  /** Those that had not ended at the time of the request; undefined without a live version. */
  formerFiles: readonly FormerFile[] | undefined
  /** What is stored of the files of these versions. */
  blobs: BlobRecords
}

/** An active custom domain with its site. A domain that redirects has no versions. */
export interface ServedDomain extends ServedSite {
  /** The domain that it redirects to: an active one of the same site and account that does not redirect; else itself. */
  name: string
  /** Expiry of the certificate of `name`; null without one. */
  certificateNotAfter: number | null
}

/** What a visit needs, in one statement each: the parts are consistent with each other. */
export interface ServingQueries {
  /** `now`: requests the former files that end later. */
  findSite(
    slug: string,
    requested: { now: number; withLive: boolean; version?: VersionReference },
  ): Promise<ServedSite | undefined>

  findDomain(domain: string, now: number): Promise<ServedDomain | undefined>
}
