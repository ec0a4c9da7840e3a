import type { RouteHandlerMethod } from 'fastify'
import { UPLOAD_PATH } from '../publish/signed-uploads.ts'
import { domainEvents } from './domain-events.ts'
import * as domains from './domains.ts'
import * as me from './me.ts'
import * as publish from './publish.ts'
import * as accountShape from './schemas/account.ts'
import * as bundleShape from './schemas/bundles.ts'
import * as versionShape from './schemas/versions.ts'
import * as visitShape from './schemas/visits.ts'
import * as shape from './schemas.ts'
import type { ApiServices } from './services.ts'
import * as signIn from './sign-in.ts'
import * as sites from './sites.ts'
import * as uploads from './uploads.ts'
import * as versions from './versions.ts'
import * as visits from './visits.ts'

/** A row of the route table: the shape of a request, its charge, its authentication and its handler. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  tag: string
  summary: string
  body?: shape.Schema
  query?: shape.Schema
  headers?: shape.Schema
  /** Status and schema of success; 'bytes' for a file, 'events' for an event stream. */
  answer: [number, shape.Schema | 'bytes' | 'events']
  /** See `auth.ts`; default `api`. */
  charge?: 'sign-in' | 'none' | 'handler'
  /** See `auth.ts`; default `required`. */
  auth?: 'optional' | 'none'
  /** Accepts an archive as its body beside JSON. */
  archives?: true
  /** Accepts a body of any type and leaves it as a stream. */
  bytes?: true
  handle: RouteHandlerMethod
}

const SITE = '/api/v1/publish/:slug'

/** Every route of the API (spec 4, contract). */
export function routes(services: ApiServices): Route[] {
  return [
    ...signInRoutes(services),
    ...publishRoutes(services),
    ...siteRoutes(services),
    ...versionRoutes(services),
    ...domainRoutes(services),
  ]
}

// biome-ignore format: a table reads best a route a line
function signInRoutes(services: ApiServices): Route[] {
  const tag = 'Sign-in'
  return [
    { method: 'POST', url: '/api/auth/agent/request-code', tag, summary: 'Mail a verification code', body: accountShape.requestCodeRequest, answer: [200, accountShape.requestCodeResponse], charge: 'sign-in', auth: 'none', handle: signIn.requestCode(services) },
    { method: 'POST', url: '/api/auth/agent/verify-code', tag, summary: 'Exchange a code for an API key; the earlier key ends', body: accountShape.verifyCodeRequest, answer: [200, accountShape.verifyCodeResponse], charge: 'sign-in', auth: 'none', handle: signIn.verifyCode(services) },
    { method: 'POST', url: '/api/auth/session', tag, summary: 'Sign a browser in with a code; the API key stays', body: accountShape.verifyCodeRequest, answer: [200, accountShape.sessionResponse], charge: 'sign-in', auth: 'none', handle: signIn.openSession(services) },
    { method: 'DELETE', url: '/api/auth/session', tag, summary: 'Sign the browser out', answer: [200, accountShape.signedOutResponse], charge: 'sign-in', auth: 'optional', handle: signIn.closeSession(services) },
    { method: 'GET', url: '/api/v1/me', tag, summary: 'The account, its limits and what is used', answer: [200, accountShape.meResponse], handle: me.show(services) },
    { method: 'DELETE', url: '/api/v1/me', tag, summary: 'Delete the account with all its sites and domains, for good', body: accountShape.deleteAccountRequest, answer: [200, accountShape.deleteAccountResponse], handle: me.deleteAccount(services) },
    { method: 'GET', url: '/api/v1/me/sessions', tag, summary: 'The browsers that are signed in, newest first', answer: [200, accountShape.sessionList], handle: me.sessions(services) },
    { method: 'DELETE', url: '/api/v1/me/sessions', tag, summary: 'Sign out every browser but the one that asks', answer: [200, accountShape.sessionsEndedResponse], handle: me.endOtherSessions(services) },
    { method: 'DELETE', url: '/api/v1/me/sessions/:id', tag, summary: 'Sign one browser out', answer: [200, accountShape.sessionsEndedResponse], handle: me.endSession(services) },
    { method: 'POST', url: '/api/v1/me/key', tag, summary: 'Make a new API key; the earlier one ends', answer: [200, accountShape.newKeyResponse], handle: me.renewKey(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function publishRoutes(services: ApiServices): Route[] {
  const tag = 'Publish'
  return [
    { method: 'POST', url: '/api/v1/publish', tag, summary: 'Create a site from a manifest, or at once from an archive', body: shape.publishRequest, query: shape.archiveQuery, answer: [201, shape.createResponse], auth: 'optional', archives: true, handle: publish.create(services) },
    { method: 'PUT', url: SITE, tag, summary: 'Publish a new version; files of the live version need no upload', body: shape.publishRequest, query: shape.archiveQuery, headers: shape.claimTokenHeader, answer: [200, shape.updateResponse], auth: 'optional', archives: true, handle: publish.update(services) },
    { method: 'PUT', url: `${UPLOAD_PATH}:slug/:versionId`, tag, summary: 'Upload many files at once, as a tar of them', query: bundleShape.bundleQuery, answer: [200, bundleShape.bundleReceipt], charge: 'none', auth: 'none', bytes: true, handle: uploads.receiveBundle(services) },
    { method: 'PUT', url: `${UPLOAD_PATH}*`, tag, summary: 'Upload one file to its signed address', query: shape.uploadQuery, answer: [200, shape.uploadReceipt], charge: 'none', auth: 'none', bytes: true, handle: uploads.receive(services) },
    { method: 'POST', url: `${SITE}/uploads/refresh`, tag, summary: 'Fresh addresses for what is still missing', body: shape.refreshRequest, headers: shape.claimTokenHeader, answer: [200, shape.refreshResponse], auth: 'optional', handle: publish.refresh(services) },
    { method: 'POST', url: `${SITE}/finalize`, tag, summary: 'Make an uploaded version live, or keep it as a draft', body: shape.finalizeRequest, headers: shape.claimTokenHeader, answer: [200, shape.finalizeResponse], charge: 'handler', auth: 'optional', handle: publish.finalize(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function siteRoutes(services: ApiServices): Route[] {
  const tag = 'Sites'
  return [
    { method: 'GET', url: '/api/v1/publishes', tag, summary: 'List your sites, newest first', query: shape.listQuery, answer: [200, shape.siteList], handle: sites.list(services) },
    { method: 'GET', url: SITE, tag, summary: 'Details of a site', answer: [200, shape.siteDetails], handle: sites.details(services) },
    { method: 'PATCH', url: `${SITE}/metadata`, tag, summary: 'Change title, password and the like', body: shape.metadataRequest, answer: [200, shape.siteDetails], handle: sites.updateMetadata(services) },
    { method: 'GET', url: `${SITE}/analytics`, tag, summary: 'How often a site was visited, and what was asked for', query: visitShape.visitsQuery, answer: [200, visitShape.visitsResponse], handle: visits.show(services) },
    { method: 'POST', url: `${SITE}/duplicate`, tag, summary: 'Copy a site to a new one, live at once', answer: [201, shape.duplicateResponse], handle: sites.duplicate(services) },
    { method: 'DELETE', url: SITE, tag, summary: 'Delete a site for good', answer: [200, shape.deleteResponse], handle: sites.remove(services) },
    { method: 'POST', url: `${SITE}/claim`, tag, summary: 'Make an anonymous site yours', body: shape.claimRequest, answer: [200, shape.claimResponse], handle: sites.claim(services) },
    { method: 'POST', url: `${SITE}/claim/preview`, tag, summary: 'What a claim link leads to', body: shape.claimRequest, answer: [200, shape.claimPreview], charge: 'sign-in', auth: 'none', handle: sites.claimPreview(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function versionRoutes(services: ApiServices): Route[] {
  const tag = 'Versions'
  return [
    { method: 'GET', url: `${SITE}/versions`, tag, summary: 'List the kept versions, newest first', answer: [200, versionShape.versionList], handle: versions.list(services) },
    { method: 'GET', url: `${SITE}/versions/:versionId`, tag, summary: 'A version with its files and what is different in it', answer: [200, versionShape.versionDetails], handle: versions.details(services) },
    { method: 'POST', url: `${SITE}/versions/:versionId/restore`, tag, summary: 'Make a kept version live again', answer: [200, shape.finalizeResponse], handle: versions.restore(services) },
    { method: 'DELETE', url: `${SITE}/versions/:versionId`, tag, summary: 'Delete a version for good', answer: [200, versionShape.deleteVersionResponse], handle: versions.remove(services) },
    { method: 'GET', url: `${SITE}/files/*`, tag, summary: 'One file back', query: versionShape.versionQuery, answer: [200, 'bytes'], handle: versions.file(services) },
    { method: 'GET', url: `${SITE}/archive`, tag, summary: 'A version back as tar.gz', query: versionShape.versionQuery, answer: [200, 'bytes'], handle: versions.archive(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function domainRoutes(services: ApiServices): Route[] {
  const tag = 'Domains'
  return [
    { method: 'GET', url: '/api/v1/domains', tag, summary: 'List your domains', answer: [200, shape.domainList], handle: domains.list(services) },
    { method: 'POST', url: '/api/v1/domains', tag, summary: 'Add a domain to a site', body: shape.domainRequest, answer: [201, shape.domainResponse], handle: domains.add(services) },
    { method: 'GET', url: '/api/v1/domains/:domain', tag, summary: 'Look a domain’s records up now', answer: [200, shape.domainResponse], handle: domains.check(services) },
    { method: 'GET', url: '/api/v1/domains/:domain/events', tag, summary: 'Follow a domain: its record now and as it changes', answer: [200, 'events'], handle: domainEvents(services) },
    { method: 'DELETE', url: '/api/v1/domains/:domain', tag, summary: 'Remove a domain', answer: [200, shape.deleteDomainResponse], handle: domains.remove(services) },
  ]
}
