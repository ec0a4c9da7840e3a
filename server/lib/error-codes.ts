import type { ErrorCode } from '../../protocol/api/errors.ts'

/** What a code means, for the API reference, and what the caller can do next, for `hint` of its responses. */
interface CodeDescription {
  meaning: string
  hint: string
}

/** Every error code (contract, "Everywhere"). */
export const ERROR_CODES: Record<ErrorCode, CodeDescription> = {
  VALIDATION_ERROR: {
    meaning: 'A manifest or a field breaks a rule. details lists each problem with field and message.',
    hint: 'Correct the fields in details and send the request again.',
  },
  INVALID_JSON: {
    meaning: 'The body is not JSON.',
    hint: 'Send a JSON body with Content-Type: application/json.',
  },
  INVALID_CODE: {
    meaning: 'The sign-in code is incorrect, used or expired.',
    hint: 'Check the code in the latest email, or request a new one.',
  },
  SIZE_MISMATCH: {
    meaning: 'The length of the body differs from the length that the manifest or Content-Length declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  HASH_MISMATCH: {
    meaning: 'The SHA-256 of the body differs from the hash that the manifest declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  CONTENT_TYPE_MISMATCH: {
    meaning: 'The Content-Type of the upload differs from the type that the manifest declares.',
    hint: 'Send exactly the headers that the upload target lists.',
  },
  UNAUTHORIZED: {
    meaning: 'The API key is missing or invalid.',
    hint: 'Send Authorization: Bearer with your API key. To get a key, send POST /api/auth/agent/request-code, and the emailed code with POST /api/auth/agent/verify-code.',
  },
  INVALID_ID_TOKEN: {
    meaning:
      'The OpenID Connect token of the CI job is malformed, expired, was used before, or is from another issuer or for another audience.',
    hint: 'Request a new token of the job, whose audience is the base URL of the service without a final slash.',
  },
  NOT_TRUSTED: {
    meaning:
      'The token of the CI job is valid, and no trust is for its repository, branch, tag or environment.',
    hint: 'Compare details with the output of slipway trust list. Add a trust with slipway trust or POST /api/v1/me/trusts. A repository that was registered again needs a new trust.',
  },
  INVALID_CLAIM_TOKEN: {
    meaning: 'The claim token does not belong to the site.',
    hint: 'Send the claimToken from the response that created the site.',
  },
  INVALID_UPLOAD_TOKEN: {
    meaning: 'The upload URL was changed, or another server signed it.',
    hint: 'Use the upload URL exactly as it was returned.',
  },
  DOMAIN_LIMIT_REACHED: {
    meaning: 'The account has reached the custom domain limit of its plan.',
    hint: 'Remove a domain, or ask the administrator for a higher limit.',
  },
  KEY_LIMIT_REACHED: {
    meaning: 'The account has the maximum number of named API keys.',
    hint: 'Revoke a key with DELETE /api/v1/me/keys/{id} or slipway keys revoke, or reuse the name of an existing key to replace that key.',
  },
  TRUST_LIMIT_REACHED: {
    meaning: 'The account has the maximum number of trusted repositories.',
    hint: 'Remove a trust with DELETE /api/v1/me/trusts/{id} or slipway trust remove.',
  },
  COLLABORATOR_LIMIT_REACHED: {
    meaning: 'The site has the maximum number of collaborators.',
    hint: 'Remove a collaborator first.',
  },
  PREVIEW_LIMIT_REACHED: {
    meaning: 'The site has the maximum number of previews.',
    hint: 'Delete a preview with DELETE /api/v1/publish/{slug}/previews/{name}, or publish to an existing one.',
  },
  OWNER_REQUIRED: {
    meaning:
      'The site is shared with the account, and only the owner of the site can do this: delete or rename it, change its password or its expiry, manage its domains and its collaborators.',
    hint: 'Ask the owner of the site.',
  },
  SIGN_UP_CLOSED: {
    meaning: 'No account has the email address, and this server limits who can create one.',
    hint: 'Sign in with the address of an account, or ask the administrator for an invitation.',
  },
  INSUFFICIENT_SCOPE: {
    meaning:
      'The API key is valid, but does not permit this: its scope is too narrow, it is limited to other sites, or it expires. details.requiredScope is the scope that is needed.',
    hint: 'Use a key with this scope. slipway keys create, the account page of the dashboard or POST /api/v1/me/keys creates one.',
  },
  SIGN_IN_AGAIN: {
    meaning: 'A change of an administrator needs a browser session that is at most 12 hours old.',
    hint: 'Sign in again with a new code, and repeat the request; or use a key of scope admin.',
  },
  NOT_FOUND: {
    meaning: 'The resource does not exist, or it belongs to another account.',
    hint: 'Check the path and the API key.',
  },
  METHOD_NOT_ALLOWED: {
    meaning: 'The endpoint exists, but does not support this method.',
    hint: 'Use a method from the Allow header.',
  },
  REQUEST_TIMEOUT: {
    meaning:
      'The body arrived at less than 1 kB per second, averaged over a minute, or an archive took longer than an upload may.',
    hint: 'Send the request again.',
  },
  UPLOADS_MISSING: {
    meaning:
      'Not all files were uploaded before finalize. details.missing lists the first 20, details.count counts all.',
    hint: 'Upload the missing files and finalize again; uploads/refresh returns new targets for them.',
  },
  VERSION_CONFLICT: {
    meaning:
      'The live version, or the one that the preview shows, is not baseVersionId. details.currentVersionId is that version.',
    hint: 'Check the current version, then publish again with its ID as baseVersionId.',
  },
  ALREADY_CLAIMED: {
    meaning: 'The site belongs to another account.',
    hint: 'Sign in with the account that claimed the site.',
  },
  ALREADY_DECIDED: {
    meaning: 'The user has already allowed or denied this request of a program.',
    hint: 'Connect again in the program.',
  },
  SITE_PENDING: {
    meaning: 'The site has no published version.',
    hint: 'Finalize a version first.',
  },
  DOMAINS_UNAVAILABLE: {
    meaning: 'The server has no public host name that custom domains could point to.',
    hint: 'Ask the administrator to set SLIPWAY_PROXY_HOST to a public host name that points to the server.',
  },
  DOMAIN_TAKEN: {
    meaning: 'The domain is already connected to a site.',
    hint: 'Remove the domain from that site first, or choose another domain.',
  },
  NAME_TAKEN: {
    meaning: 'Another site has or had the name, or another API key of the account has it.',
    hint: 'Choose another name. GET /api/v1/names/{name} returns whether a name is available.',
  },
  VERSION_LIVE: {
    meaning: 'The live version cannot be deleted.',
    hint: 'Restore another version first, or delete the site.',
  },
  LAST_ADMINISTRATOR: {
    meaning: 'The service would have no administrator.',
    hint: 'Mark another account first: slipway-server account admin EMAIL. That command also removes the last mark.',
  },
  SITE_EXPIRED: {
    meaning: 'The site has expired.',
    hint: 'Publish the files again to create a new site.',
  },
  SITE_SUSPENDED: {
    meaning:
      'The operator has suspended the site, or the account of its owner. details.reason says why. It can be read, downloaded and deleted.',
    hint: 'Contact the operator of the service.',
  },
  ACCOUNT_SUSPENDED: {
    meaning:
      'The operator has suspended the account: its sites are offline. details.reason says why. It can sign in, and read, download and delete its sites.',
    hint: 'Contact the operator of the service.',
  },
  BLOCKED: {
    meaning: 'The operator has blocked the network of the caller. Visits of sites are not affected.',
    hint: 'Contact the operator of the service.',
  },
  CONTENT_REFUSED: {
    meaning:
      'The operator has blocked a file, or the scanner of the service refuses it. details.path is the path of the file.',
    hint: 'Publish without the file, or contact the operator of the service.',
  },
  UPLOAD_EXPIRED: {
    meaning: 'The upload URL has expired, or the version accepts no more files.',
    hint: 'Request new targets with uploads/refresh, or publish again.',
  },
  PAYLOAD_TOO_LARGE: {
    meaning: 'A request body, a file or the site is over its size limit.',
    hint: 'Publish fewer or smaller files; the message has the limit. Accounts have higher limits than anonymous callers.',
  },
  QUOTA_EXCEEDED: {
    meaning:
      'The account would hold more bytes or sites than its plan allows, or sites without an account more than their network or all of them may. details has quota, limit, used and requested.',
    hint: 'Delete sites permanently, previews or earlier versions, or ask the administrator for a higher limit.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: 'The endpoint does not accept this Content-Type.',
    hint: 'Send a Content-Type that the message lists.',
  },
  RATE_LIMITED: {
    meaning:
      'Too many requests. Retry-After is the number of seconds to wait. details.countedBy is "account" or "address": the limit that applied.',
    hint: 'Wait for the number of seconds in Retry-After. Published sites stay online.',
  },
  INTERNAL: {
    meaning: 'An error in the server. Its log has the full error under the request ID in the message.',
    hint: 'Try again. If the error persists, send the request ID to the administrator.',
  },
  UNAVAILABLE: {
    meaning:
      'The server is overloaded, or a component is unavailable. Retry-After is the number of seconds to wait.',
    hint: 'Try again after the number of seconds in Retry-After.',
  },
  SCAN_UNAVAILABLE: {
    meaning: 'The scanner of the service has failed, so that the version is not published yet.',
    hint: 'Finalize the version again after the number of seconds in Retry-After.',
  },
  INSUFFICIENT_STORAGE: {
    meaning: 'The disk of the server is full. Published sites stay online.',
    hint: 'Try again later, or ask the administrator to free disk space.',
  },
}
