import { setImmediate as turn } from 'node:timers/promises'
import { findMarkdownStart } from '../../../protocol/manifest/root-document.ts'
import { ApiError } from '../../lib/errors.ts'
import type { RenderedMarkdown } from '../../sites/markdown/render-markdown.ts'
import { effectiveMetadata, findInjection } from '../../sites/site-metadata.ts'
import type { ServedSite, ServedVersion } from '../../store/queries/serving.ts'
import type { BlobRecords } from '../../store/tables/blobs.ts'
import type { Site } from '../../store/tables/sites.ts'
import type { ManifestFile } from '../../store/tables/versions.ts'
import type { EdgeOptions } from '../edge-options.ts'
import { encodePath } from '../paths.ts'
import { reportLink } from '../report-link.ts'
import type { Tail } from '../respond/pages/generated-page.ts'
import {
  anonymousPolicy,
  type Policy,
  passwordPolicy,
  previewPolicy,
  publicPolicy,
  toLastModified,
} from '../respond/policy.ts'
import { buildRouteTable, type RouteTable, type SiteInput } from './route-table.ts'

export type BuildOptions = Pick<
  EdgeOptions,
  'addresses' | 'config' | 'injectedDocuments' | 'markdownPages' | 'pages'
>

export async function buildLiveSite(
  { site, live, formerFiles, blobs }: ServedSite,
  options: BuildOptions,
): Promise<RouteTable | undefined> {
  if (!live) return undefined
  const since = site.liveSince ?? site.createdAt
  const buildPolicy = site.passwordHash === null ? publicPolicy : passwordPolicy
  const policy = buildPolicy(getTimestamps(site, since))
  const input = await loadSiteInput({ site, version: live, blobs, policy }, options)
  return buildRouteTable({ ...input, formerFiles })
}

export async function buildPreviewSite(
  { site, requested, formerOfPreview: formerFiles, blobs }: ServedSite,
  options: BuildOptions,
  ...tails: Tail[]
): Promise<RouteTable | undefined> {
  if (!requested) return undefined
  const policy = previewPolicy(getTimestamps(site, requested.publishedAt ?? requested.createdAt))
  const input = await loadSiteInput({ site, version: requested, blobs, policy }, options)
  return buildRouteTable({ ...input, formerFiles, tails: [...input.tails, ...tails] })
}

/** Includes the metadata: it can change, and change back, without a new version. */
function getTimestamps(site: Site, since: number): Pick<Policy, 'publishedAt' | 'metadataChangedAt'> {
  return {
    publishedAt: toLastModified(since),
    metadataChangedAt: toLastModified(Math.max(since, site.updatedAt)),
  }
}

interface VersionToBuild {
  site: Site
  version: ServedVersion
  blobs: BlobRecords
  policy: Policy
}

async function loadSiteInput(
  { site, version, blobs, policy }: VersionToBuild,
  { addresses, config, injectedDocuments, markdownPages, pages }: BuildOptions,
): Promise<SiteInput & Pick<Required<SiteInput>, 'tails'>> {
  const injection = findInjection(site, version, addresses)
  const injectedIndex = injection && (await injectedDocuments.get(injection))
  const { files, rules } = version
  const document = findMarkdownStart(files)
  const { rendered, renderError } = document ? await tryRender(markdownPages, document) : {}
  // The first access parses up to 1 MiB of rules, and compiling takes as long: other requests run in between.
  await turn()
  const isAnonymous = site.ownerId === null
  const reportUrl = addresses.report(addresses.site(site.slug))
  return {
    files,
    pages,
    policy: isAnonymous ? anonymousPolicy(policy, reportUrl, config.anonymousNotice) : policy,
    tails: isAnonymous && config.anonymousNotice === 'link' ? [reportLink(reportUrl)] : [],
    rules: rules ?? undefined,
    injectedIndex,
    markdown: rendered && { ...rendered, path: encodePath(document!.path) },
    renderError,
    blobs,
    metadata: effectiveMetadata(site, version, files),
    toUrl: (name) => addresses.file(site.slug, name),
    spaMode: (version.publishedAt === null ? version.metadata.spaMode : null) ?? site.spaMode,
  }
}

/** What concerns only one document must not keep the other files from their visitors. */
async function tryRender(
  markdownPages: BuildOptions['markdownPages'],
  document: ManifestFile,
): Promise<{ rendered?: RenderedMarkdown | undefined; renderError?: ApiError }> {
  try {
    return { rendered: await markdownPages.get(document) }
  } catch (error) {
    if (error instanceof ApiError && error.isIsolated) return { renderError: error }
    throw error
  }
}
