import type { SiteDetails, SiteList } from '../../../protocol/api/sites.ts'
import { sumSizes } from '../../../protocol/manifest/manifest.ts'
import { integer, list, object, type Schema, text } from '../schemas/schema.ts'
import { slug } from '../schemas/site.ts'
import * as shape from '../schemas.ts'
import { itemOf, pick, project, properties } from './projection.ts'
import { ADD, type ApiClient, dashboardUrl, MAX_LISTED, READ, REPLACE, type Tool } from './tool.ts'

const SITE_FIELDS = [
  ...['versionId', 'title', 'updatedAt', 'expiresAt', 'role', 'ownerEmail', 'hasPassword'],
  ...['description', 'ogImagePath', 'spaMode', 'pendingVersionId'],
]

const details = project(shape.siteDetails, ['slug', 'siteUrl', 'status'], SITE_FIELDS)

const detailsOutput: Schema = {
  ...details.schema,
  properties: {
    ...properties(details.schema),
    fileCount: integer('Files of the site'),
    totalBytes: integer('Bytes of the site'),
    files: list(object({ path: text('The file'), size: integer('Bytes') }), `${MAX_LISTED} files at most`),
    dashboardUrl: text('The page of the site in the dashboard'),
  },
}

const summary = project(
  itemOf(shape.siteList, 'publishes'),
  ['slug', 'siteUrl', 'status'],
  ['title', 'kind', 'updatedAt', 'expiresAt', 'role', 'hasPassword', 'fileCount', 'totalBytes'],
)

const DEFAULT_LISTED = 20

export const SITE_TOOLS: readonly Tool[] = [
  {
    name: 'list_sites',
    title: 'List sites',
    description: 'Lists your sites and those that are shared with you, newest first.',
    input: object(
      {},
      {
        ...pick(shape.listQuery, 'q', 'cursor'),
        limit: integer(`Sites per page; default ${DEFAULT_LISTED}`, { minimum: 1, maximum: MAX_LISTED }),
      },
    ),
    output: object({ sites: list(summary.schema, 'Newest first') }, { nextCursor: text('The next page') }),
    annotations: READ,
    needsAccount: true,
    call: async (api, { q, cursor, limit = DEFAULT_LISTED }) => {
      const { publishes, nextCursor } = await api.call<SiteList>('listSites', { query: { q, cursor, limit } })
      return { sites: publishes.map(summary.of), ...(nextCursor === null ? {} : { nextCursor }) }
    },
  },
  {
    name: 'get_site',
    title: 'Get a site',
    description: 'Returns the settings and the files of a site, and the versionId that is live.',
    input: object({ slug }),
    output: detailsOutput,
    annotations: READ,
    needsAccount: true,
    call: async (api, { slug }) => toDetails(api, await api.call('getSite', { params: { slug } })),
  },
  {
    name: 'set_metadata',
    title: 'Change the settings of a site',
    description: 'Changes the title, description, image, password, expiry or routing of a site.',
    input: object({ slug }, properties(shape.metadataRequest)),
    output: detailsOutput,
    annotations: REPLACE,
    needsAccount: true,
    call: async (api, { slug, ...body }) =>
      toDetails(api, await api.call('updateMetadata', { params: { slug }, body })),
  },
  {
    name: 'duplicate_site',
    title: 'Copy a site',
    description: 'Copies the live version of a site to a new site.',
    input: object({ slug }),
    output: shape.duplicateResponse,
    annotations: ADD,
    needsAccount: true,
    call: (api, { slug }) => api.call('duplicateSite', { params: { slug } }),
  },
  {
    name: 'delete_site',
    title: 'Delete a site',
    description: 'Takes a site offline and moves it to the trash, from where the user can restore it.',
    input: object({ slug }),
    output: shape.deleteResponse,
    annotations: REPLACE,
    needsAccount: true,
    call: (api, { slug }) => api.call('deleteSite', { params: { slug } }),
  },
]

function toDetails(api: ApiClient, site: SiteDetails): object {
  const { files, slug } = site
  return {
    ...details.of(site),
    fileCount: files.length,
    totalBytes: sumSizes(files),
    files: files.slice(0, MAX_LISTED).map(({ path, size }) => ({ path, size })),
    dashboardUrl: dashboardUrl(api, slug),
  }
}
