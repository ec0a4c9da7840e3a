import { setImmediate as turn } from 'node:timers/promises'
import { HOUR_MS } from '../../lib/time.ts'
import { effectiveMetadata, findInjection } from '../../sites/page-metadata/head-metadata.ts'
import type { Site } from '../../store/contract/sites.ts'
import type { Version } from '../../store/contract/versions.ts'
import type { EdgeOptions } from '../edge-options.ts'
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

/** What a route table is built from, beside the site and its version. */
export type BuildOptions = Pick<EdgeOptions, 'store' | 'addresses' | 'injectedDocuments' | 'clock'>

/** The live version of a site. */
export async function buildLiveSite(
  site: Site,
  version: Version,
  options: BuildOptions,
): Promise<RouteTable> {
  const since = site.liveSince ?? site.createdAt
  const buildPolicy = site.passwordHash === null ? publicPolicy : passwordPolicy
  const until = since + PREVIOUS_FILES_TTL_MS
  const previousId = (options.clock() < until && site.previousVersionId) || undefined
  const policy = buildPolicy(getTimestamps(site, since))
  const [previousFiles, published] = await Promise.all([
    loadPreviousFiles(site, previousId, { ...options, until }),
    loadSiteInput(site, version, { ...options, policy, previousId }),
  ])
  return buildRouteTable({ ...published, previousFiles })
}

/** One version of a site at its own host. */
export async function buildPreviewSite(
  site: Site,
  version: Version,
  options: BuildOptions,
): Promise<RouteTable> {
  const policy = previewPolicy(getTimestamps(site, version.publishedAt ?? version.createdAt))
  return buildRouteTable(await loadSiteInput(site, version, { ...options, policy }))
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
  {
    store,
    addresses,
    injectedDocuments,
    policy,
    previousId,
  }: BuildOptions & { policy: Policy; previousId?: string | undefined },
): Promise<SiteInput> {
  const injection = findInjection(site, version, addresses)
  const [blobs, injectedIndex] = await Promise.all([
    store.read.blobs.ofVersions([version.id, ...(previousId === undefined ? [] : [previousId])]),
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
    blobs: new Map(blobs.map((record) => [record.hash, record])),
    metadata: effectiveMetadata(site, version, files),
    toUrl: (name) => addresses.file(site.slug, name),
    spaMode: site.spaMode,
  }
}

async function loadPreviousFiles(
  { slug }: Site,
  id: string | undefined,
  { store, until }: BuildOptions & { until: number },
): Promise<SiteInput['previousFiles']> {
  const version = id === undefined ? undefined : await store.read.versions.byId(id)
  if (version?.slug !== slug || version.state !== 'ready') return undefined
  return { files: version.files, until }
}
