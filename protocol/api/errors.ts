/** Spec 2.8. `details` points at the problem, where possible. */
export interface ErrorBody {
  error: string
  code: ErrorCode
  status: number
  /** One sentence: what to do next. */
  hint: string
  /** The URL of the code in the API reference. */
  docs: string
  details?: unknown
}

export type ErrorCode =
  | 'VALIDATION_ERROR'
  | 'INVALID_JSON'
  | 'INVALID_CODE'
  | 'SIZE_MISMATCH'
  | 'HASH_MISMATCH'
  | 'CONTENT_TYPE_MISMATCH'
  | 'UNAUTHORIZED'
  | 'INVALID_ID_TOKEN'
  | 'NOT_TRUSTED'
  | 'INVALID_CLAIM_TOKEN'
  | 'INVALID_UPLOAD_TOKEN'
  | 'DOMAIN_LIMIT_REACHED'
  | 'KEY_LIMIT_REACHED'
  | 'TRUST_LIMIT_REACHED'
  | 'COLLABORATOR_LIMIT_REACHED'
  | 'PREVIEW_LIMIT_REACHED'
  | 'OWNER_REQUIRED'
  | 'SIGN_UP_CLOSED'
  | 'INSUFFICIENT_SCOPE'
  | 'SIGN_IN_AGAIN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'UPLOADS_MISSING'
  | 'VERSION_CONFLICT'
  | 'ALREADY_CLAIMED'
  | 'ALREADY_DECIDED'
  | 'SITE_PENDING'
  | 'DOMAIN_TAKEN'
  | 'DOMAINS_UNAVAILABLE'
  | 'VERSION_LIVE'
  | 'NAME_TAKEN'
  | 'LAST_ADMINISTRATOR'
  | 'SITE_EXPIRED'
  | 'SITE_SUSPENDED'
  | 'ACCOUNT_SUSPENDED'
  | 'BLOCKED'
  | 'CONTENT_REFUSED'
  | 'UPLOAD_EXPIRED'
  | 'PAYLOAD_TOO_LARGE'
  | 'QUOTA_EXCEEDED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'SCAN_UNAVAILABLE'
  | 'INSUFFICIENT_STORAGE'

/** A violation of a rule, in the `details` of a VALIDATION_ERROR: the field and a message. */
export interface FieldError {
  field: string
  message: string
}

/** What an account, the network of a caller without one, or all sites without one may hold. */
export type QuotaName =
  | 'account-bytes'
  | 'account-sites'
  | 'network-bytes'
  | 'network-sites'
  | 'anonymous-bytes'
  | 'anonymous-sites'

/** The `details` of QUOTA_EXCEEDED; bytes or sites. */
export interface QuotaDetails {
  quota: QuotaName
  limit: number
  used: number
  /** What the request needs in addition. */
  requested: number
  /** What an account can delete: sites in the trash, and uploads that are not finalized. */
  trashedSites?: number
  pendingVersions?: number
}
