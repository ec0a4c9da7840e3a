import { ACCOUNT_SCOPES } from '../../../protocol/api/keys.ts'
import { FORGES } from '../../../protocol/api/trusts.ts'
import { bool, list, named, nullable, object, text, time } from './schema.ts'

const scope = text('The scope of the keys', { enum: ACCOUNT_SCOPES })
const forge = text('The kind of the forge', { enum: FORGES })
const repository = text('OWNER/REPOSITORY', { minLength: 3, maxLength: 255 })
const ref = (noun: string) =>
  nullable(text(`A ${noun}, or the beginning of its name and *`, { minLength: 1, maxLength: 255 }))

const rules = {
  branch: ref('branch'),
  tag: ref('tag'),
  environment: nullable(
    text('A deployment environment of the forge; jobs must have it', { minLength: 1, maxLength: 255 }),
  ),
  workflow: nullable(
    text('The file in the repository that defines the pipeline; jobs must be of it', {
      minLength: 1,
      maxLength: 255,
    }),
  ),
  pullRequests: bool('Whether jobs of pull requests from branches of the repository itself count'),
}

const trust = named(
  'Trust',
  object({
    id: text('Identifier of the trust'),
    forge,
    issuer: text('The URL of the issuer of the tokens'),
    repository,
    repositoryId: nullable(text('The id of the repository; null until the first exchange fixes it')),
    site: text('The slug of the site'),
    scope,
    ...rules,
    createdAt: time('Creation'),
    lastUsedAt: nullable(time('The last exchange; null before the first one')),
  }),
)

export const trustList = named('TrustList', object({ trusts: list(trust, 'Newest first') }))
export const createTrustRequest = named(
  'NewTrustRequest',
  object(
    { forge, repository, site: text('Slug', { maxLength: 63 }) },
    {
      ...rules,
      issuer: nullable(
        text('The URL of an issuer in the settings of the server; by default the first one of the forge', {
          maxLength: 255,
        }),
      ),
      repositoryId: nullable(
        text('The id of the repository; by default that of the first exchange, within 30 days', {
          pattern: '^[0-9]{1,20}$',
        }),
      ),
      scope,
    },
  ),
)
export const createdTrust = trust
export const trustRemovedResponse = named(
  'RemovedTrust',
  object({ id: text('Identifier of the trust'), removed: bool('Always true') }),
)
export const exchangeRequest = named(
  'ExchangeRequest',
  object(
    { token: text('The token of the job', { maxLength: 16_384 }) },
    { site: text('Slug; required when several sites trust the repository', { maxLength: 63 }) },
  ),
)
export const exchangeResponse = named(
  'ExchangeResponse',
  object({
    apiKey: text('A key for this site'),
    site: text('The slug of the only site that the key is for'),
    scope,
    expiresAt: time('When the key expires: after 15 minutes'),
  }),
)
