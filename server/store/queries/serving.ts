import { type RawBuilder, sql } from '#kysely'
import { QueryGroup } from '../rows.ts'
import type { Schema } from '../schema.ts'
import type { EntityOf } from '../table.ts'
import type { Suspension } from '../tables/accounts.ts'
import type { BlobRecords } from '../tables/blobs.ts'
import { type Site, siteTable } from '../tables/sites.ts'
import { type FormerFile, parseFiles, versionTable } from '../tables/versions.ts'
import { BLOB_RECORDS, BlobRecordLines, JOINED_WITH_BLOBS } from './blob-records.ts'
import { selectManifestHashes } from './blobs.ts'

const servedVersion = versionTable.pick(
  'id',
  'files',
  'rules',
  'metadata',
  'publishedAt',
  'createdAt',
  'previewUntil',
  'liveReload',
)

export type ServedVersion = EntityOf<typeof servedVersion>

export type VersionReference = { id: string } | { previewName: string }

/** What of a site is requested: the former files that end after `now`, its live version, another one. */
export interface ServedSite {
  site: Site
  /** Of the site or of its owner; null when neither is suspended. */
  suspension: Suspension | null
  live: ServedVersion | undefined
  /** The requested version, when it is a finalized one of this site. */
  requested: ServedVersion | undefined
  /** Those that had not ended at the time of the request; undefined without a live version. */
  formerFiles: readonly FormerFile[] | undefined
  /** The same of the requested preview. */
  formerOfPreview: readonly FormerFile[] | undefined
  blobs: BlobRecords
}

/** An active custom domain with its site. A domain that redirects has no versions. */
export interface ServedDomain extends ServedSite {
  /** The domain that it redirects to: an active one of the same site and account that does not redirect; else itself. */
  name: string
  certificateNotAfter: number | null
}

type SiteWithVersions = Schema['sites'] & {
  former_files: string | null
  former_of_preview?: string | null
  owner_suspension: string | null
  blobs: string | null
}

/** What a visit needs, in one statement each: the parts are consistent with each other. */
export class ServingQueries extends QueryGroup {
  async findSite(
    slug: string,
    { now, withLive, version }: { now: number; withLive: boolean; version?: VersionReference },
  ): Promise<ServedSite | undefined> {
    const previewName = version && 'previewName' in version ? version.previewName : ''
    const { rows } = await sql<SiteWithVersions>`
      select sites.*, ${selectVersion('live')}, ${selectVersion('requested')},
        former.files as former_files, former_shown.files as former_of_preview, ${OWNER_SUSPENSION},
        ${this.#selectBlobs(['live', 'requested', 'former', 'former_shown'])} as blobs
      from sites
      left join versions as live on live.id = sites.live_version_id and ${withLive ? sql`1 = 1` : sql`1 = 0`}
      left join versions as requested
        on requested.id = ${selectId(slug, version)} and requested.slug = sites.slug and requested.state = 'ready'
      ${joinFormer('former', now, sql`former.preview_name is null and live.id is not null`)}
      ${joinFormer('former_shown', now, sql`former_shown.preview_name = ${previewName} and requested.id is not null`)}
      where sites.slug = ${slug}`.execute(this.db)
    return rows[0] && toServedSite(rows[0])
  }

  async findDomain(domain: string, now: number): Promise<ServedDomain | undefined> {
    const { rows } = await sql<SiteWithVersions & { name: string; certificate_not_after: number | null }>`
      select sites.*, ${selectVersion('live')}, former.files as former_files, ${OWNER_SUSPENSION},
        ${this.#selectBlobs(['live', 'former'])} as blobs,
        coalesce(target.domain, domains.domain) as name, certificates.not_after as certificate_not_after
      from domains
      join sites on sites.slug = domains.slug
      left join domains as target
        on target.account_id = domains.account_id and target.domain = domains.primary_domain
        and target.status = 'active' and target.primary_domain is null and target.slug = domains.slug
      left join certificates on certificates.name = coalesce(target.domain, domains.domain)
      left join versions as live on live.id = sites.live_version_id and target.domain is null
      ${joinFormer('former', now, sql`former.preview_name is null and live.id is not null`)}
      where domains.domain = ${domain} and domains.status = 'active'`.execute(this.db)
    const [row] = rows
    return row && { ...toServedSite(row), name: row.name, certificateNotAfter: row.certificate_not_after }
  }

  #selectBlobs(versions: readonly string[]): RawBuilder<string | null> {
    const ids = sql.join(versions.map((name) => sql.ref(`${name}.id`)))
    return sql`(select ${BLOB_RECORDS} from blobs ${JOINED_WITH_BLOBS}
      where blobs.hash in (${selectManifestHashes(this.db, sql`versions.id in (${ids})`)}))`
  }
}

const OWNER_SUSPENSION = sql`(select suspension from accounts where accounts.id = sites.owner_id) as owner_suspension`

function selectId(slug: string, version: VersionReference | undefined): RawBuilder<string> {
  if (version === undefined) return sql`''`
  return 'id' in version
    ? sql`${version.id}`
    : sql`(select id from versions where slug = ${slug} and preview_name = ${version.previewName}
        and state = 'ready' order by id desc limit 1)`
}

/** A record of former files of which some have not ended. */
function joinFormer(name: string, now: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`left join versions as ${sql.ref(name)}
    on ${sql.ref(`${name}.slug`)} = sites.slug and ${sql.ref(`${name}.state`)} = 'former'
    and ${sql.ref(`${name}.preview_until`)} > ${now} and ${condition}`
}

function selectVersion(name: 'live' | 'requested'): RawBuilder<unknown> {
  return sql.join(
    servedVersion.columns.map(
      (column) => sql`${sql.ref(`${name}.${column}`)} as ${sql.ref(`${name}_${column}`)}`,
    ),
  )
}

function toServedSite(row: SiteWithVersions): ServedSite {
  const site = siteTable.toEntity(row)
  return {
    site,
    suspension: site.suspension ?? (JSON.parse(row.owner_suspension ?? 'null') as Suspension | null),
    live: toServedVersion(row, 'live'),
    requested: toServedVersion(row, 'requested'),
    formerFiles: parseFormer(row.former_files),
    formerOfPreview: parseFormer(row.former_of_preview),
    blobs: new BlobRecordLines(row.blobs),
  }
}

function parseFormer(text: string | null | undefined): FormerFile[] | undefined {
  return text ? parseFiles<FormerFile>(text) : undefined
}

function toServedVersion(row: SiteWithVersions, name: 'live' | 'requested'): ServedVersion | undefined {
  const values = row as unknown as Record<string, unknown>
  const columns = servedVersion.columns.map((column) => [column, values[`${name}_${column}`]])
  const version = Object.fromEntries(columns) as Schema['versions']
  return version.id == null ? undefined : servedVersion.toEntity(version)
}
