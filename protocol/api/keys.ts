// Named API keys (contract, "Keys").

/** What a key may do within its account, and with the sites it is for. Each scope includes those before it. */
export const ACCOUNT_SCOPES = ['read', 'preview', 'publish', 'manage'] as const

export type AccountScope = (typeof ACCOUNT_SCOPES)[number]

/** What a key may do. Each scope includes those before it; only administrators create keys of scope `admin`. */
export const KEY_SCOPES = [...ACCOUNT_SCOPES, 'admin'] as const

export type KeyScope = (typeof KEY_SCOPES)[number]

/** Maximum number of sites that a key lists. */
export const MAX_KEY_SITES = 50

/** Bounds of `expiresInSeconds`. */
export const KEY_LIFETIME_SECONDS = { min: 60, max: 10 * 366 * 86_400 }

/** What a key permits, within the rights of its account. */
export interface KeyPermissions {
  scope: KeyScope
  /** The slugs of the only sites it is for; `null` for all, and for everything else of the account. */
  sites: string[] | null
  /** `null` for a key that does not expire. */
  expiresAt: string | null
}

/** A named key, without its secret. */
export interface KeySummary extends KeyPermissions {
  id: string
  name: string
  /** Whether it sent this request. */
  current: boolean
  createdAt: string
  /** With a resolution of a few minutes; `null` before the first use. */
  lastUsedAt: string | null
}

/** `GET /api/v1/me/keys`, newest first. */
export interface KeyList {
  keys: KeySummary[]
}

/** `POST /api/v1/me/keys`. */
export interface CreateKeyRequest {
  name: string
  scope: KeyScope
  /** Slugs; by default all sites, and everything else of the account. */
  sites?: string[] | null
  /** By default it does not expire. */
  expiresInSeconds?: number | null
}

/** The only response that contains the key. */
export interface CreatedKey extends KeySummary {
  apiKey: string
  warning: string
}

/** `DELETE /api/v1/me/keys/:id`. */
export interface KeyRevokedResponse {
  id: string
  revoked: true
}
