import type { RouteHandlerMethod } from 'fastify'
import { UPLOAD_PATH } from '../upload.ts'
import { domainEvents } from './domain-events.ts'
import * as domains from './domains.ts'
import * as me from './me.ts'
import * as publish from './publish.ts'
import type { Rooms } from './rooms.ts'
import * as accountShape from './schemas/account.ts'
import * as bundleShape from './schemas/bundles.ts'
import * as versionShape from './schemas/versions.ts'
import * as visitShape from './schemas/visits.ts'
import * as shape from './schemas.ts'
import * as signIn from './sign-in.ts'
import * as sites from './sites.ts'
import * as uploads from './uploads.ts'
import * as versions from './versions.ts'
import * as visits from './visits.ts'

/** A row of the table: what a request looks like, what it may cost, who may send it, who answers. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  tag: string
  summary: string
  body?: shape.Schema
  query?: shape.Schema
  /** Status and shape of success; 'bytes' for a file, 'events' for a stream of events. */
  answer: [number, shape.Schema | 'bytes' | 'events']
  /** See `admission.ts`; default `api`. */
  charge?: 'sign-in' | 'none' | 'handler'
  /** See `admission.ts`; default `required`. */
  auth?: 'optional' | 'none'
  /** Takes an archive as its body beside JSON. */
  archives?: true
  /** Takes a body of any type and leaves it in the stream. */
  bytes?: true
  handle: RouteHandlerMethod
}

const SITE = '/api/v1/publish/:slug'

/** Every route of the API (spec 4, contract). */
export function routes(rooms: Rooms): Route[] {
  return [
    ...signInRoutes(rooms),
    ...publishRoutes(rooms),
    ...siteRoutes(rooms),
    ...versionRoutes(rooms),
    ...domainRoutes(rooms),
  ]
}

// biome-ignore format: a table reads best a route a line
function signInRoutes(rooms: Rooms): Route[] {
  const tag = 'Sign-in'
  return [
    { method: 'POST', url: '/api/auth/agent/request-code', tag, summary: 'Mail a verification code', body: accountShape.requestCodeRequest, answer: [200, accountShape.requestCodeAnswer], charge: 'sign-in', auth: 'none', handle: signIn.requestCode(rooms) },
    { method: 'POST', url: '/api/auth/agent/verify-code', tag, summary: 'Exchange a code for an API key; the earlier key ends', body: accountShape.verifyCodeRequest, answer: [200, accountShape.verifyCodeAnswer], charge: 'sign-in', auth: 'none', handle: signIn.verifyCode(rooms) },
    { method: 'POST', url: '/api/auth/session', tag, summary: 'Sign a browser in with a code; the API key stays', body: accountShape.verifyCodeRequest, answer: [200, accountShape.sessionAnswer], charge: 'sign-in', auth: 'none', handle: signIn.openSession(rooms) },
    { method: 'DELETE', url: '/api/auth/session', tag, summary: 'Sign the browser out', answer: [200, accountShape.signedOutAnswer], charge: 'sign-in', auth: 'optional', handle: signIn.closeSession(rooms) },
    { method: 'GET', url: '/api/v1/me', tag, summary: 'The account, its limits and what is used', answer: [200, accountShape.meAnswer], handle: me.show(rooms) },
    { method: 'DELETE', url: '/api/v1/me', tag, summary: 'Delete the account with all its sites and domains, for good', body: accountShape.leaveRequest, answer: [200, accountShape.leaveAnswer], handle: me.leave(rooms) },
    { method: 'GET', url: '/api/v1/me/sessions', tag, summary: 'The browsers that are signed in, newest first', answer: [200, accountShape.sessionList], handle: me.sessions(rooms) },
    { method: 'DELETE', url: '/api/v1/me/sessions', tag, summary: 'Sign out every browser but the one that asks', answer: [200, accountShape.sessionsEndedAnswer], handle: me.endOtherSessions(rooms) },
    { method: 'DELETE', url: '/api/v1/me/sessions/:id', tag, summary: 'Sign one browser out', answer: [200, accountShape.sessionsEndedAnswer], handle: me.endSession(rooms) },
    { method: 'POST', url: '/api/v1/me/key', tag, summary: 'Make a new API key; the earlier one ends', answer: [200, accountShape.newKeyAnswer], handle: me.renewKey(rooms) },
  ]
}

// biome-ignore format: a table reads best a route a line
function publishRoutes(rooms: Rooms): Route[] {
  const tag = 'Publish'
  return [
    { method: 'POST', url: '/api/v1/publish', tag, summary: 'Create a site from a manifest, or at once from an archive', body: shape.publishRequest, query: shape.archiveQuery, answer: [201, shape.createAnswer], auth: 'optional', archives: true, handle: publish.create(rooms) },
    { method: 'PUT', url: SITE, tag, summary: 'Publish a new version; files of the live version need no upload', body: shape.publishRequest, query: shape.archiveQuery, answer: [200, shape.updateAnswer], auth: 'optional', archives: true, handle: publish.update(rooms) },
    { method: 'PUT', url: `${UPLOAD_PATH}:slug/:versionId`, tag, summary: 'Upload many files at once, as a tar of them', query: bundleShape.bundleQuery, answer: [200, bundleShape.bundleReceipt], charge: 'none', auth: 'none', bytes: true, handle: uploads.receiveBundle(rooms) },
    { method: 'PUT', url: `${UPLOAD_PATH}*`, tag, summary: 'Upload one file to its signed address', query: shape.uploadQuery, answer: [200, shape.uploadReceipt], charge: 'none', auth: 'none', bytes: true, handle: uploads.receive(rooms) },
    { method: 'POST', url: `${SITE}/uploads/refresh`, tag, summary: 'Fresh addresses for what is still missing', body: shape.refreshRequest, answer: [200, shape.refreshAnswer], auth: 'optional', handle: publish.refresh(rooms) },
    { method: 'POST', url: `${SITE}/finalize`, tag, summary: 'Make an uploaded version live, or keep it as a draft', body: shape.finalizeRequest, answer: [200, shape.finalizeAnswer], charge: 'handler', auth: 'optional', handle: publish.finalize(rooms) },
  ]
}

// biome-ignore format: a table reads best a route a line
function siteRoutes(rooms: Rooms): Route[] {
  const tag = 'Sites'
  return [
    { method: 'GET', url: '/api/v1/publishes', tag, summary: 'List your sites, newest first', query: shape.listQuery, answer: [200, shape.siteList], handle: sites.list(rooms) },
    { method: 'GET', url: SITE, tag, summary: 'Details of a site', answer: [200, shape.siteDetails], handle: sites.details(rooms) },
    { method: 'PATCH', url: `${SITE}/metadata`, tag, summary: 'Change title, password and the like', body: shape.metadataRequest, answer: [200, shape.siteDetails], handle: sites.describe(rooms) },
    { method: 'GET', url: `${SITE}/analytics`, tag, summary: 'How often a site was visited, and what was asked for', query: visitShape.visitsQuery, answer: [200, visitShape.visitsAnswer], handle: visits.show(rooms) },
    { method: 'POST', url: `${SITE}/duplicate`, tag, summary: 'Copy a site to a new one, live at once', answer: [201, shape.duplicateAnswer], handle: sites.duplicate(rooms) },
    { method: 'DELETE', url: SITE, tag, summary: 'Delete a site for good', answer: [200, shape.deleteAnswer], handle: sites.remove(rooms) },
    { method: 'POST', url: `${SITE}/claim`, tag, summary: 'Make an anonymous site yours', body: shape.claimRequest, answer: [200, shape.claimAnswer], handle: sites.claim(rooms) },
    { method: 'POST', url: `${SITE}/claim/preview`, tag, summary: 'What a claim link leads to', body: shape.claimRequest, answer: [200, shape.claimPreview], charge: 'sign-in', auth: 'none', handle: sites.claimPreview(rooms) },
  ]
}

// biome-ignore format: a table reads best a route a line
function versionRoutes(rooms: Rooms): Route[] {
  const tag = 'Versions'
  return [
    { method: 'GET', url: `${SITE}/versions`, tag, summary: 'List the kept versions, newest first', answer: [200, versionShape.versionList], handle: versions.list(rooms) },
    { method: 'GET', url: `${SITE}/versions/:versionId`, tag, summary: 'A version with its files and what is different in it', answer: [200, versionShape.versionDetails], handle: versions.details(rooms) },
    { method: 'POST', url: `${SITE}/versions/:versionId/restore`, tag, summary: 'Make a kept version live again', answer: [200, shape.finalizeAnswer], handle: versions.restore(rooms) },
    { method: 'DELETE', url: `${SITE}/versions/:versionId`, tag, summary: 'Delete a version for good', answer: [200, versionShape.deleteVersionAnswer], handle: versions.remove(rooms) },
    { method: 'GET', url: `${SITE}/files/*`, tag, summary: 'One file back', query: versionShape.versionQuery, answer: [200, 'bytes'], handle: versions.file(rooms) },
    { method: 'GET', url: `${SITE}/archive`, tag, summary: 'A version back as tar.gz', query: versionShape.versionQuery, answer: [200, 'bytes'], handle: versions.archive(rooms) },
  ]
}

// biome-ignore format: a table reads best a route a line
function domainRoutes(rooms: Rooms): Route[] {
  const tag = 'Domains'
  return [
    { method: 'GET', url: '/api/v1/domains', tag, summary: 'List your domains', answer: [200, shape.domainList], handle: domains.list(rooms) },
    { method: 'POST', url: '/api/v1/domains', tag, summary: 'Add a domain to a site', body: shape.domainRequest, answer: [201, shape.domainAnswer], handle: domains.add(rooms) },
    { method: 'GET', url: '/api/v1/domains/:domain', tag, summary: 'Look a domain’s records up now', answer: [200, shape.domainAnswer], handle: domains.check(rooms) },
    { method: 'GET', url: '/api/v1/domains/:domain/events', tag, summary: 'Follow a domain: its record now and as it changes', answer: [200, 'events'], handle: domainEvents(rooms) },
    { method: 'DELETE', url: '/api/v1/domains/:domain', tag, summary: 'Remove a domain', answer: [200, shape.deleteDomainAnswer], handle: domains.remove(rooms) },
  ]
}
