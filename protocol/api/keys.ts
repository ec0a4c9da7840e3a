// Named API keys (contract, "Keys").

/** What a key may do within its account, and with the sites it is for. Each scope includes those before it. */
export const ACCOUNT_SCOPES = ['read', 'preview', 'publish', 'manage'] as const

export type AccountScope = (typeof ACCOUNT_SCOPES)[number]

/** What a key may do. Each scope includes those before it; only administrators create keys of scope `admin`. */
export const KEY_SCOPES = [...ACCOUNT_SCOPES, 'admin'] as const

export type KeyScope = (typeof KEY_SCOPES)[number]

/** Maximum length of the name of a key in characters. */
export const MAX_KEY_NAME_LENGTH = 64

/** Maximum number of sites that a key lists. */
export const MAX_KEY_SITES = 50

/** Bounds of `expiresInSeconds`. */
export const KEY_LIFETIME_SECONDS = { min: 60, max: 10 * 366 * 86_400 }
