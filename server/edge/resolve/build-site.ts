import { setImmediate as turn } from 'node:timers/promises'
import { HOUR_MS } from '../../lib/time.ts'
import { effectiveMetadata, findInjection } from '../../sites/page-metadata/head-metadata.ts'
import type { InjectedDocuments } from '../../sites/page-metadata/injected-document.ts'
import type { UrlBuilder } from '../../sites/urls.ts'
import type { Site } from '../../store/contract/sites.ts'
import type { Version } from '../../store/contract/versions.ts'
import type { Queries } from '../../store/store.ts'
import {
  type Policy,
  passwordPolicy,
  previewPolicy,
  publicPolicy,
  toLastModified,
} from '../respond/policy.ts'
import { buildRouteTable, type RouteTable, type SiteInput } from './route-table.ts'

/** How long files of the previous version stay reachable (contract, "Serving", 4). */
const PREVIOUS_FILES_TTL_MS = HOUR_MS

interface BuildContext {
  read: Queries
  addresses: UrlBuilder
  injectedDocuments: InjectedDocuments
  /** Milliseconds since 1970. */
  now: number
}

/** The live version of a site. */
export async function buildLiveSite(
  site: Site,
  version: Version,
  context: BuildContext,
): Promise<RouteTable> {
  const since = site.liveSince ?? site.createdAt
  const buildPolicy = site.passwordHash === null ? publicPolicy : passwordPolicy
  const [previousFiles, published] = await Promise.all([
    loadPreviousFiles(site, since + PREVIOUS_FILES_TTL_MS, context),
    loadSiteInput(site, version, { ...context, policy: buildPolicy(getTimestamps(site, since)) }),
  ])
  return buildRouteTable({ ...published, previousFiles })
}

/** One version of a site at its own host. */
export async function buildPreviewSite(
  site: Site,
  version: Version,
  context: BuildContext,
): Promise<RouteTable> {
  const policy = previewPolicy(getTimestamps(site, version.publishedAt ?? version.createdAt))
  return buildRouteTable(await loadSiteInput(site, version, { ...context, policy }))
}

/** Includes the metadata: it can change, and change back, without a new version. */
function getTimestamps(site: Site, since: number): Pick<Policy, 'publishedAt' | 'metadataChangedAt'> {
  return {
    publishedAt: toLastModified(since),
    metadataChangedAt: toLastModified(Math.max(since, site.updatedAt)),
  }
}

async function loadSiteInput(
  site: Site,
  version: Version,
  { read, addresses, injectedDocuments, policy }: BuildContext & { policy: Policy },
): Promise<SiteInput> {
  const injection = findInjection(site, version, addresses)
  const [encodings, injectedIndex] = await Promise.all([
    read.encodings.ofSite(site.slug),
    injection && injectedDocuments.get(injection),
  ])
  const { files, rules } = version
  // The first access parses up to 1 MiB of rules, and compiling takes as long: other requests run in between.
  await turn()
  return {
    files,
    policy,
    rules: rules ?? undefined,
    injectedIndex,
    encodings: new Map(encodings.map((row) => [row.hash, row])),
    metadata: effectiveMetadata(site, version, files),
    toUrl: (name) => addresses.file(site.slug, name),
    spaMode: site.spaMode,
  }
}

async function loadPreviousFiles(
  { slug, previousVersionId: id }: Site,
  until: number,
  { read, now }: BuildContext,
): Promise<SiteInput['previousFiles']> {
  const version = id !== null && now < until ? await read.versions.byId(id) : undefined
  if (version?.slug !== slug || version.state !== 'ready') return undefined
  return { files: version.files, until }
}
