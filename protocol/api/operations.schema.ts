import * as accountShape from './account.schema.ts'
import * as auditShape from './admin/audit.schema.ts'
import * as bannerShape from './admin/banner.schema.ts'
import * as invitationShape from './admin/invitations.schema.ts'
import * as listShape from './admin/lists.schema.ts'
import * as moderationShape from './admin/moderation.schema.ts'
import * as overviewShape from './admin/overview.schema.ts'
import * as policyShape from './admin/policies.schema.ts'
import * as collaboratorShape from './collaborators.schema.ts'
import * as deviceShape from './device.schema.ts'
import * as domainShape from './domains.schema.ts'
import type { ErrorCode } from './errors.schema.ts'
import * as keyShape from './keys.schema.ts'
import type { KeyScope } from './keys.ts'
import type { OperationId, ParameterOf, Path } from './paths.ts'
import * as previewShape from './previews.schema.ts'
import * as programShape from './programs.schema.ts'
import * as publishShape from './publish.schema.ts'
import * as reportShape from './reports.schema.ts'
import * as reviewShape from './reviews.schema.ts'
import { withPreviews } from './reviews.ts'
import type { Schema } from './schema.ts'
import * as siteShape from './sites.schema.ts'
import { MAX_THUMBNAIL_BYTES } from './sites.ts'
import * as trustShape from './trusts.schema.ts'
import * as versionShape from './versions.schema.ts'
import * as visitShape from './visits.schema.ts'

/**
 * What an operation needs of the credential that requests it. `reach` is what it affects: one site, the account, or its
 * credentials and collaborators, because a credential with an expiry must not give access that lasts longer.
 */
export interface Access {
  scope: KeyScope
  reach: 'site' | 'account' | 'credentials'
  /** Whether scope `preview` suffices, because the operation itself requires `scope` unless it is about a preview. */
  previews?: true
  /** Whether a key suffices that may update a site, because the operation itself requires `scope` for a new one. */
  byName?: true
}

/**
 * `any`: a valid credential, whatever it permits. `public`: the operation ignores credentials. `admin`: that of an
 * administrator; for all others the path does not exist.
 */
export type OperationAccess = Access | 'admin' | 'any' | 'public'

/** An operation of the API, apart from its path. */
export interface Operation {
  tag: string
  summary: string
  /** Sentences of the OpenAPI document that do not follow from the other fields, such as what is permanent. */
  details?: string
  /** A function of the largest number of files that a plan allows, for a manifest. */
  body?: Schema | ((maxFiles: number) => Schema)
  query?: Schema
  headers?: Schema
  /** Status and schema of success; 'bytes' for a file, 'events' for an event stream. */
  answer: readonly [number, Schema | 'bytes' | 'events']
  /** The errors that do not follow from the other fields (`routeErrors`). */
  errors?: readonly ErrorCode[]
  /** The rate limit that a request is charged to; `handler` leaves it to the handler. Default `api`. */
  charge?: 'sign-in' | 'name' | 'review' | 'none' | 'handler'
  /** Not charged for a caller with this kind of credential, which the request ends and which is valid only once. */
  ends?: 'key' | 'dashboard'
  access: OperationAccess
  /** Whether a request without a key or session is refused; by default it is. */
  auth?: 'optional'
  /** Whether pages from outside may write on a private service without a key; by default they are refused. */
  foreignPages?: true
  /** Accepts an archive as its body, beside JSON where it has `body`. */
  archives?: true
  /**
   * Accepts a body of any type and leaves it as a stream; the media type to document. With `archives`, it is a direct
   * upload: an archive of any type, which is answered with text or JSON.
   */
  bytes?: string
  /** Maximum size of the body in bytes, if it is not the default one. */
  bodyLimit?: number
}

/** Gives access that outlives a key, or deletes everything: not for a key that expires or is limited to sites. */
const FOR_CREDENTIALS = { scope: 'manage', reach: 'credentials' } as const

const FOR_PUBLISHING = { scope: 'publish', reach: 'site', previews: true } as const

const FOR_CREATING = { scope: 'publish', reach: 'account', byName: true } as const

/** For keys of this scope; also for one that is limited to the site of the path. */
const forSite = (scope: KeyScope) => ({ scope, reach: 'site' }) as const

/** For keys of this scope that are not limited to sites. */
const forAccount = (scope: KeyScope) => ({ scope, reach: 'account' }) as const

/** The states of a site that refuse each change of it. */
const SITE_CHANGE_ERRORS = ['SITE_EXPIRED', 'SITE_SUSPENDED'] as const satisfies ErrorCode[]

/** Those of a publish to a site that the body names. */
const NAMED_SITE_ERRORS = ['NOT_FOUND', ...SITE_CHANGE_ERRORS] as const

const FINALIZE_ERRORS: readonly ErrorCode[] = [
  'VERSION_CONFLICT',
  'QUOTA_EXCEEDED',
  'PREVIEW_LIMIT_REACHED',
  'CONTENT_REFUSED',
  'SECRET_DETECTED',
  'SCAN_UNAVAILABLE',
]

/** Those of a publish, from its manifest until it is live: a site to `merge` with has a version, its expiry is its owner's. */
const UPDATE_ERRORS: readonly ErrorCode[] = [...FINALIZE_ERRORS, 'SITE_PENDING', 'OWNER_REQUIRED']

/** A publish by name may be an update of a site. */
const CREATE_ERRORS: readonly ErrorCode[] = [...UPDATE_ERRORS, ...NAMED_SITE_ERRORS, 'NAME_TAKEN']

/** For an account with access to the site, and for the holder of a review link. */
const FOR_REVIEWERS = {
  tag: 'Reviews',
  charge: 'review',
  access: forSite('preview'),
  auth: 'optional',
  errors: SITE_CHANGE_ERRORS,
  headers: reviewShape.reviewTokenHeader,
} as const

/** Of the live version of a site, or of a preview. Each has a path of its own for both. */
// biome-ignore format: a table reads best a row a line
const REVIEWS = withPreviews({
  getReview: { ...FOR_REVIEWERS, summary: 'Get a review: what is shown, its threads and decisions', query: reviewShape.reviewQuery, answer: [200, reviewShape.review], access: forSite('read') },
  createReviewLink: { tag: 'Reviews', summary: 'Create a link with which reviewers without an account comment and decide', details: 'The response shows the URL once. It ends with the preview. That of a key with an expiry, a list of sites or a scope below `manage` ends with the key; below `manage`, its holders comment and do not decide.', body: reviewShape.reviewLinkRequest, answer: [201, reviewShape.createdReviewLink], errors: [...SITE_CHANGE_ERRORS, 'QUOTA_EXCEEDED'], access: forSite('publish') },
  revokeReviewLink: { tag: 'Reviews', summary: 'End a review link and what it shows', answer: [200, reviewShape.revokedReviewLink], access: forSite('publish') },
  createThread: { ...FOR_REVIEWERS, summary: 'Comment on a place of a page', body: reviewShape.threadRequest, answer: [201, reviewShape.thread], errors: [...SITE_CHANGE_ERRORS, 'QUOTA_EXCEEDED'] },
  addToThread: { ...FOR_REVIEWERS, summary: 'Reply to a thread, resolve it or open it again', body: reviewShape.threadChange, answer: [200, reviewShape.thread], errors: [...SITE_CHANGE_ERRORS, 'QUOTA_EXCEEDED'] },
  decideReview: { ...FOR_REVIEWERS, summary: 'Approve the version that is shown, or request changes', body: reviewShape.decisionRequest, answer: [201, reviewShape.decision], errors: [...SITE_CHANGE_ERRORS, 'VERSION_CONFLICT'], access: forSite('manage') },
  reportPlacements: { ...FOR_REVIEWERS, summary: 'Report which threads the pages of a version have a place for', body: reviewShape.placementsRequest, answer: [200, reviewShape.placementsResponse] },
  waitForReview: { ...FOR_REVIEWERS, charge: 'handler', summary: 'Wait up to 25 seconds until the review has changed', details: 'With a key or a session it counts as a message to /mcp, of which 20 are allowed for each request of the hourly limit.', query: reviewShape.changesQuery, answer: [200, reviewShape.reviewRevision], access: forSite('read') },
} as const)

/** Every operation, by its id; protocol/api/paths.ts has their methods and paths. */
// biome-ignore format: a table reads best a row a line
export const OPERATIONS = {
  requestCode: { tag: 'Sign-in', summary: 'Send a sign-in code by email', details: 'The code is valid for 10 minutes. An address without an account gets one where accounts are open.', body: accountShape.requestCodeRequest, answer: [200, accountShape.requestCodeResponse], charge: 'sign-in', access: 'public' },
  verifyCode: { tag: 'Sign-in', summary: 'Exchange a code for an API key, which replaces the earlier key; with keyName, only the key of the same name', details: 'The response shows the key once.', body: accountShape.verifyKeyRequest, answer: [200, accountShape.verifyCodeResponse], errors: ['INVALID_CODE', 'SIGN_UP_CLOSED', 'KEY_LIMIT_REACHED'], charge: 'sign-in', access: 'public' },
  openSession: { tag: 'Sign-in', summary: 'Sign a browser in with a code; the API key stays valid', body: accountShape.verifyCodeRequest, answer: [200, accountShape.sessionResponse], errors: ['INVALID_CODE', 'SIGN_UP_CLOSED'], charge: 'sign-in', access: 'public' },
  closeSession: { tag: 'Sign-in', summary: 'Sign the browser out', answer: [200, accountShape.signedOutResponse], charge: 'sign-in', ends: 'dashboard', access: 'any', auth: 'optional' },
  getDeviceRequest: { tag: 'Sign-in', summary: 'Get what the program asks for that shows this code', body: deviceShape.deviceRequestQuestion, answer: [200, deviceShape.deviceRequest], errors: ['INVALID_CODE'], access: FOR_CREDENTIALS },
  decideDeviceRequest: { tag: 'Sign-in', summary: 'Give the program that shows this code a key, or refuse it', details: 'A decision is final.', body: deviceShape.deviceDecisionRequest, answer: [200, deviceShape.deviceDecision], errors: ['INVALID_CODE', 'KEY_LIMIT_REACHED'], access: FOR_CREDENTIALS },
  getAccount: { tag: 'Sign-in', summary: 'Get the account, its limits and its usage', answer: [200, accountShape.meResponse], access: 'any' },
  updateAccount: { tag: 'Sign-in', summary: 'Turn emails about events on or off', body: accountShape.meChange, answer: [200, accountShape.meChangeResponse], access: forAccount('manage') },
  deleteAccount: { tag: 'Sign-in', summary: 'Delete the account with all its sites and domains permanently', details: 'It cannot be undone.', body: accountShape.deleteAccountRequest, answer: [200, accountShape.deleteAccountResponse], errors: ['LAST_ADMINISTRATOR', 'ACCOUNT_SUSPENDED'], access: FOR_CREDENTIALS },
  listSessions: { tag: 'Sign-in', summary: 'List the signed-in browsers, newest first', answer: [200, accountShape.sessionList], access: forAccount('manage') },
  endOtherSessions: { tag: 'Sign-in', summary: 'Sign out every other browser', answer: [200, accountShape.sessionsEndedResponse], access: forAccount('manage') },
  endSession: { tag: 'Sign-in', summary: 'Sign one browser out', answer: [200, accountShape.sessionsEndedResponse], access: forAccount('manage') },
  renewKey: { tag: 'Sign-in', summary: 'Create an API key, which replaces the earlier one', details: 'The response shows the key once; the earlier key stops working immediately.', answer: [200, accountShape.newKeyResponse], access: FOR_CREDENTIALS },
  listKeys: { tag: 'Sign-in', summary: 'List the named API keys, newest first', answer: [200, keyShape.keyList], access: forAccount('manage') },
  createKey: { tag: 'Sign-in', summary: 'Create a named API key with a scope, optionally limited to sites and a lifetime; the response shows it once', body: keyShape.createKeyRequest, answer: [201, keyShape.createdKey], errors: ['NAME_TAKEN', 'KEY_LIMIT_REACHED', 'SIGN_IN_AGAIN', 'NOT_FOUND', 'SITE_EXPIRED'], access: FOR_CREDENTIALS },
  revokeKey: { tag: 'Sign-in', summary: 'Revoke a named API key', details: 'The key stops working immediately.', answer: [200, keyShape.keyRevokedResponse], access: forAccount('manage') },
  exchangeIdToken: { tag: 'Sign-in', summary: 'Exchange the OpenID Connect token of a CI job for a key of one hour, once', details: 'An exchange counts as one request of the account, a refused one towards the limit of sign-ins of the network.', body: trustShape.exchangeRequest, answer: [200, trustShape.exchangeResponse], errors: ['INVALID_ID_TOKEN', 'NOT_TRUSTED', 'KEY_LIMIT_REACHED', 'ACCOUNT_SUSPENDED', ...NAMED_SITE_ERRORS], charge: 'handler', access: 'public' },
  listTrusts: { tag: 'Sign-in', summary: 'List the repositories whose CI jobs get keys, newest first', answer: [200, trustShape.trustList], access: forAccount('manage') },
  createTrust: { tag: 'Sign-in', summary: 'Let CI jobs of a repository get keys of a site', body: trustShape.createTrustRequest, answer: [201, trustShape.trust], errors: ['TRUST_LIMIT_REACHED', ...NAMED_SITE_ERRORS], access: FOR_CREDENTIALS },
  removeTrust: { tag: 'Sign-in', summary: 'Remove a trust and end its keys', answer: [200, trustShape.trustRemovedResponse], access: forAccount('manage') },
  endKey: { tag: 'Sign-in', summary: 'Revoke the API key of the request', answer: [200, accountShape.keyEndedResponse], ends: 'key', access: 'any' },
  getAuthorization: { tag: 'Sign-in', summary: 'Get what a program asks for, in the browser in which it asks', answer: [200, programShape.authorizationRequest], access: forAccount('manage') },
  decideAuthorization: { tag: 'Sign-in', summary: 'Give a program access to the account, or refuse it', details: 'A decision is final. The browser continues at the URL of the response.', body: programShape.authorizationDecision, answer: [200, programShape.authorizationResult], errors: ['ALREADY_DECIDED'], access: FOR_CREDENTIALS },
  listPrograms: { tag: 'Sign-in', summary: 'List the programs with access to the account, newest first', answer: [200, programShape.programList], access: forAccount('manage') },
  revokeProgram: { tag: 'Sign-in', summary: 'End the access of a program', answer: [200, programShape.programRevokedResponse], access: forAccount('manage') },
  getLimits: { tag: 'Publish', summary: 'Get the limits on the files of a site', details: 'Of an existing site they are those of its owner, of a new one those of the caller. It counts as a message to /mcp, of which 20 are allowed for each request of the hourly limit.', query: publishShape.limitsQuery, answer: [200, publishShape.fileLimits], charge: 'handler', access: 'any', auth: 'optional' },
  createSite: { tag: 'Publish', summary: 'Create a site from a manifest, from contents or from an archive', details: 'A manifest gets URLs to which the files are uploaded, and nothing is live until finalizeVersion; contents and archives are live with the response. Without a key, the site expires unless it is claimed. With name and update, the first publish creates the site and each further one updates it, with status 200.', body: publishShape.publishRequest, query: publishShape.archiveQuery, answer: [201, publishShape.createResponse], errors: CREATE_ERRORS, archives: true, access: FOR_CREATING, auth: 'optional' },
  updateSite: { tag: 'Publish', summary: 'Publish a new version; files of the live version need no upload', details: 'A manifest gets URLs to which the files are uploaded, and the site stays as it is until finalizeVersion; contents and archives are live with the response.', body: publishShape.publishRequest, query: publishShape.archiveQuery, headers: publishShape.claimTokenHeader, answer: [200, publishShape.updateResponse], errors: UPDATE_ERRORS, archives: true, access: FOR_PUBLISHING, auth: 'optional' },
  uploadSite: { tag: 'Publish', summary: 'Create a site from an archive or a page of any type; the URL may end with a file name', details: 'The site is live with the response: its URL as text, or JSON when Accept has application/json. Without a key, it expires unless it is claimed.', query: publishShape.archiveQuery, answer: [201, publishShape.publishedSite], errors: CREATE_ERRORS, archives: true, bytes: '*/*', access: FOR_CREATING, auth: 'optional' },
  uploadVersion: { tag: 'Publish', summary: 'Publish a new version from an archive or a page of any type', details: 'The version is live with the response: the URL of the site as text, or JSON when Accept has application/json.', query: publishShape.archiveQuery, headers: publishShape.claimTokenHeader, answer: [200, publishShape.publishedVersion], errors: UPDATE_ERRORS, archives: true, bytes: '*/*', access: FOR_PUBLISHING, auth: 'optional' },
  uploadBundle: { tag: 'Publish', summary: 'Upload several files in one tar', details: 'The signed URL, from the response of a publish, is the credential.', query: publishShape.bundleQuery, answer: [200, publishShape.bundleReceipt], errors: ['INVALID_UPLOAD_TOKEN', 'CONTENT_TYPE_MISMATCH', 'HASH_MISMATCH', 'UPLOAD_EXPIRED', 'SITE_EXPIRED'], charge: 'none', access: 'public', foreignPages: true, bytes: 'application/x-tar' },
  uploadFile: { tag: 'Publish', summary: 'Upload one file to its signed URL', details: 'The signed URL, from the response of a publish, is the credential. The Content-Type is that of the file in the manifest; a range such as */* states none.', query: publishShape.uploadQuery, answer: [200, publishShape.uploadReceipt], errors: ['INVALID_UPLOAD_TOKEN', 'CONTENT_TYPE_MISMATCH', 'HASH_MISMATCH', 'UPLOAD_EXPIRED', 'SITE_EXPIRED'], charge: 'none', access: 'public', foreignPages: true, bytes: '*/*' },
  refreshUploads: { tag: 'Publish', summary: 'Get new upload URLs for the missing files', body: publishShape.refreshRequest, headers: publishShape.claimTokenHeader, answer: [200, publishShape.refreshResponse], errors: ['UPLOAD_EXPIRED'], access: FOR_PUBLISHING, auth: 'optional' },
  finalizeVersion: { tag: 'Publish', summary: 'Make an uploaded version live, or keep it as a draft', details: 'All files change together. The first finalize of a version is not counted; one that changes nothing counts as one request.', body: publishShape.finalizeRequest, headers: publishShape.claimTokenHeader, answer: [200, publishShape.finalizeResponse], errors: [...FINALIZE_ERRORS, 'UPLOADS_MISSING'], charge: 'handler', access: FOR_PUBLISHING, auth: 'optional' },
  listSites: { tag: 'Sites', summary: 'List your sites and those that are shared with you, newest first, or the trash', query: siteShape.listQuery, answer: [200, siteShape.siteList], access: forAccount('read') },
  getSite: { tag: 'Sites', summary: 'Get the details of a site', answer: [200, siteShape.siteDetails], access: forSite('read') },
  updateMetadata: { tag: 'Sites', summary: 'Change the title, password and other settings of a site', body: siteShape.metadataRequest, answer: [200, siteShape.siteDetails], errors: ['OWNER_REQUIRED'], access: forSite('manage') },
  getVisits: { tag: 'Sites', summary: 'Get the visits of a site, with the most requested paths', query: visitShape.visitsQuery, answer: [200, visitShape.visitsResponse], access: forSite('read') },
  renameSite: { tag: 'Sites', summary: 'Rename a site; the former name redirects for 30 days', body: siteShape.renameRequest, answer: [200, siteShape.renameResponse], errors: ['NAME_TAKEN', 'OWNER_REQUIRED'], access: forSite('manage') },
  checkName: { tag: 'Sites', summary: 'Check whether a name is available', details: 'Without a key it counts towards a limit of its own, of 60 checks an hour for a network.', answer: [200, siteShape.nameCheck], charge: 'name', access: forAccount('read'), auth: 'optional' },
  duplicateSite: { tag: 'Sites', summary: 'Copy a site to a new site, which is live immediately', answer: [201, siteShape.duplicateResponse], errors: ['SITE_PENDING', 'QUOTA_EXCEEDED', 'CONTENT_REFUSED'], access: forAccount('publish') },
  deleteSite: { tag: 'Sites', summary: 'Delete a site; one of an account can be restored for 30 days by default', details: 'A site without an owner, and one that is deleted with permanent, cannot be restored. It counts as one request, except with the claim token.', body: siteShape.deleteRequest, query: siteShape.deleteQuery, headers: publishShape.claimTokenHeader, answer: [200, siteShape.deleteResponse], errors: ['OWNER_REQUIRED'], charge: 'handler', access: forSite('manage'), auth: 'optional' },
  undeleteSite: { tag: 'Sites', summary: 'Restore a deleted site from the trash', answer: [200, siteShape.undeleteResponse], errors: ['OWNER_REQUIRED'], access: forSite('manage') },
  listCollaborators: { tag: 'Sites', summary: 'List the collaborators of a site', answer: [200, collaboratorShape.collaboratorList], access: forSite('manage') },
  addCollaborator: { tag: 'Sites', summary: 'Let an account publish to a site, and notify it by email', body: collaboratorShape.collaboratorRequest, answer: [201, collaboratorShape.collaborator], errors: ['COLLABORATOR_LIMIT_REACHED', 'OWNER_REQUIRED'], access: FOR_CREDENTIALS },
  removeCollaborator: { tag: 'Sites', summary: 'Remove a collaborator from a site, or leave it', body: collaboratorShape.collaboratorRequest, answer: [200, collaboratorShape.removeCollaboratorResponse], errors: ['OWNER_REQUIRED'], access: forSite('manage') },
  claimSite: { tag: 'Sites', summary: 'Claim an anonymous site', details: 'The site no longer expires. With a name that it cannot have, it stays unclaimed.', body: siteShape.claimRequest, answer: [200, siteShape.claimResponse], errors: ['INVALID_CLAIM_TOKEN', 'ALREADY_CLAIMED', 'NAME_TAKEN', 'QUOTA_EXCEEDED'], access: forAccount('publish') },
  previewClaim: { tag: 'Sites', summary: 'Get the site of a claim link', body: siteShape.claimPreviewRequest, answer: [200, siteShape.claimPreview], errors: ['INVALID_CLAIM_TOKEN', 'SITE_EXPIRED'], charge: 'sign-in', access: 'public' },
  listVersions: { tag: 'Versions', summary: 'List the kept versions, newest first', answer: [200, versionShape.versionList], access: forSite('read') },
  getVersion: { tag: 'Versions', summary: 'Get a version with its files and changes', answer: [200, versionShape.versionDetails], errors: ['SITE_PENDING'], access: forSite('read') },
  restoreVersion: { tag: 'Versions', summary: 'Make a kept version live again', details: 'Nothing is uploaded; all files change together. The versionId `previous` is the version that the live one replaced; repeated, it goes further back. Send the live version as `baseVersionId` with it: a repetition after a lost response is then refused.', query: versionShape.restoreQuery, answer: [200, publishShape.finalizeResponse], errors: ['UPLOADS_MISSING', 'VERSION_CONFLICT', 'APPROVAL_REQUIRED'], access: forSite('publish') },
  deleteVersion: { tag: 'Versions', summary: 'Delete a version permanently', details: 'It cannot be undone. For one that is not finalized, the scope that publishes it suffices.', answer: [200, versionShape.deleteVersionResponse], errors: ['VERSION_LIVE'], access: { ...forSite('manage'), previews: true } },
  createPreviewLink: { tag: 'Versions', summary: 'Create a URL that shows the site without its password for 10 minutes', query: versionShape.versionQuery, answer: [200, versionShape.previewLink], errors: ['SITE_PENDING'], access: forSite('read') },
  putThumbnail: { tag: 'Versions', summary: 'Store the thumbnail of a version: WebP of at most 20,000 bytes', details: 'Pictures count as one request when they are refused or replace another.', headers: publishShape.claimTokenHeader, answer: [200, versionShape.thumbnailResponse], errors: ['SITE_PENDING', 'CONTENT_REFUSED'], charge: 'handler', bytes: 'image/webp', bodyLimit: MAX_THUMBNAIL_BYTES, access: forSite('publish'), auth: 'optional' },
  getThumbnail: { tag: 'Versions', summary: 'Get the thumbnail of a version', query: versionShape.thumbnailQuery, answer: [200, 'bytes'], charge: 'none', access: forSite('read'), auth: 'optional' },
  downloadFile: { tag: 'Versions', summary: 'Download one file', query: versionShape.versionQuery, answer: [200, 'bytes'], errors: ['SITE_PENDING'], access: forSite('read') },
  downloadArchive: { tag: 'Versions', summary: 'Download a version as tar.gz or zip', query: versionShape.downloadQuery, answer: [200, 'bytes'], errors: ['SITE_PENDING'], access: forSite('read') },
  listPreviews: { tag: 'Previews', summary: 'List the previews of a site, the last changed one first', answer: [200, previewShape.previewList], access: forSite('read') },
  getPreview: { tag: 'Previews', summary: 'Get a preview', answer: [200, previewShape.preview], access: forSite('read') },
  promotePreview: { tag: 'Previews', summary: 'Make the version of a preview live', details: 'All files of the site change together.', query: previewShape.promoteQuery, answer: [200, publishShape.finalizeResponse], errors: ['VERSION_CONFLICT', 'APPROVAL_REQUIRED'], access: forSite('publish') },
  deletePreview: { tag: 'Previews', summary: 'Delete a preview', details: 'Its URL ends; the site stays as it is.', answer: [200, previewShape.deletePreviewResponse], access: forSite('preview') },
  openReview: { ...FOR_REVIEWERS, summary: 'Get the review of a link', answer: [200, reviewShape.review], errors: [...SITE_CHANGE_ERRORS, 'NOT_FOUND', 'INSUFFICIENT_SCOPE'], access: 'any' },
  ...REVIEWS,
  listDomains: { tag: 'Domains', summary: 'List your domains', answer: [200, domainShape.domainList], access: forAccount('read') },
  addDomain: { tag: 'Domains', summary: 'Add a domain to a site', details: 'The response has the DNS records to enter.', body: domainShape.domainRequest, answer: [201, domainShape.domainResponse], errors: ['DOMAIN_TAKEN', 'DOMAINS_UNAVAILABLE', 'DOMAIN_LIMIT_REACHED', 'OWNER_REQUIRED', ...NAMED_SITE_ERRORS], access: forAccount('manage') },
  checkDomain: { tag: 'Domains', summary: 'Check the DNS records of a domain now', answer: [200, domainShape.domainResponse], access: forAccount('read') },
  followDomain: { tag: 'Domains', summary: 'Follow a domain: get its record now and after each change', answer: [200, 'events'], access: forAccount('read') },
  removeDomain: { tag: 'Domains', summary: 'Remove a domain', details: 'The site stays at its own URL.', answer: [200, domainShape.deleteDomainResponse], access: forAccount('manage') },
  reportPage: { tag: 'Reports', summary: 'Report a page of a site to the operator of the service', details: 'Reports have an hourly limit of their own.', body: reportShape.reportRequest, answer: [202, reportShape.reportReceived], errors: ['RATE_LIMITED'], charge: 'none', access: 'public' },
  getOverview: { tag: 'Administration', summary: 'Get the totals of the service, its disk, its cache and the number of problems', answer: [200, overviewShape.overview], access: 'admin' },
  getActivity: { tag: 'Administration', summary: 'Get visits, bytes, errors, publishes and times of the database over time', query: overviewShape.activityQuery, answer: [200, overviewShape.activity], access: 'admin' },
  listAllSites: { tag: 'Administration', summary: 'List the sites of all accounts, and anonymous ones', query: listShape.listQuery, answer: [200, listShape.sitePage], access: 'admin' },
  listAccounts: { tag: 'Administration', summary: 'List the accounts', query: listShape.listQuery, answer: [200, listShape.accountPage], access: 'admin' },
  listAllDomains: { tag: 'Administration', summary: 'List the domains of all accounts', query: listShape.listQuery, answer: [200, listShape.domainPage], access: 'admin' },
  listCertificates: { tag: 'Administration', summary: 'List the certificates with their expiry and problems', query: listShape.certificateQuery, answer: [200, listShape.certificatePage], access: 'admin' },
  listSweeps: { tag: 'Administration', summary: 'List the background tasks, which are called sweeps, with their last runs and failures', answer: [200, listShape.sweepList], access: 'admin' },
  listNodes: { tag: 'Administration', summary: 'List the nodes of a fleet', answer: [200, listShape.nodeList], access: 'admin' },
  getPolicies: { tag: 'Administration', summary: 'Get the plans, who can create an account, and the limits of sites without an account', answer: [200, policyShape.policies], access: 'admin' },
  listAuditEntries: { tag: 'Administration', summary: 'List the changes that administrators made', query: auditShape.auditQuery, answer: [200, auditShape.auditPage], access: 'admin' },
  setPlan: { tag: 'Administration', summary: 'Set the plan of an account, and exceptions from its limits', body: accountShape.planChange, answer: [200, accountShape.accountPlan], access: 'admin' },
  setAdministrator: { tag: 'Administration', summary: 'Let an account administer the service, or no longer', body: auditShape.administratorChange, answer: [200, auditShape.administratorChange], errors: ['LAST_ADMINISTRATOR'], access: 'admin' },
  listInvitations: { tag: 'Administration', summary: 'List the addresses that are invited to create an account', query: invitationShape.invitationQuery, answer: [200, invitationShape.invitationPage], access: 'admin' },
  invite: { tag: 'Administration', summary: 'Invite an address to create an account, for 14 days', body: invitationShape.invitationRequest, answer: [201, invitationShape.invitation], access: 'admin' },
  revokeInvitation: { tag: 'Administration', summary: 'End an invitation', answer: [200, invitationShape.revokedInvitation], access: 'admin' },
  getBanner: { tag: 'Administration', summary: 'Get the message to all users, also before and after it is shown', answer: [200, bannerShape.bannerResponse], access: 'admin' },
  setBanner: { tag: 'Administration', summary: 'Show a message in the dashboard and on the command line', body: bannerShape.bannerRequest, answer: [200, bannerShape.bannerResponse], access: 'admin' },
  clearBanner: { tag: 'Administration', summary: 'End the message to all users', answer: [200, bannerShape.bannerResponse], access: 'admin' },
  getModeratedSite: { tag: 'Administration', summary: 'Get a site with its owner, domains, suspension and number of reports', answer: [200, moderationShape.moderatedSite], access: 'admin' },
  suspendSite: { tag: 'Administration', summary: 'Take a site offline: visitors get 451, and its owner cannot publish', body: moderationShape.suspensionRequest, answer: [200, moderationShape.siteModerated], access: 'admin' },
  resumeSite: { tag: 'Administration', summary: 'End the suspension of a site', answer: [200, moderationShape.siteModerated], access: 'admin' },
  removeSite: { tag: 'Administration', summary: 'Delete a site permanently, also from the trash', details: 'It cannot be undone.', body: moderationShape.moderationReason, answer: [200, moderationShape.siteModerated], access: 'admin' },
  suspendAccount: { tag: 'Administration', summary: 'Take all sites of an account offline, present and future ones', body: moderationShape.suspensionRequest, answer: [200, moderationShape.accountModerated], access: 'admin' },
  resumeAccount: { tag: 'Administration', summary: 'End the suspension of an account', answer: [200, moderationShape.accountModerated], access: 'admin' },
  removeAccount: { tag: 'Administration', summary: 'Delete an account with all its sites permanently', details: 'It cannot be undone.', body: moderationShape.moderationReason, answer: [200, moderationShape.accountModerated], errors: ['LAST_ADMINISTRATOR'], access: 'admin' },
  releaseDomain: { tag: 'Administration', summary: 'Remove an active domain from its site, or end the reservation of a removed one', body: moderationShape.moderationReason, answer: [200, moderationShape.domainReleased], access: 'admin' },
  listBlocks: { tag: 'Administration', summary: 'List the blocked networks and files', answer: [200, moderationShape.blockList], access: 'admin' },
  addBlock: { tag: 'Administration', summary: 'Block a network of callers, or a file wherever it is published', body: moderationShape.blockRequest, answer: [201, moderationShape.block], access: 'admin' },
  removeBlock: { tag: 'Administration', summary: 'End a block', body: moderationShape.blockTarget, answer: [200, moderationShape.blockTarget], access: 'admin' },
  listReports: { tag: 'Administration', summary: 'List the sites that visitors have reported', query: moderationShape.reportQuery, answer: [200, moderationShape.reportPage], access: 'admin' },
  decideReports: { tag: 'Administration', summary: 'Dismiss the reports of a site, or open them again', body: moderationShape.reportDecision, answer: [200, moderationShape.siteModerated], access: 'admin' },
} as const satisfies Record<OperationId, Operation>

type Operations = typeof OPERATIONS
type TypeOf<S> = S extends (maxFiles: number) => Schema<infer T> ? T : S extends Schema<infer T> ? T : never

/** The body or query of a request as its schema has it. */
export type Value<Id extends OperationId, Part extends 'body' | 'query'> =
  Operations[Id] extends Record<Part, infer S> ? TypeOf<S> : undefined

export type Body<Id extends OperationId> = Value<Id, 'body'>

export type Query<Id extends OperationId> = Value<Id, 'query'>

/** The parameters of the path. */
export type Parameters<Id extends OperationId> = Record<ParameterOf<Path<Id>>, string>

/** The body of a response with success; never for bytes and events. */
export type Answer<Id extends OperationId> = TypeOf<Operations[Id]['answer'][1]>
