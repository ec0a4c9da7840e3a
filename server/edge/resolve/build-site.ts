import type { StoredFile } from '../../../protocol/manifest/manifest.ts'
import type { SiteRules } from '../../site-rules/site-rules.ts'
import { effectiveMetadata, findInjection } from '../../sites/page-metadata/head-metadata.ts'
import type { InjectedDocuments } from '../../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { SiteRow, VersionRow } from '../../store/schema.ts'
import type { Queries } from '../../store/store.ts'
import { type Policy, passwordPolicy, previewPolicy, publicPolicy, toLastModified } from './policy.ts'
import { buildRouteTable, type RouteTable, type SiteInput } from './route-table.ts'

/** How long files of the previous version stay reachable (contract, "Serving", 4). */
const PREVIOUS_FILES_TTL_MS = 3_600_000

interface BuildContext {
  read: Queries
  addresses: UrlBuilder
  injectedDocuments: InjectedDocuments
  /** Milliseconds since 1970. */
  now: number
}

/** The live version of a site. */
export async function buildLiveSite(
  site: SiteRow,
  version: VersionRow,
  context: BuildContext,
): Promise<RouteTable> {
  const since = site.live_since ?? site.created_at
  const policyOf = site.password_hash === null ? publicPolicy : passwordPolicy
  const [previousFiles, published] = await Promise.all([
    loadPreviousFiles(site, since + PREVIOUS_FILES_TTL_MS, context),
    loadSiteInput(site, version, { ...context, policy: policyOf(getTimestamps(site, since)) }),
  ])
  return buildRouteTable({ ...published, previousFiles })
}

/** One version of a site at its own host. */
export async function buildPreviewSite(
  site: SiteRow,
  version: VersionRow,
  context: BuildContext,
): Promise<RouteTable> {
  const policy = previewPolicy(getTimestamps(site, version.published_at ?? version.created_at))
  return buildRouteTable(await loadSiteInput(site, version, { ...context, policy }))
}

/** Metadata can change while the version stays, and back again. */
function getTimestamps(site: SiteRow, since: number): Pick<Policy, 'publishedAt' | 'metadataChangedAt'> {
  return {
    publishedAt: toLastModified(since),
    metadataChangedAt: toLastModified(Math.max(since, site.updated_at)),
  }
}

async function loadSiteInput(
  site: SiteRow,
  version: VersionRow,
  { read, addresses, injectedDocuments, policy }: BuildContext & { policy: Policy },
): Promise<SiteInput> {
  const injection = findInjection(site, version, addresses)
  const [encodings, injectedIndex] = await Promise.all([
    read.encodings.ofSite(site.slug),
    injection && injectedDocuments.get(injection),
  ])
  const files = JSON.parse(version.files) as StoredFile[]
  return {
    files,
    policy,
    rules: version.rules === null ? undefined : (JSON.parse(version.rules) as SiteRules),
    injectedIndex,
    encodings: new Map(encodings.map((row) => [row.hash, row])),
    metadata: effectiveMetadata(site, version, files),
    toUrl: (name) => addresses.file(site.slug, name),
    spaMode: site.spa_mode === 1,
  }
}

async function loadPreviousFiles(
  { slug, previous_version_id: id }: SiteRow,
  until: number,
  { read, now }: BuildContext,
): Promise<SiteInput['previousFiles']> {
  const version = id !== null && now < until ? await read.versions.byId(id) : undefined
  if (version?.slug !== slug || version.state !== 'ready') return undefined
  return { files: JSON.parse(version.files) as StoredFile[], until }
}
