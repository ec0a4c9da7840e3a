import * as shape from '../../../protocol/api/admin/moderation.schema.ts'
import type { ApiServices } from '../services.ts'
import type { AdminRoute } from './admin-route.ts'
import * as moderation from './moderation.ts'

const SITE = '/api/admin/sites/:slug'
const ACCOUNT = '/api/admin/accounts/:id'

/** What stops abuse. */
// biome-ignore format: a table reads best a route a line
export function moderationRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'getModeratedSite', method: 'GET', url: SITE, summary: 'Get a site with its owner, domains, suspension and number of reports', answer: [200, shape.moderatedSite], handle: moderation.showSite(services) },
    { id: 'suspendSite', method: 'PUT', url: `${SITE}/suspension`, summary: 'Take a site offline: visitors get 451, and its owner cannot publish', body: shape.suspensionRequest, answer: [200, shape.siteModerated], handle: moderation.suspendSite(services) },
    { id: 'resumeSite', method: 'DELETE', url: `${SITE}/suspension`, summary: 'End the suspension of a site', answer: [200, shape.siteModerated], handle: moderation.resumeSite(services) },
    { id: 'removeSite', method: 'DELETE', url: SITE, summary: 'Delete a site permanently, also from the trash', details: 'It cannot be undone.', body: shape.moderationReason, answer: [200, shape.siteModerated], handle: moderation.deleteSite(services) },
    { id: 'suspendAccount', method: 'PUT', url: `${ACCOUNT}/suspension`, summary: 'Take all sites of an account offline, present and future ones', body: shape.suspensionRequest, answer: [200, shape.accountModerated], errors: ['LAST_ADMINISTRATOR'], handle: moderation.suspendAccount(services) },
    { id: 'resumeAccount', method: 'DELETE', url: `${ACCOUNT}/suspension`, summary: 'End the suspension of an account', answer: [200, shape.accountModerated], handle: moderation.resumeAccount(services) },
    { id: 'removeAccount', method: 'DELETE', url: ACCOUNT, summary: 'Delete an account with all its sites permanently', details: 'It cannot be undone.', body: shape.moderationReason, answer: [200, shape.accountModerated], errors: ['LAST_ADMINISTRATOR'], handle: moderation.deleteAccount(services) },
    { id: 'releaseDomain', method: 'DELETE', url: '/api/admin/domains/:domain', summary: 'Remove an active domain from its site', body: shape.moderationReason, answer: [200, shape.domainReleased], handle: moderation.releaseDomain(services) },
    { id: 'listBlocks', method: 'GET', url: '/api/admin/blocks', summary: 'List the blocked networks and files', answer: [200, shape.blockList], handle: moderation.listBlocks(services) },
    { id: 'addBlock', method: 'POST', url: '/api/admin/blocks', summary: 'Block a network of callers, or a file wherever it is published', body: shape.blockRequest, answer: [201, shape.block], handle: moderation.addBlock(services) },
    { id: 'removeBlock', method: 'DELETE', url: '/api/admin/blocks', summary: 'End a block', body: shape.blockTarget, answer: [200, shape.blockTarget], handle: moderation.removeBlock(services) },
    { id: 'listReports', method: 'GET', url: '/api/admin/reports', summary: 'List the sites that visitors have reported', query: shape.reportQuery, answer: [200, shape.reportPage], handle: moderation.listReports(services) },
    { id: 'decideReports', method: 'PUT', url: '/api/admin/reports/:slug', summary: 'Dismiss the reports of a site, or open them again', body: shape.reportDecision, answer: [200, shape.siteModerated], handle: moderation.decideReports(services) },
  ]
}
