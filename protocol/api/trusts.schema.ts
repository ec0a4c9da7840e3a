import { ACCOUNT_SCOPES } from './keys.ts'
import {
  bool,
  constant,
  list,
  named,
  nullable,
  type Static,
  type StaticFields,
  text,
  time,
} from './schema.ts'
import { FORGES, MAX_CONDITION_LENGTH } from './trusts.ts'

const id = text('Identifier of the trust')
const scope = text('The scope of the keys', { enum: ACCOUNT_SCOPES })
const forge = text('The kind of the forge', { enum: FORGES })
const repository = text('OWNER/REPOSITORY', { minLength: 3, maxLength: MAX_CONDITION_LENGTH })
const refLength = { minLength: 1, maxLength: MAX_CONDITION_LENGTH }

/** Which jobs of a repository a trust is for. Each of these fields that is set must match. */
const rules = {
  branch: nullable(text('A branch, or the beginning of its name and *', refLength)),
  tag: nullable(text('A tag, or the beginning of its name and *', refLength)),
  environment: nullable(text('A deployment environment of the forge; jobs must have it', refLength)),
  workflow: nullable(
    text('The file in the repository that defines the pipeline; jobs must be of it', refLength),
  ),
  pullRequests: bool('Whether jobs of pull requests from branches of the repository itself count'),
}
export type TrustRules = StaticFields<typeof rules>

/** A repository whose jobs may exchange their tokens for keys of one site. */
export const trust = named('Trust', {
  id,
  forge,
  issuer: text('The URL of the issuer of the tokens'),
  repository,
  repositoryId: nullable(text('The id of the repository; null until the first exchange fixes it')),
  site: text('The slug of the site'),
  scope,
  ...rules,
  createdAt: time('Creation'),
  lastUsedAt: nullable(time('The last exchange; null before the first one')),
  lapsesAt: nullable(
    time('When it ends unless a job was exchanged before; null once the id of the repository is known'),
  ),
})
export type Trust = Static<typeof trust>

export const trustList = named('TrustList', { trusts: list(trust, 'Newest first') })
export type TrustList = Static<typeof trustList>

/** One of `branch`, `tag`, `environment` and `pullRequests` is required; the default of `scope` is `publish`. */
export const createTrustRequest = named(
  'NewTrustRequest',
  { forge, repository, site: text('Slug', { maxLength: 63 }) },
  {
    ...rules,
    issuer: nullable(
      text('The URL of an issuer in the settings of the server; by default the first one of the forge', {
        maxLength: MAX_CONDITION_LENGTH,
      }),
    ),
    repositoryId: nullable(
      text('The id of the repository, a number; by default that of the first exchange, within 30 days', {
        pattern: '^[0-9]{1,20}$',
      }),
    ),
    scope,
  },
)
export type CreateTrustRequest = Static<typeof createTrustRequest>

export const trustRemovedResponse = named('RemovedTrust', { id, removed: constant(true, 'Always true') })
export type TrustRemovedResponse = Static<typeof trustRemovedResponse>

export const exchangeRequest = named(
  'ExchangeRequest',
  { token: text('The token of the job', { maxLength: 16_384 }) },
  { site: text('Slug; required when several sites trust the repository', { maxLength: 63 }) },
)
export type ExchangeRequest = Static<typeof exchangeRequest>

export const exchangeResponse = named('ExchangeResponse', {
  apiKey: text('A key for this site'),
  site: text('The slug of the only site that the key is for'),
  scope,
  expiresAt: time('When the key expires: after an hour'),
})
export type ExchangeResponse = Static<typeof exchangeResponse>
