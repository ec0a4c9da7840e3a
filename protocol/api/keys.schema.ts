import { KEY_LIFETIME_SECONDS, KEY_SCOPES, MAX_KEY_NAME_LENGTH, MAX_KEY_SITES } from './keys.ts'
import { bool, constant, integer, list, named, nullable, object, type Static, text, time } from './schema.ts'

const id = text('Identifier of the key')
const name = text('The name of the key: a machine or a purpose', {
  minLength: 1,
  maxLength: MAX_KEY_NAME_LENGTH,
})
const scope = text(
  'What the key may do: `read`; `preview`, which also publishes previews; `publish`, which includes both; `manage`, which is everything in the account; or `admin`, which is also the administration of the service, for its administrators',
  { enum: KEY_SCOPES },
)

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
  id,
  name,
  ...permissions,
  current: bool('Whether it sent this request'),
  createdAt: time('Creation'),
  lastUsedAt: nullable(time('The last use, with a resolution of five minutes; null before the first one')),
}
const key = named('Key', summary)
export type KeySummary = Static<typeof key>

export const keyList = named('KeyList', { keys: list(key, 'Newest first') })
export type KeyList = Static<typeof keyList>

export const createKeyRequest = named(
  'NewKeyRequest',
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
        minimum: KEY_LIFETIME_SECONDS.min,
        maximum: KEY_LIFETIME_SECONDS.max,
      }),
    ),
  },
)
export type CreateKeyRequest = Static<typeof createKeyRequest>

/** The only response that contains the key. */
export const createdKey = named('CreatedKey', {
  ...summary,
  apiKey: text('Shown once'),
  warning: text('A reminder that the key is shown once'),
})
export type CreatedKey = Static<typeof createdKey>

export const keyRevokedResponse = named('RevokedKey', { id, revoked: constant(true, 'Always true') })
export type KeyRevokedResponse = Static<typeof keyRevokedResponse>
