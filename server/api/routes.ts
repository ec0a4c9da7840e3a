import * as accountShape from '../../protocol/api/account.schema.ts'
import * as collaboratorShape from '../../protocol/api/collaborators.schema.ts'
import * as deviceShape from '../../protocol/api/device.schema.ts'
import * as domainShape from '../../protocol/api/domains.schema.ts'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import * as keyShape from '../../protocol/api/keys.schema.ts'
import type { KeyScope } from '../../protocol/api/keys.ts'
import * as previewShape from '../../protocol/api/previews.schema.ts'
import * as programShape from '../../protocol/api/programs.schema.ts'
import * as publishShape from '../../protocol/api/publish.schema.ts'
import * as reportShape from '../../protocol/api/reports.schema.ts'
import * as siteShape from '../../protocol/api/sites.schema.ts'
import { MAX_THUMBNAIL_BYTES } from '../../protocol/api/sites.ts'
import * as trustShape from '../../protocol/api/trusts.schema.ts'
import * as versionShape from '../../protocol/api/versions.schema.ts'
import * as visitShape from '../../protocol/api/visits.schema.ts'
import { UPLOAD_PATH } from '../publish/signed-uploads.ts'
import { adminRoutes } from './admin/routes.ts'
import type { RouteAccess } from './auth.ts'
import * as collaborators from './collaborators.ts'
import * as device from './device.ts'
import { DIRECT_UPLOAD_PATH, uploadDirectly } from './direct-upload.ts'
import { domainEvents } from './domain-events.ts'
import * as domains from './domains.ts'
import * as keys from './keys.ts'
import * as me from './me.ts'
import * as previews from './previews.ts'
import * as programs from './programs.ts'
import * as publish from './publish.ts'
import * as reports from './reports.ts'
import type { Route } from './route.ts'
import type { ApiServices } from './services.ts'
import * as signIn from './sign-in.ts'
import * as sites from './sites.ts'
import * as trusts from './trusts.ts'
import * as uploads from './uploads.ts'
import * as versions from './versions.ts'
import * as visits from './visits.ts'

const SITE = '/api/v1/publish/:slug'

/** Gives access that outlives a key, or deletes everything: not for a key that expires or is limited to sites. */
const FOR_CREDENTIALS: RouteAccess = { scope: 'manage', reach: 'credentials' }

/** A version of a site; a key of scope `preview` suffices for one with the name of a preview, which the service checks. */
const FOR_PUBLISHING: RouteAccess = { scope: 'publish', reach: 'site', previews: true }

/** For keys of this scope; also for one that is limited to the site of the path. */
function forSite(scope: KeyScope): RouteAccess {
  return { scope, reach: 'site' }
}

/** For keys of this scope that are not limited to sites. */
function forAccount(scope: KeyScope): RouteAccess {
  return { scope, reach: 'account' }
}

/** Those of a publish, from its manifest until it is live. */
const PUBLISH_ERRORS: readonly ErrorCode[] = [
  'SITE_SUSPENDED',
  'NAME_TAKEN',
  'VERSION_CONFLICT',
  'SITE_PENDING',
  'SITE_EXPIRED',
  'QUOTA_EXCEEDED',
  'PAYLOAD_TOO_LARGE',
  'PREVIEW_LIMIT_REACHED',
  'CONTENT_REFUSED',
  'SCAN_UNAVAILABLE',
]

/** Every route of the API (spec 4, contract). */
export function routes(services: ApiServices): Route[] {
  return [
    ...signInRoutes(services),
    ...publishRoutes(services),
    ...siteRoutes(services),
    ...versionRoutes(services),
    ...previewRoutes(services),
    ...domainRoutes(services),
    ...reportRoutes(services),
    ...adminRoutes(services),
  ]
}

// biome-ignore format: a table reads best a route a line
function signInRoutes(services: ApiServices): Route[] {
  const tag = 'Sign-in'
  return [
    { id: 'requestCode', method: 'POST', url: '/api/auth/agent/request-code', tag, summary: 'Send a sign-in code by email', details: 'The code is valid for 10 minutes. An address without an account gets one where accounts are open.', body: accountShape.requestCodeRequest, answer: [200, accountShape.requestCodeResponse], errors: ['SIGN_UP_CLOSED'], charge: 'sign-in', access: 'public', handle: signIn.requestCode(services) },
    { id: 'verifyCode', method: 'POST', url: '/api/auth/agent/verify-code', tag, summary: 'Exchange a code for an API key, which replaces the earlier key; with keyName, only the key of the same name', details: 'The response shows the key once.', body: accountShape.verifyKeyRequest, answer: [200, accountShape.verifyCodeResponse], errors: ['INVALID_CODE', 'SIGN_UP_CLOSED', 'KEY_LIMIT_REACHED'], charge: 'sign-in', access: 'public', handle: signIn.verifyCode(services) },
    { id: 'openSession', method: 'POST', url: '/api/auth/session', tag, summary: 'Sign a browser in with a code; the API key stays valid', body: accountShape.verifyCodeRequest, answer: [200, accountShape.sessionResponse], errors: ['INVALID_CODE', 'SIGN_UP_CLOSED'], charge: 'sign-in', access: 'public', handle: signIn.openSession(services) },
    { id: 'closeSession', method: 'DELETE', url: '/api/auth/session', tag, summary: 'Sign the browser out', answer: [200, accountShape.signedOutResponse], charge: 'sign-in', ends: 'dashboard', access: 'any', auth: 'optional', handle: signIn.closeSession(services) },
    { id: 'getDeviceRequest', method: 'POST', url: '/api/v1/me/device', tag, summary: 'Get what the program asks for that shows this code', body: deviceShape.deviceRequestQuestion, answer: [200, deviceShape.deviceRequest], errors: ['INVALID_CODE'], access: FOR_CREDENTIALS, handle: device.describe(services) },
    { id: 'decideDeviceRequest', method: 'POST', url: '/api/v1/me/device/decision', tag, summary: 'Give the program that shows this code a key, or refuse it', details: 'A decision is final.', body: deviceShape.deviceDecisionRequest, answer: [200, deviceShape.deviceDecision], errors: ['INVALID_CODE'], access: FOR_CREDENTIALS, handle: device.decide(services) },
    { id: 'getAccount', method: 'GET', url: '/api/v1/me', tag, summary: 'Get the account, its limits and its usage', answer: [200, accountShape.meResponse], access: 'any', handle: me.show(services) },
    { id: 'updateAccount', method: 'PATCH', url: '/api/v1/me', tag, summary: 'Turn emails about events on or off', body: accountShape.meChange, answer: [200, accountShape.meChangeResponse], access: forAccount('manage'), handle: me.update(services) },
    { id: 'deleteAccount', method: 'DELETE', url: '/api/v1/me', tag, summary: 'Delete the account with all its sites and domains permanently', details: 'It cannot be undone.', body: accountShape.deleteAccountRequest, answer: [200, accountShape.deleteAccountResponse], errors: ['LAST_ADMINISTRATOR', 'ACCOUNT_SUSPENDED'], access: FOR_CREDENTIALS, handle: me.deleteAccount(services) },
    { id: 'listSessions', method: 'GET', url: '/api/v1/me/sessions', tag, summary: 'List the signed-in browsers, newest first', answer: [200, accountShape.sessionList], access: forAccount('manage'), handle: me.sessions(services) },
    { id: 'endOtherSessions', method: 'DELETE', url: '/api/v1/me/sessions', tag, summary: 'Sign out every other browser', answer: [200, accountShape.sessionsEndedResponse], access: forAccount('manage'), handle: me.endOtherSessions(services) },
    { id: 'endSession', method: 'DELETE', url: '/api/v1/me/sessions/:id', tag, summary: 'Sign one browser out', answer: [200, accountShape.sessionsEndedResponse], access: forAccount('manage'), handle: me.endSession(services) },
    { id: 'renewKey', method: 'POST', url: '/api/v1/me/key', tag, summary: 'Create an API key, which replaces the earlier one', details: 'The response shows the key once; the earlier key stops working immediately.', answer: [200, accountShape.newKeyResponse], access: FOR_CREDENTIALS, handle: me.renewKey(services) },
    { id: 'listKeys', method: 'GET', url: '/api/v1/me/keys', tag, summary: 'List the named API keys, newest first', answer: [200, keyShape.keyList], access: forAccount('manage'), handle: keys.list(services) },
    { id: 'createKey', method: 'POST', url: '/api/v1/me/keys', tag, summary: 'Create a named API key with a scope, optionally limited to sites and a lifetime; the response shows it once', body: keyShape.createKeyRequest, answer: [201, keyShape.createdKey], errors: ['NAME_TAKEN', 'KEY_LIMIT_REACHED', 'SIGN_IN_AGAIN', 'NOT_FOUND', 'OWNER_REQUIRED', 'SITE_SUSPENDED', 'SITE_EXPIRED'], access: FOR_CREDENTIALS, handle: keys.create(services) },
    { id: 'revokeKey', method: 'DELETE', url: '/api/v1/me/keys/:id', tag, summary: 'Revoke a named API key', details: 'The key stops working immediately.', answer: [200, keyShape.keyRevokedResponse], access: forAccount('manage'), handle: keys.revoke(services) },
    { id: 'exchangeIdToken', method: 'POST', url: '/api/auth/oidc/exchange', tag, summary: 'Exchange the OpenID Connect token of a CI job for a key of 15 minutes, once', details: 'An exchange counts as one request of the account, a refused one towards the limit of sign-ins of the network.', body: trustShape.exchangeRequest, answer: [200, trustShape.exchangeResponse], errors: ['INVALID_ID_TOKEN', 'NOT_TRUSTED', 'NOT_FOUND'], charge: 'handler', access: 'public', handle: trusts.exchange(services) },
    { id: 'listTrusts', method: 'GET', url: '/api/v1/me/trusts', tag, summary: 'List the repositories whose CI jobs get keys, newest first', answer: [200, trustShape.trustList], access: forAccount('manage'), handle: trusts.list(services) },
    { id: 'createTrust', method: 'POST', url: '/api/v1/me/trusts', tag, summary: 'Let CI jobs of a repository get keys of a site', body: trustShape.createTrustRequest, answer: [201, trustShape.trust], errors: ['TRUST_LIMIT_REACHED', 'NOT_FOUND', 'OWNER_REQUIRED', 'SITE_SUSPENDED', 'SITE_EXPIRED'], access: FOR_CREDENTIALS, handle: trusts.create(services) },
    { id: 'removeTrust', method: 'DELETE', url: '/api/v1/me/trusts/:id', tag, summary: 'Remove a trust and end its keys', answer: [200, trustShape.trustRemovedResponse], access: forAccount('manage'), handle: trusts.remove(services) },
    { id: 'endKey', method: 'DELETE', url: '/api/v1/me/key', tag, summary: 'Revoke the API key of the request', answer: [200, accountShape.keyEndedResponse], ends: 'key', access: 'any', handle: me.endKey(services) },
    { id: 'getAuthorization', method: 'GET', url: '/api/v1/authorizations/:id', tag, summary: 'Get what a program asks for, in the browser in which it asks', answer: [200, programShape.authorizationRequest], access: forAccount('manage'), handle: programs.describe(services) },
    { id: 'decideAuthorization', method: 'POST', url: '/api/v1/authorizations/:id', tag, summary: 'Give a program access to the account, or refuse it', details: 'A decision is final. The browser continues at the URL of the response.', body: programShape.authorizationDecision, answer: [200, programShape.authorizationResult], errors: ['ALREADY_DECIDED'], access: FOR_CREDENTIALS, handle: programs.decide(services) },
    { id: 'listPrograms', method: 'GET', url: '/api/v1/me/programs', tag, summary: 'List the programs with access to the account, newest first', answer: [200, programShape.programList], access: forAccount('manage'), handle: programs.list(services) },
    { id: 'revokeProgram', method: 'DELETE', url: '/api/v1/me/programs/:id', tag, summary: 'End the access of a program', answer: [200, programShape.programRevokedResponse], access: forAccount('manage'), handle: programs.revoke(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function publishRoutes(services: ApiServices): Route[] {
  const publishRequest = publishShape.publishRequest(services.pendingVersions.maxFiles)
  const tag = 'Publish'
  return [
    { id: 'getLimits', method: 'GET', url: '/api/v1/limits', tag, summary: 'Get the limits of the caller on the files of a site', details: 'It counts as a message to /mcp, of which 20 are allowed for each request of the hourly limit.', answer: [200, publishShape.fileLimits], charge: 'handler', access: 'any', auth: 'optional', handle: publish.showLimits(services) },
    { id: 'createSite', method: 'POST', url: '/api/v1/publish', tag, summary: 'Create a site from a manifest, from contents or from an archive', details: 'A manifest gets URLs to which the files are uploaded, and nothing is live until finalizeVersion; contents and archives are live with the response. Without a key, the site expires unless it is claimed.', body: publishRequest, query: publishShape.archiveQuery, answer: [201, publishShape.createResponse], errors: PUBLISH_ERRORS, archives: true, access: forAccount('publish'), auth: 'optional', handle: publish.create(services) },
    { id: 'updateSite', method: 'PUT', url: SITE, tag, summary: 'Publish a new version; files of the live version need no upload', details: 'A manifest gets URLs to which the files are uploaded, and the site stays as it is until finalizeVersion; contents and archives are live with the response.', body: publishRequest, query: publishShape.archiveQuery, headers: publishShape.claimTokenHeader, answer: [200, publishShape.updateResponse], errors: PUBLISH_ERRORS, archives: true, access: FOR_PUBLISHING, auth: 'optional', handle: publish.update(services) },
    { id: 'uploadSite', method: 'PUT', url: '/', tag, summary: 'Create a site from an archive or a page of any type; the URL may end with a file name', details: 'The site is live with the response: its URL as text, or JSON when Accept has application/json. Without a key, it expires unless it is claimed.', query: publishShape.archiveQuery, answer: [201, publishShape.publishedSite], errors: PUBLISH_ERRORS, archives: true, bytes: '*/*', access: forAccount('publish'), auth: 'optional', handle: uploadDirectly(services) },
    { id: 'uploadVersion', method: 'PUT', url: DIRECT_UPLOAD_PATH, tag, summary: 'Publish a new version from an archive or a page of any type', details: 'The version is live with the response: the URL of the site as text, or JSON when Accept has application/json.', query: publishShape.archiveQuery, headers: publishShape.claimTokenHeader, answer: [200, publishShape.publishedVersion], errors: PUBLISH_ERRORS, archives: true, bytes: '*/*', access: FOR_PUBLISHING, auth: 'optional', handle: uploadDirectly(services) },
    { id: 'uploadBundle', method: 'PUT', url: `${UPLOAD_PATH}:slug/:versionId`, tag, summary: 'Upload several files in one tar', details: 'The signed URL, from the response of a publish, is the credential.', query: publishShape.bundleQuery, answer: [200, publishShape.bundleReceipt], errors: ['INVALID_UPLOAD_TOKEN', 'CONTENT_TYPE_MISMATCH', 'HASH_MISMATCH', 'UPLOAD_EXPIRED', 'SITE_EXPIRED'], charge: 'none', access: 'public', foreignPages: true, bytes: 'application/x-tar', handle: uploads.receiveBundle(services) },
    { id: 'uploadFile', method: 'PUT', url: `${UPLOAD_PATH}*`, tag, summary: 'Upload one file to its signed URL', details: 'The signed URL, from the response of a publish, is the credential. The Content-Type is that of the file in the manifest; a range such as */* states none.', query: publishShape.uploadQuery, answer: [200, publishShape.uploadReceipt], errors: ['INVALID_UPLOAD_TOKEN', 'CONTENT_TYPE_MISMATCH', 'HASH_MISMATCH', 'UPLOAD_EXPIRED', 'SITE_EXPIRED'], charge: 'none', access: 'public', foreignPages: true, bytes: '*/*', handle: uploads.receive(services) },
    { id: 'refreshUploads', method: 'POST', url: `${SITE}/uploads/refresh`, tag, summary: 'Get new upload URLs for the missing files', body: publishShape.refreshRequest, headers: publishShape.claimTokenHeader, answer: [200, publishShape.refreshResponse], errors: ['UPLOAD_EXPIRED'], access: FOR_PUBLISHING, auth: 'optional', handle: publish.refresh(services) },
    { id: 'finalizeVersion', method: 'POST', url: `${SITE}/finalize`, tag, summary: 'Make an uploaded version live, or keep it as a draft', details: 'All files change together. The first finalize of a version is not counted; one that changes nothing counts as one request.', body: publishShape.finalizeRequest, headers: publishShape.claimTokenHeader, answer: [200, publishShape.finalizeResponse], errors: [...PUBLISH_ERRORS, 'UPLOADS_MISSING'], charge: 'handler', access: FOR_PUBLISHING, auth: 'optional', handle: publish.finalize(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function siteRoutes(services: ApiServices): Route[] {
  const tag = 'Sites'
  return [
    { id: 'listSites', method: 'GET', url: '/api/v1/publishes', tag, summary: 'List your sites and those that are shared with you, newest first, or the trash', query: siteShape.listQuery, answer: [200, siteShape.siteList], access: forAccount('read'), handle: sites.list(services) },
    { id: 'getSite', method: 'GET', url: SITE, tag, summary: 'Get the details of a site', answer: [200, siteShape.siteDetails], access: forSite('read'), handle: sites.details(services) },
    { id: 'updateMetadata', method: 'PATCH', url: `${SITE}/metadata`, tag, summary: 'Change the title, password and other settings of a site', body: siteShape.metadataRequest, answer: [200, siteShape.siteDetails], access: forSite('manage'), handle: sites.updateMetadata(services) },
    { id: 'getVisits', method: 'GET', url: `${SITE}/analytics`, tag, summary: 'Get the visits of a site, with the most requested paths', query: visitShape.visitsQuery, answer: [200, visitShape.visitsResponse], access: forSite('read'), handle: visits.show(services) },
    { id: 'renameSite', method: 'PATCH', url: `${SITE}/name`, tag, summary: 'Rename a site; the former name redirects for 30 days', body: siteShape.renameRequest, answer: [200, siteShape.renameResponse], errors: ['NAME_TAKEN'], access: forSite('manage'), handle: sites.rename(services) },
    { id: 'checkName', method: 'GET', url: '/api/v1/names/:name', tag, summary: 'Check whether a name is available', details: 'Without a key it counts towards a limit of its own, of 60 checks an hour for a network.', answer: [200, siteShape.nameCheck], charge: 'name', access: forAccount('read'), auth: 'optional', handle: sites.checkName(services) },
    { id: 'duplicateSite', method: 'POST', url: `${SITE}/duplicate`, tag, summary: 'Copy a site to a new site, which is live immediately', answer: [201, siteShape.duplicateResponse], errors: ['SITE_PENDING', 'QUOTA_EXCEEDED', 'CONTENT_REFUSED'], access: forAccount('publish'), handle: sites.duplicate(services) },
    { id: 'deleteSite', method: 'DELETE', url: SITE, tag, summary: 'Delete a site; one of an account can be restored for 30 days by default', details: 'A site without an owner, and one that is deleted with permanent, cannot be restored. It counts as one request, except with the claim token.', body: siteShape.deleteRequest, query: siteShape.deleteQuery, headers: publishShape.claimTokenHeader, answer: [200, siteShape.deleteResponse], charge: 'handler', access: forSite('manage'), auth: 'optional', handle: sites.remove(services) },
    { id: 'undeleteSite', method: 'POST', url: `${SITE}/undelete`, tag, summary: 'Restore a deleted site from the trash', answer: [200, siteShape.siteDetails], errors: ['QUOTA_EXCEEDED'], access: forSite('manage'), handle: sites.undelete(services) },
    { id: 'listCollaborators', method: 'GET', url: `${SITE}/collaborators`, tag, summary: 'List the collaborators of a site', answer: [200, collaboratorShape.collaboratorList], access: forSite('manage'), handle: collaborators.list(services) },
    { id: 'addCollaborator', method: 'POST', url: `${SITE}/collaborators`, tag, summary: 'Let an account publish to a site, and notify it by email', body: collaboratorShape.collaboratorRequest, answer: [201, collaboratorShape.collaborator], errors: ['COLLABORATOR_LIMIT_REACHED'], access: FOR_CREDENTIALS, handle: collaborators.add(services) },
    { id: 'removeCollaborator', method: 'DELETE', url: `${SITE}/collaborators`, tag, summary: 'Remove a collaborator from a site, or leave it', body: collaboratorShape.collaboratorRequest, answer: [200, collaboratorShape.removeCollaboratorResponse], access: forSite('manage'), handle: collaborators.remove(services) },
    { id: 'claimSite', method: 'POST', url: `${SITE}/claim`, tag, summary: 'Claim an anonymous site', details: 'The site no longer expires. With a name that it cannot have, it stays unclaimed.', body: siteShape.claimRequest, answer: [200, siteShape.claimResponse], errors: ['INVALID_CLAIM_TOKEN', 'ALREADY_CLAIMED', 'NAME_TAKEN', 'QUOTA_EXCEEDED'], access: forAccount('publish'), handle: sites.claim(services) },
    { id: 'previewClaim', method: 'POST', url: `${SITE}/claim/preview`, tag, summary: 'Get the site of a claim link', body: siteShape.claimPreviewRequest, answer: [200, siteShape.claimPreview], errors: ['INVALID_CLAIM_TOKEN', 'SITE_EXPIRED'], charge: 'sign-in', access: 'public', handle: sites.claimPreview(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function versionRoutes(services: ApiServices): Route[] {
  const tag = 'Versions'
  return [
    { id: 'listVersions', method: 'GET', url: `${SITE}/versions`, tag, summary: 'List the kept versions, newest first', answer: [200, versionShape.versionList], access: forSite('read'), handle: versions.list(services) },
    { id: 'getVersion', method: 'GET', url: `${SITE}/versions/:versionId`, tag, summary: 'Get a version with its files and changes', answer: [200, versionShape.versionDetails], errors: ['SITE_PENDING'], access: forSite('read'), handle: versions.details(services) },
    { id: 'restoreVersion', method: 'POST', url: `${SITE}/versions/:versionId/restore`, tag, summary: 'Make a kept version live again', details: 'Nothing is uploaded; all files change together.', answer: [200, publishShape.finalizeResponse], errors: ['SITE_PENDING', 'UPLOADS_MISSING', 'CONTENT_REFUSED'], access: forSite('publish'), handle: versions.restore(services) },
    { id: 'deleteVersion', method: 'DELETE', url: `${SITE}/versions/:versionId`, tag, summary: 'Delete a version permanently', details: 'It cannot be undone.', answer: [200, versionShape.deleteVersionResponse], errors: ['VERSION_LIVE'], access: forSite('manage'), handle: versions.remove(services) },
    { id: 'createPreviewLink', method: 'POST', url: `${SITE}/preview`, tag, summary: 'Create a URL that shows the site without its password for 10 minutes', query: versionShape.versionQuery, answer: [200, versionShape.previewLink], errors: ['SITE_PENDING'], access: forSite('read'), handle: versions.createPreviewLink(services) },
    { id: 'putThumbnail', method: 'PUT', url: `${SITE}/versions/:versionId/thumbnail`, tag, summary: 'Store the thumbnail of a version: WebP of at most 20,000 bytes', details: 'Pictures count as one request when they are refused or replace another.', headers: publishShape.claimTokenHeader, answer: [200, versionShape.thumbnailResponse], errors: ['SITE_PENDING', 'CONTENT_REFUSED'], charge: 'handler', bytes: 'image/webp', bodyLimit: MAX_THUMBNAIL_BYTES, access: forSite('publish'), auth: 'optional', handle: versions.putThumbnail(services) },
    { id: 'getThumbnail', method: 'GET', url: `${SITE}/versions/:versionId/thumbnail`, tag, summary: 'Get the thumbnail of a version', query: versionShape.thumbnailQuery, answer: [200, 'bytes'], errors: ['SITE_PENDING'], charge: 'none', access: forSite('read'), auth: 'optional', handle: versions.thumbnail(services) },
    { id: 'downloadFile', method: 'GET', url: `${SITE}/files/*`, tag, summary: 'Download one file', query: versionShape.versionQuery, answer: [200, 'bytes'], errors: ['SITE_PENDING'], access: forSite('read'), handle: versions.file(services) },
    { id: 'downloadArchive', method: 'GET', url: `${SITE}/archive`, tag, summary: 'Download a version as tar.gz or zip', query: versionShape.downloadQuery, answer: [200, 'bytes'], errors: ['SITE_PENDING'], access: forSite('read'), handle: versions.archive(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function previewRoutes(services: ApiServices): Route[] {
  const tag = 'Previews'
  return [
    { id: 'listPreviews', method: 'GET', url: `${SITE}/previews`, tag, summary: 'List the previews of a site, the last changed one first', answer: [200, previewShape.previewList], access: forSite('read'), handle: previews.list(services) },
    { id: 'getPreview', method: 'GET', url: `${SITE}/previews/:name`, tag, summary: 'Get a preview', answer: [200, previewShape.preview], access: forSite('read'), handle: previews.details(services) },
    { id: 'promotePreview', method: 'POST', url: `${SITE}/previews/:name/promote`, tag, summary: 'Make the version of a preview live', details: 'All files of the site change together.', query: previewShape.promoteQuery, answer: [200, publishShape.finalizeResponse], errors: ['VERSION_CONFLICT', 'CONTENT_REFUSED'], access: forSite('publish'), handle: previews.promote(services) },
    { id: 'deletePreview', method: 'DELETE', url: `${SITE}/previews/:name`, tag, summary: 'Delete a preview', details: 'Its URL ends; the site stays as it is.', answer: [200, previewShape.deletePreviewResponse], access: forSite('preview'), handle: previews.remove(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function domainRoutes(services: ApiServices): Route[] {
  const tag = 'Domains'
  return [
    { id: 'listDomains', method: 'GET', url: '/api/v1/domains', tag, summary: 'List your domains', answer: [200, domainShape.domainList], access: forAccount('read'), handle: domains.list(services) },
    { id: 'addDomain', method: 'POST', url: '/api/v1/domains', tag, summary: 'Add a domain to a site', details: 'The response has the DNS records to enter.', body: domainShape.domainRequest, answer: [201, domainShape.domainResponse], errors: ['DOMAIN_TAKEN', 'DOMAINS_UNAVAILABLE', 'DOMAIN_LIMIT_REACHED', 'NOT_FOUND', 'OWNER_REQUIRED', 'SITE_SUSPENDED', 'SITE_EXPIRED'], access: forAccount('manage'), handle: domains.add(services) },
    { id: 'checkDomain', method: 'GET', url: '/api/v1/domains/:domain', tag, summary: 'Check the DNS records of a domain now', answer: [200, domainShape.domainResponse], access: forAccount('read'), handle: domains.check(services) },
    { id: 'followDomain', method: 'GET', url: '/api/v1/domains/:domain/events', tag, summary: 'Follow a domain: get its record now and after each change', answer: [200, 'events'], access: forAccount('read'), handle: domainEvents(services) },
    { id: 'removeDomain', method: 'DELETE', url: '/api/v1/domains/:domain', tag, summary: 'Remove a domain', details: 'The site stays at its own URL.', answer: [200, domainShape.deleteDomainResponse], access: forAccount('manage'), handle: domains.remove(services) },
  ]
}

function reportRoutes(services: ApiServices): Route[] {
  return [
    {
      id: 'reportPage',
      method: 'POST',
      url: '/api/reports',
      tag: 'Reports',
      summary: 'Report a page of a site to the operator of the service',
      body: reportShape.reportRequest,
      details: 'Reports have an hourly limit of their own.',
      answer: [202, reportShape.reportReceived],
      errors: ['RATE_LIMITED'],
      // Reports have a limit of their own, so that they do not use up the requests of the network.
      charge: 'none',
      access: 'public',
      handle: reports.create(services),
    },
  ]
}
