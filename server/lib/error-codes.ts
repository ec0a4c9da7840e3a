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
    meaning: 'The mailed code is wrong, used or expired.',
    hint: 'Check the code in the latest email, or request a new one.',
  },
  SIZE_MISMATCH: {
    meaning: 'The body has another length than the manifest or its Content-Length declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  HASH_MISMATCH: {
    meaning: 'The body has another SHA-256 than the manifest declares.',
    hint: 'Upload the file again, or publish again if it has changed.',
  },
  CONTENT_TYPE_MISMATCH: {
    meaning: 'The upload has another Content-Type than the manifest declares.',
    hint: 'Send exactly the headers that the upload target lists.',
  },
  UNAUTHORIZED: {
    meaning: 'The API key is missing or invalid.',
    hint: 'Send Authorization: Bearer and your API key. An emailed code gives you a key.',
  },
  INVALID_CLAIM_TOKEN: {
    meaning: 'The claim token does not belong to the site.',
    hint: 'Send the claimToken of the response that created the site.',
  },
  INVALID_UPLOAD_TOKEN: {
    meaning: 'The upload URL was changed, or another server signed it.',
    hint: 'Use the upload URL exactly as it was returned.',
  },
  DOMAIN_LIMIT_REACHED: {
    meaning: 'The plan has no room for another domain.',
    hint: 'Remove a domain first, or ask the operator for a larger plan.',
  },
  NOT_FOUND: {
    meaning: 'The resource does not exist, or it belongs to another account.',
    hint: 'Check the path and the key.',
  },
  METHOD_NOT_ALLOWED: {
    meaning: 'The path exists, but not with this method.',
    hint: 'Use a method that the Allow header lists.',
  },
  REQUEST_TIMEOUT: {
    meaning: 'The body arrived at less than 1 KiB a second, on average over a minute.',
    hint: 'Send the request again.',
  },
  UPLOADS_MISSING: {
    meaning:
      'Not all files were uploaded before finalize. details.missing lists the first 20, details.count counts all.',
    hint: 'Upload the missing files and finalize again; uploads/refresh returns new targets for them.',
  },
  VERSION_CONFLICT: {
    meaning: 'Another version than baseVersionId is live. details.currentVersionId names it.',
    hint: 'Compare with the live version, then publish again.',
  },
  ALREADY_CLAIMED: {
    meaning: 'The site belongs to another account.',
    hint: 'Sign in with the account that claimed the site.',
  },
  SITE_PENDING: {
    meaning: 'The site was never finalized.',
    hint: 'Finalize a version of the site first.',
  },
  DOMAIN_TAKEN: {
    meaning: 'The domain is in use.',
    hint: 'Remove the domain from the site that uses it, or choose another one.',
  },
  VERSION_LIVE: {
    meaning: 'The live version cannot be deleted.',
    hint: 'Restore another version first, or delete the site.',
  },
  SITE_EXPIRED: {
    meaning: 'The site has expired.',
    hint: 'Publish it again as a new site.',
  },
  UPLOAD_EXPIRED: {
    meaning: 'The upload URL has expired, or its version accepts no more files.',
    hint: 'Request new targets with uploads/refresh, or publish again.',
  },
  PAYLOAD_TOO_LARGE: {
    meaning: 'A body, a file or the site exceeds its limit.',
    hint: 'Reduce what you publish to the limit in the message. Signed-in accounts have higher limits.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: 'The call does not accept a body with this Content-Type.',
    hint: 'Send one of the types that the message lists.',
  },
  RATE_LIMITED: {
    meaning:
      'Too many requests. Retry-After is the time to wait in seconds; details.countedBy says whether the limit of the account or of the address is used up.',
    hint: 'Wait for the seconds in Retry-After. Published sites stay online.',
  },
  INTERNAL: {
    meaning: 'The service failed. Its log has the request id of the message.',
    hint: 'Try again; if it fails again, send the request id to the operator.',
  },
  UNAVAILABLE: {
    meaning:
      'The service is overloaded, or a part of it is unavailable. Retry-After is the time to wait in seconds.',
    hint: 'Try again after the seconds in Retry-After.',
  },
  INSUFFICIENT_STORAGE: {
    meaning: 'The disk of the service is full. Sites are still served.',
    hint: 'Try again later, or ask the operator to free space.',
  },
}
