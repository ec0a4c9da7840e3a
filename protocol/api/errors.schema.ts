import { integer, named, type Schema, type Static, text } from './schema.ts'

/** The closed list of errors (spec 2.8; contract, "Everywhere"). */
interface CodeDescription {
  /** The HTTP status. */
  status: number
  /** What the code means, for the API reference. */
  meaning: string
  /** What the caller can do next, unless a response has a more specific hint. */
  hint: string
}

export const ERROR_CODES = {
  VALIDATION_ERROR: {
    status: 400,
    meaning: 'A manifest or a field breaks a rule. details lists each problem with field and message.',
    hint: 'Correct the fields in details and send the request again.',
  },
  INVALID_JSON: {
    status: 400,
    meaning: 'The body is not JSON.',
    hint: 'Correct the syntax of the body, such as its quotes, commas and brackets.',
  },
  INVALID_CODE: {
    status: 400,
    meaning: 'The sign-in code is incorrect, used or expired.',
    hint: 'Check the code in the latest email, or request a new one.',
  },
  SIZE_MISMATCH: {
    status: 400,
    meaning: 'The length of the body differs from the length that the manifest or Content-Length declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  HASH_MISMATCH: {
    status: 400,
    meaning: 'The SHA-256 of the body differs from the hash that the manifest declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  CONTENT_TYPE_MISMATCH: {
    status: 400,
    meaning: 'The Content-Type of the upload differs from the type that the manifest declares.',
    hint: 'Send exactly the headers that the upload target lists.',
  },
  UNAUTHORIZED: {
    status: 401,
    meaning: 'The API key is missing or invalid.',
    hint: 'Send Authorization: Bearer with your API key. To get a key, send POST /api/auth/agent/request-code, and the emailed code with POST /api/auth/agent/verify-code.',
  },
  INVALID_ID_TOKEN: {
    status: 401,
    meaning:
      'The OpenID Connect token of the CI job is malformed, expired, was used before, or is from another issuer or for another audience.',
    hint: 'Request a new token of the job, whose audience is the base URL of the service without a final slash.',
  },
  NOT_TRUSTED: {
    status: 403,
    meaning:
      'The token of the CI job is valid, and no trust is for its repository, branch, tag or environment.',
    hint: 'Compare details with the output of slipway trust list. Add a trust with slipway trust or POST /api/v1/me/trusts. A repository that was registered again needs a new trust.',
  },
  INVALID_CLAIM_TOKEN: {
    status: 403,
    meaning: 'The claim token does not belong to the site.',
    hint: 'Send the claimToken from the response that created the site.',
  },
  INVALID_UPLOAD_TOKEN: {
    status: 403,
    meaning: 'The upload URL was changed, or another server signed it.',
    hint: 'Use the upload URL exactly as it was returned.',
  },
  DOMAIN_LIMIT_REACHED: {
    status: 403,
    meaning: 'The account has reached the custom domain limit of its plan.',
    hint: 'Remove a domain, or ask the administrator for a higher limit.',
  },
  KEY_LIMIT_REACHED: {
    status: 403,
    meaning: 'The account has the maximum number of named API keys.',
    hint: 'Revoke a key with DELETE /api/v1/me/keys/{id} or slipway keys revoke, or reuse the name of an existing key to replace that key.',
  },
  TRUST_LIMIT_REACHED: {
    status: 403,
    meaning: 'The account has the maximum number of trusted repositories.',
    hint: 'Remove a trust with DELETE /api/v1/me/trusts/{id} or slipway trust remove.',
  },
  COLLABORATOR_LIMIT_REACHED: {
    status: 403,
    meaning: 'The site has the maximum number of collaborators.',
    hint: 'Remove a collaborator first.',
  },
  PREVIEW_LIMIT_REACHED: {
    status: 403,
    meaning: 'The site has the maximum number of previews.',
    hint: 'Delete a preview with DELETE /api/v1/publish/{slug}/previews/{name}, or publish to an existing one.',
  },
  OWNER_REQUIRED: {
    status: 403,
    meaning:
      'The site is shared with the account, and only the owner of the site can do this: delete or rename it, change its password or its expiry, manage its domains and its collaborators.',
    hint: 'Ask the owner of the site.',
  },
  SIGN_UP_CLOSED: {
    status: 403,
    meaning: 'No account has the email address, and this server limits who can create one.',
    hint: 'Sign in with the address of an account, or ask the administrator for an invitation.',
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    meaning:
      'The API key is valid, but does not permit this: its scope is too narrow, it is limited to other sites, or it expires. details.requiredScope is the scope that is needed.',
    hint: 'Use a key with this scope. slipway keys create, the account page of the dashboard or POST /api/v1/me/keys creates one.',
  },
  SIGN_IN_AGAIN: {
    status: 403,
    meaning: 'A change of an administrator needs a browser session that is at most 12 hours old.',
    hint: 'Sign in again with a new code, and repeat the request; or use a key of scope admin.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'The resource does not exist, or it belongs to another account.',
    hint: 'Check the path and the API key.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The endpoint exists, but does not support this method.',
    hint: 'Use a method from the Allow header.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    meaning:
      'The body arrived at less than 1 kB per second, averaged over a minute, or an archive took longer than an upload may.',
    hint: 'Send the request again.',
  },
  UPLOADS_MISSING: {
    status: 409,
    meaning:
      'Not all files were uploaded before finalize. details.missing lists the first 20, details.count counts all.',
    hint: 'Upload the missing files and finalize again; uploads/refresh returns new targets for them.',
  },
  APPROVAL_REQUIRED: {
    status: 409,
    meaning: 'The site requires an approval of exactly this content before a preview is promoted.',
    hint: 'Ask a reviewer to approve the version that the preview shows, then promote it again.',
  },
  VERSION_CONFLICT: {
    status: 409,
    meaning:
      'The live version, or the one that the preview shows, is not baseVersionId. details.currentVersionId is that version, and details.contentHash is equal for versions with equal files.',
    hint: 'Check the current version, then publish again with its ID as baseVersionId.',
  },
  ALREADY_CLAIMED: {
    status: 409,
    meaning: 'The site belongs to another account.',
    hint: 'Sign in with the account that claimed the site.',
  },
  ALREADY_DECIDED: {
    status: 409,
    meaning: 'The user has already allowed or denied this request of a program.',
    hint: 'Connect again in the program.',
  },
  SITE_PENDING: {
    status: 409,
    meaning: 'The site has no published version.',
    hint: 'Finalize a version first.',
  },
  DOMAINS_UNAVAILABLE: {
    status: 409,
    meaning: 'The server has no public host name that custom domains could point to.',
    hint: 'Ask the administrator to set SLIPWAY_PROXY_HOST to a public host name that points to the server.',
  },
  DOMAIN_TAKEN: {
    status: 409,
    meaning: 'The domain is already connected to a site.',
    hint: 'Remove the domain from that site first, or choose another domain.',
  },
  NAME_TAKEN: {
    status: 409,
    meaning: 'Another site has or had the name, or another API key of the account has it.',
    hint: 'Choose another name. GET /api/v1/names/{name} returns whether a name is available. Update a site that is shared with you by its slug.',
  },
  VERSION_LIVE: {
    status: 409,
    meaning: 'The live version cannot be deleted.',
    hint: 'Restore another version first, or delete the site.',
  },
  LAST_ADMINISTRATOR: {
    status: 409,
    meaning: 'The service would have no administrator.',
    hint: 'Mark another account first: slipway-server account admin EMAIL. That command also removes the last mark.',
  },
  SITE_EXPIRED: {
    status: 410,
    meaning: 'The site has expired.',
    hint: 'Publish the files again to create a new site.',
  },
  SITE_SUSPENDED: {
    status: 403,
    meaning:
      'The operator has suspended the site, or the account of its owner. details.reason says why. It can be read, downloaded and deleted.',
    hint: 'Contact the operator of the service.',
  },
  ACCOUNT_SUSPENDED: {
    status: 403,
    meaning:
      'The operator has suspended the account: its sites are offline. details.reason says why. It can sign in, and read, download and delete its sites.',
    hint: 'Contact the operator of the service.',
  },
  BLOCKED: {
    status: 403,
    meaning: 'The operator has blocked the network of the caller. Visits of sites are not affected.',
    hint: 'Contact the operator of the service.',
  },
  CONTENT_REFUSED: {
    status: 403,
    meaning:
      'The operator has blocked a file, the scanner of the service refuses it, or it is too large to be scanned. details.path is the path of the file.',
    hint: 'Publish without the file, or a large one in parts, or contact the operator of the service.',
  },
  SECRET_DETECTED: {
    status: 422,
    meaning:
      'New files seem to contain a secret: a private key, or a key or token of a service. details lists up to 50 of them with path, line, kind, fingerprint and excerpt, without the secret. Nothing was published.',
    hint: 'Remove the secrets from the files, and revoke those that were public before. For one that may be public, send its fingerprint in allowSecrets, or with --allow-secret: the site accepts it from then on.',
  },
  UPLOAD_EXPIRED: {
    status: 410,
    meaning: 'The upload URL has expired, or the version accepts no more files.',
    hint: 'Request new targets with uploads/refresh, or publish again.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    meaning: 'A request body, a file or the site is over its size limit.',
    hint: 'Publish fewer or smaller files; the message has the limit.',
  },
  QUOTA_EXCEEDED: {
    status: 413,
    meaning:
      'The account would hold more bytes or sites than its plan allows, or sites without an account more than their network or all of them may. details has quota, limit, used and requested.',
    hint: 'Delete sites permanently, previews or earlier versions, or ask the administrator for a higher limit.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The endpoint does not accept this Content-Type, or the body has a Content-Encoding.',
    hint: 'Send a Content-Type that the message lists, and no Content-Encoding.',
  },
  RATE_LIMITED: {
    status: 429,
    meaning:
      'Too many requests. Retry-After is the number of seconds to wait. details.countedBy is "account" or "address": the limit that applied.',
    hint: 'Wait for the number of seconds in Retry-After. Published sites stay online.',
  },
  INTERNAL: {
    status: 500,
    meaning: 'An error in the server. Its log has the full error under the request ID in the message.',
    hint: 'Try again. If the error persists, send the request ID to the administrator.',
  },
  UNAVAILABLE: {
    status: 503,
    meaning:
      'The server is overloaded, or a component is unavailable. Retry-After is the number of seconds to wait.',
    hint: 'Try again after the number of seconds in Retry-After.',
  },
  SCAN_UNAVAILABLE: {
    status: 503,
    meaning: 'The scanner of the service has failed, so that the version is not published yet.',
    hint: 'Finalize the version again after the number of seconds in Retry-After.',
  },
  INSUFFICIENT_STORAGE: {
    status: 507,
    meaning: 'The disk of the server is full. Published sites stay online.',
    hint: 'Try again later, or ask the administrator to free disk space.',
  },
} satisfies Record<string, CodeDescription>

export type ErrorCode = keyof typeof ERROR_CODES

const code = text('Identifies the error; it never changes', {
  enum: Object.keys(ERROR_CODES) as ErrorCode[],
})

/** Spec 2.8. */
export const errorResponse = named(
  'Error',
  {
    error: text('The problem, for people'),
    code,
    status: integer('The HTTP status'),
    hint: text('What to do next'),
    docs: text('The URL of the code in the API reference'),
  },
  { details: { description: 'The fields or files concerned, where there are any' } as Schema },
)
export type ErrorBody = Static<typeof errorResponse>

/** A violation of a rule, in the `details` of a VALIDATION_ERROR: the field and a message. */
export interface FieldError {
  field: string
  message: string
}

/** One of the `details` of SECRET_DETECTED. */
export interface SecretFinding {
  path: string
  /** From 1. */
  line: number
  /** For people, such as "GitHub token". */
  kind: string
  /** Identifies the secret, and reveals nothing of it. */
  fingerprint: string
  /** The part of the secret that is the same in all of its kind. */
  excerpt: string
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
