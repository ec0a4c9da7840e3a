import type { DomainRecord } from '../../../protocol/api/domains.schema.ts'
import { metadataFields } from '../../../protocol/api/publish.schema.ts'
import { METADATA_FIELDS } from '../../../protocol/api/publish.ts'
import { bool, integer, nullable, object, text } from '../../../protocol/api/schema.ts'
import type {
  DuplicateResponse,
  RenameResponse,
  SiteDetails,
  SiteSummary,
} from '../../../protocol/api/sites.schema.ts'
import { type Visits, visitsFilter } from '../../../protocol/api/visits.schema.ts'
import { VISIT_RANGES } from '../../../protocol/api/visits.ts'
import { sumSizes } from '../../../protocol/manifest/manifest.ts'
import {
  type ApiClient,
  adds,
  dashboardUrl,
  MAX_LISTED,
  project,
  READ,
  replaces,
  site,
  type Tools,
} from './tool.ts'

const details = project<SiteDetails>(
  ['slug', 'siteUrl', 'status'],
  [
    ...(['versionId', 'updatedAt', 'expiresAt', 'role', 'ownerEmail', 'hasPassword'] as const),
    ...METADATA_FIELDS.filter((field) => field !== 'ttlSeconds'),
    'pendingVersionId',
  ],
)

const summary = project<SiteSummary>(
  ['slug', 'siteUrl', 'status'],
  [
    ...(['title', 'kind', 'updatedAt', 'expiresAt', 'role', 'hasPassword'] as const),
    ...(['fileCount', 'totalBytes', 'deletedUntil'] as const),
  ],
)

const renamed = project<RenameResponse>(['slug', 'siteUrl', 'formerSlug'], ['redirectsUntil'])
const copied = project<DuplicateResponse>(['slug', 'siteUrl', 'versionId', 'copiedFrom'])
const visits = project<Visits>(['range', 'counted', 'interval', 'totals'], ['previous', 'series', 'filtered'])

const DEFAULT_LISTED = 20

const LISTED_NAMES = 10

export const SITE_TOOLS: Tools = {
  list_sites: {
    title: 'List sites',
    description:
      'Lists the sites of the account and those shared with it, newest first. Use it to find the slug of a site.',
    input: object(
      {},
      {
        q: text('Only sites with this in slug or title'),
        deleted: bool('true lists the trash'),
        limit: integer(`Default ${DEFAULT_LISTED}`, { minimum: 1, maximum: MAX_LISTED }),
        cursor: text('nextCursor of the page before'),
      },
    ),
    ...READ,
    call: async (api, { q, cursor, deleted, limit = DEFAULT_LISTED }) => {
      const query = { q, cursor, limit, deleted: deleted === true ? true : undefined }
      const { publishes, nextCursor } = await api.call('listSites', { query })
      return { sites: publishes.map(summary), ...(nextCursor === null ? {} : { nextCursor }) }
    },
  },
  get_site: {
    title: 'Get a site',
    description: `Returns settings, live versionId and files of a site, ${MAX_LISTED} files at a time.`,
    input: object({ slug: site }, { offset: integer('Files to skip; default 0', { minimum: 0 }) }),
    ...READ,
    call: async (api, { slug, offset = 0 }) =>
      toDetails(api, await api.call('getSite', { params: { slug } }), Number(offset)),
  },
  set_metadata: {
    title: 'Change the settings of a site',
    description: 'Changes the fields of a site that are given. null removes a value.',
    input: object(
      { slug: site },
      {
        ...metadataFields,
        password: nullable(text('Visitors must enter it')),
        ttlSeconds: nullable(integer('Seconds from now until the site expires')),
      },
      { minProperties: 2 },
    ),
    ...replaces('manage'),
    call: async (api, { slug, ...body }) =>
      toDetails(api, await api.call('updateMetadata', { params: { slug }, body })),
  },
  rename_site: {
    title: 'Rename a site',
    description: 'Gives a site another URL. The former one redirects to it for 30 days.',
    input: object({ slug: site, name: text('First label of the new URL: a-z, 0-9, hyphens') }),
    ...replaces('manage'),
    call: async (api, { slug, name }) =>
      renamed(await api.call('renameSite', { params: { slug }, body: { name } })),
  },
  duplicate_site: {
    title: 'Copy a site',
    description: 'Copies the live version of a site to a new site.',
    input: object({ slug: site }),
    ...adds('publish'),
    call: async (api, { slug }) => copied(await api.call('duplicateSite', { params: { slug } })),
  },
  delete_site: {
    title: 'Delete a site',
    description:
      'Takes a site offline. undelete_site restores it until deletedUntil; without that, it was deleted permanently.',
    input: object({ slug: site }),
    ...replaces('manage'),
    call: (api, { slug }) => api.call('deleteSite', { params: { slug } }),
  },
  undelete_site: {
    title: 'Restore a deleted site',
    description: 'Puts a site of the trash online again. list_sites with deleted lists the trash.',
    input: object({ slug: site }),
    ...adds('manage'),
    call: async (api, { slug }) => {
      const restored = await api.call('undeleteSite', { params: { slug } })
      return { ...toDetails(api, restored), unchanged: restored.unchanged }
    },
  },
  get_visits: {
    title: 'Get the visits of a site',
    description: `Returns requests, visitors and bytes of a site over time, and the top ${LISTED_NAMES} pages, referrers and missing paths. With path, missing or referrer, one name of a list, also its requests by day.`,
    input: object(
      { slug: site },
      {
        range: text('Default 7d', { enum: VISIT_RANGES }),
        timeZone: text('IANA name; default UTC'),
        ...visitsFilter,
      },
    ),
    ...READ,
    call: async (api, { slug, ...query }) => {
      const answer = await api.call('getVisits', { params: { slug }, query })
      const top = (['topPages', 'topFiles', 'referrers', 'missingPaths'] as const).map((name) => [
        name,
        answer[name].slice(0, LISTED_NAMES),
      ])
      return { ...visits(answer), ...Object.fromEntries(top) }
    },
  },
}

function toDetails(api: ApiClient, found: SiteDetails, offset = 0): object {
  const { files, slug } = found
  return {
    ...details(found),
    fileCount: files.length,
    totalBytes: sumSizes(files),
    files: files.slice(offset, offset + MAX_LISTED).map(({ path, size }) => ({ path, size })),
    ...(files.length > offset + MAX_LISTED ? { nextOffset: offset + MAX_LISTED } : {}),
    dashboardUrl: dashboardUrl(api, slug),
  }
}

const domainRecord = project<DomainRecord>(
  ['domain', 'siteSlug', 'status', 'records'],
  ['reason', 'redirectsTo', 'alternate', 'nextCheckAt'],
)

const domainSummary = project<DomainRecord>(['domain', 'siteSlug', 'status'], ['reason', 'redirectsTo'])

const domain = text('Such as www.example.com')

export const DOMAIN_TOOLS: Tools = {
  list_domains: {
    title: 'List domains',
    description: 'Lists the custom domains of the account, their sites, and why one is not active.',
    input: object({}),
    ...READ,
    call: async (api) => {
      const { domains } = await api.call('listDomains')
      return { domains: domains.map(domainSummary) }
    },
  },
  add_domain: {
    title: 'Add a domain',
    description: 'Connects a custom domain to a site. Show the user the DNS records of the result to enter.',
    input: object({ domain, slug: site }),
    ...adds('manage'),
    call: async (api, { domain, slug }) =>
      domainRecord(await api.call('addDomain', { body: { domain, siteSlug: slug } })),
  },
  check_domain: {
    title: 'Check a domain',
    description: 'Looks up the DNS records of a custom domain now: which are found, missing or wrong.',
    input: object({ domain }),
    annotations: { ...READ.annotations, openWorldHint: true },
    scope: 'read',
    call: async (api, { domain }) => domainRecord(await api.call('checkDomain', { params: { domain } })),
  },
  remove_domain: {
    title: 'Remove a domain',
    description: 'Disconnects a custom domain from its site, which stays at its own URL.',
    input: object({ domain }),
    ...replaces('manage'),
    call: (api, { domain }) => api.call('removeDomain', { params: { domain } }),
  },
}
