import type { DomainList } from '../../../protocol/api/domains.schema.ts'
import * as domainShape from '../../../protocol/api/domains.schema.ts'
import { object, text } from '../../../protocol/api/schema.ts'
import { site } from './arguments.ts'
import { project } from './projection.ts'
import { ADD, READ, REPLACE, type Tool } from './tool.ts'

const record = project(
  domainShape.domainResponse,
  ['domain', 'siteSlug', 'status', 'records'],
  ['reason', 'redirectsTo', 'alternate', 'nextCheckAt'],
)

const summary = project(
  domainShape.domainResponse,
  ['domain', 'siteSlug', 'status'],
  ['reason', 'redirectsTo'],
)

const domain = text('Such as www.example.com')

export const DOMAIN_TOOLS: readonly Tool[] = [
  {
    name: 'list_domains',
    title: 'List domains',
    description: 'Lists the custom domains of the account, their sites, and why one is not active.',
    input: object({}),
    annotations: READ,
    scope: 'read',
    call: async (api) => {
      const { domains } = await api.call<DomainList>('listDomains')
      return { domains: domains.map(summary.of) }
    },
  },
  {
    name: 'add_domain',
    title: 'Add a domain',
    description: 'Connects a custom domain to a site. Show the user the DNS records of the result to enter.',
    input: object({ domain, slug: site }),
    annotations: ADD,
    scope: 'manage',
    call: async (api, { domain, slug }) =>
      record.of(await api.call('addDomain', { body: { domain, siteSlug: slug } })),
  },
  {
    name: 'check_domain',
    title: 'Check a domain',
    description: 'Looks up the DNS records of a custom domain now: which are found, missing or wrong.',
    input: object({ domain }),
    annotations: { ...READ, openWorldHint: true },
    scope: 'read',
    call: async (api, { domain }) => record.of(await api.call('checkDomain', { params: { domain } })),
  },
  {
    name: 'remove_domain',
    title: 'Remove a domain',
    description: 'Disconnects a custom domain from its site, which stays at its own URL.',
    input: object({ domain }),
    annotations: REPLACE,
    scope: 'manage',
    call: (api, { domain }) => api.call('removeDomain', { params: { domain } }),
  },
]
