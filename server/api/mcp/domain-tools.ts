import { object } from '../schemas/schema.ts'
import { slug } from '../schemas/site.ts'
import * as shape from '../schemas.ts'
import { pick, project } from './projection.ts'
import { ADD, READ, type Tool } from './tool.ts'

const domain = project(
  shape.domainResponse,
  ['domain', 'siteSlug', 'status', 'records'],
  ['reason', 'redirectsTo', 'alternate', 'nextCheckAt'],
)

const name = pick(shape.domainRequest, 'domain')

export const DOMAIN_TOOLS: readonly Tool[] = [
  {
    name: 'add_domain',
    title: 'Add a domain',
    description: 'Connects a domain to a site. The result has the DNS records that the user must enter.',
    input: object({ ...name, slug }),
    output: domain.schema,
    annotations: { ...ADD, idempotentHint: true },
    needsAccount: true,
    call: async (api, { domain: host, slug }) =>
      domain.of(await api.call('addDomain', { body: { domain: host, siteSlug: slug } })),
  },
  {
    name: 'check_domain',
    title: 'Check a domain',
    description: 'Looks up the DNS records of a domain now: which are found, missing or wrong.',
    input: object(name),
    output: domain.schema,
    annotations: { ...READ, openWorldHint: true },
    needsAccount: true,
    call: async (api, { domain: host }) =>
      domain.of(await api.call('checkDomain', { params: { domain: host } })),
  },
]
