import { KEY_LIFETIME_SECONDS, KEY_SCOPES, MAX_KEY_SITES } from '../../../protocol/api/keys.ts'
import { bool, integer, list, named, nullable, object, text, time } from './schema.ts'

const name = text('The name of the key: a machine or a purpose', { minLength: 1, maxLength: 64 })
const scope = text(
  'What the key may do: `read`; `preview`, which also publishes previews; `publish`, which includes both; `manage`, which is everything in the account; or `admin`, which is also the administration of the service, for its administrators',
  { enum: KEY_SCOPES },
)
const { min, max } = KEY_LIFETIME_SECONDS

const permissions = {
  scope,
  sites: nullable(
    list(
      text('Slug'),
      'The only sites the key is for; null for all sites and everything else of the account',
    ),
  ),
  expiresAt: nullable(time('When it expires; null if it does not')),
}

/** The key of a request. */
export const currentKey = object(
  { name, ...permissions },
  {},
  { description: 'The named key of the request; null for another credential' },
)

const summary = {
  id: text('Identifier of the key'),
  name,
  ...permissions,
  current: bool('Whether it sent this request'),
  createdAt: time('Creation'),
  lastUsedAt: nullable(time('The last use, with a resolution of five minutes; null before the first one')),
}

export const keyList = named('KeyList', object({ keys: list(named('Key', object(summary)), 'Newest first') }))
export const createKeyRequest = named(
  'NewKeyRequest',
  object(
    { name, scope },
    {
      sites: nullable(
        list(
          text('Slug', { maxLength: 63 }),
          `1 to ${MAX_KEY_SITES} slugs, or null for all sites, the default`,
          {
            minItems: 1,
            maxItems: MAX_KEY_SITES,
          },
        ),
      ),
      expiresInSeconds: nullable(
        integer('Lifetime of the key; null, the default, for a key that does not expire', {
          minimum: min,
          maximum: max,
        }),
      ),
    },
  ),
)
export const createdKey = named(
  'CreatedKey',
  object({
    ...summary,
    apiKey: text('Shown once'),
    warning: text('A reminder that the key is shown once'),
  }),
)
export const keyRevokedResponse = named(
  'RevokedKey',
  object({ id: text('Identifier of the key'), revoked: bool('Always true') }),
)
