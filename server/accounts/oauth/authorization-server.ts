import { createPrivateKey } from 'node:crypto'
import type { ClientMetadata, Configuration, ErrorOut, ResourceServer } from 'oidc-provider'
import { DEVICE_GRANT_TYPE } from '../../../protocol/api/device.ts'
import { PROGRAM_SCOPES } from '../../../protocol/api/programs.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '../../lib/time.ts'
import { deriveKeys, type Secrets } from '../../lib/tokens.ts'
import type { Parts } from '../../parts.ts'
import type { KnownClient } from './clients.ts'
import { GRANT_LIFETIME_SECONDS, oauthAdapter, oauthIdHash, RefreshTokens } from './oauth-records.ts'

export const OAUTH_ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  device_authorization: '/oauth/device_authorization',
} as const

/** Also those of a registration that names none. */
export const PROGRAM_GRANT_TYPES = ['authorization_code', 'refresh_token', DEVICE_GRANT_TYPE] as const

/** A refresh token lives as long as its authorization, unless it is not used. */
const REFRESH_TOKEN_LIFETIME_SECONDS = 30 * DAY_SECONDS
const ACCESS_TOKEN_LIFETIME_SECONDS = HOUR_SECONDS
const CODE_LIFETIME_SECONDS = 60
export const INTERACTION_LIFETIME_SECONDS = 600

export interface AuthorizationServerOptions extends Pick<Parts, 'baseUrl' | 'secret' | 'store' | 'clock'> {
  resource: string
  cookies: { interaction: string; resume: string }
  /** Known without a registration. */
  clients: readonly KnownClient[]
}

export type AuthorizationServer = Awaited<ReturnType<typeof openAuthorizationServer>>

/**
 * OAuth 2.1 (RFC 6749, 7591, 7636, 8414, 8707, 9700): public clients that register themselves, codes with PKCE, and
 * refresh tokens that each use replaces (docs/decisions/044-refresh-tokens.md). Loads the library, for `OAUTH_ROUTES`.
 */
export async function openAuthorizationServer(options: AuthorizationServerOptions) {
  const { Provider, errors } = await import('oidc-provider')
  const invalidGrant = (reason: string) => new errors.InvalidGrant(reason)
  const refreshTokens = new RefreshTokens(options)
  const provider = new Provider(options.baseUrl, {
    ...settings(options),
    adapter: (kind: string) => oauthAdapter(kind, { ...options, refreshTokens, invalidGrant }),
  })
  // The forwarded protocol and host are those of the base URL, which the caller sets.
  provider.proxy = true
  // Checked by `isRedirectUri`. The library would let the port differ for native programs only, and refuse
  // `https://localhost` for them.
  const { Schema } = provider.Client as unknown as { Schema: new () => object }
  Object.assign(Schema.prototype, { redirectUris: () => undefined })
  // Makes the library accept the name. The service handles its requests itself (`DeviceSignIns`).
  provider.registerGrantType(DEVICE_GRANT_TYPE, () => Promise.reject(new errors.InvalidGrant()))
  Object.assign(provider.RefreshToken.prototype, {
    generateTokenId(this: { grantId: string }) {
      const replaced = Provider.ctx?.oidc.entities.RotatedRefreshToken
      return refreshTokens.create(oauthIdHash('Grant', this.grantId), replaced?.jti)
    },
  })
  return { provider, handle: provider.callback() }
}

function settings({ resource, cookies, clients, secret, store }: AuthorizationServerOptions): Configuration {
  return {
    clients: clients.map(describeClient),
    routes: OAUTH_ROUTES,
    // Those of programs are scopes of the resource.
    scopes: [],
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      grant_types: PROGRAM_GRANT_TYPES,
      response_types: ['code'],
      id_token_signed_response_alg: 'EdDSA',
    },
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    expiresWithSession: async () => false,
    jwks: { keys: [signingKey(secret)] },
    cookies: {
      keys: deriveKeys(secret, 'oauth cookies').map((key) => key.toString('base64url')),
      names: { session: 'slipway-oauth', ...cookies },
      // The dashboard reads the cookie of the browser that began the authorization.
      short: { httpOnly: true, sameSite: 'lax', path: '/' },
      long: { httpOnly: true, sameSite: 'lax' },
    },
    ttl: {
      AccessToken: ACCESS_TOKEN_LIFETIME_SECONDS,
      AuthorizationCode: CODE_LIFETIME_SECONDS,
      Grant: GRANT_LIFETIME_SECONDS,
      IdToken: CODE_LIFETIME_SECONDS,
      Interaction: INTERACTION_LIFETIME_SECONDS,
      RefreshToken: REFRESH_TOKEN_LIFETIME_SECONDS,
      Session: INTERACTION_LIFETIME_SECONDS,
    },
    interactions: { url: (_, { uid }) => `/authorize/${uid}` },
    findAccount: async (_, accountId) => {
      const account = await store.read.accounts.find(accountId)
      return account && { accountId, claims: async () => ({ sub: accountId }) }
    },
    renderError,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, indicator) => resourceServer(indicator, resource),
      },
    },
  }
}

function describeClient({ id, name, redirectUris }: KnownClient): ClientMetadata {
  return {
    ...{ client_id: id, client_name: name, redirect_uris: redirectUris, application_type: 'native' },
    grant_types: ['authorization_code', 'refresh_token'],
  }
}

/** Tokens are for one resource, and for no other (RFC 8707). */
async function resourceServer(indicator: string, resource: string): Promise<ResourceServer> {
  const { errors } = await import('oidc-provider')
  if (indicator !== resource) throw new errors.InvalidTarget()
  return {
    scope: PROGRAM_SCOPES.join(' '),
    audience: resource,
    accessTokenTTL: ACCESS_TOKEN_LIFETIME_SECONDS,
    accessTokenFormat: 'opaque',
  }
}

/** Renders an error that has no program to return to. */
function renderError(
  context: { type: string; body: unknown },
  { error, error_description: description }: ErrorOut,
): void {
  context.type = 'text/plain'
  context.body = `${error}: ${description ?? ''}`
}

const PKCS8_OF_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The library requires a key for signatures, although it signs nothing here. Every node has the same. */
function signingKey(secret: Secrets): object {
  const [seed] = deriveKeys(secret, 'oauth signatures')
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_OF_ED25519, seed]), format: 'der', type: 'pkcs8' })
  return { ...key.export({ format: 'jwk' }), use: 'sig', alg: 'EdDSA' }
}
