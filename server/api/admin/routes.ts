import * as accountShape from '../../../protocol/api/account.schema.ts'
import * as auditShape from '../../../protocol/api/admin/audit.schema.ts'
import * as bannerShape from '../../../protocol/api/admin/banner.schema.ts'
import * as invitationShape from '../../../protocol/api/admin/invitations.schema.ts'
import * as listShape from '../../../protocol/api/admin/lists.schema.ts'
import * as overviewShape from '../../../protocol/api/admin/overview.schema.ts'
import * as policyShape from '../../../protocol/api/admin/policies.schema.ts'
import type { Route } from '../route.ts'
import type { ApiServices } from '../services.ts'
import type { AdminRoute } from './admin-route.ts'
import * as administrators from './administrators.ts'
import * as audit from './audit.ts'
import * as banner from './banner.ts'
import * as invitations from './invitations.ts'
import * as lists from './lists.ts'
import { moderationRoutes } from './moderation-routes.ts'
import * as overview from './overview.ts'

/** Routes for administrators. For other callers their paths do not exist. */
export function adminRoutes(services: ApiServices): Route[] {
  const table = [
    ...overviewRoutes(services),
    ...auditRoutes(services),
    ...invitationRoutes(services),
    ...bannerRoutes(services),
    ...moderationRoutes(services),
  ]
  return table.map((route) => ({ ...route, tag: 'Administration', access: 'admin' }))
}

// biome-ignore format: a table reads best a route a line
function overviewRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'getOverview', method: 'GET', url: '/api/admin/overview', summary: 'Get the totals of the service, its disk, its cache and the number of problems', answer: [200, overviewShape.overview], handle: overview.show(services) },
    { id: 'getActivity', method: 'GET', url: '/api/admin/activity', summary: 'Get visits, bytes, errors, publishes and times of the database over time', query: overviewShape.activityQuery, answer: [200, overviewShape.activity], handle: overview.activity(services) },
    { id: 'listAllSites', method: 'GET', url: '/api/admin/sites', summary: 'List the sites of all accounts, and anonymous ones', query: listShape.listQuery, answer: [200, listShape.sitePage], handle: lists.sites(services) },
    { id: 'listAccounts', method: 'GET', url: '/api/admin/accounts', summary: 'List the accounts', query: listShape.listQuery, answer: [200, listShape.accountPage], handle: lists.accounts(services) },
    { id: 'listAllDomains', method: 'GET', url: '/api/admin/domains', summary: 'List the domains of all accounts', query: listShape.listQuery, answer: [200, listShape.domainPage], handle: lists.domains(services) },
    { id: 'listCertificates', method: 'GET', url: '/api/admin/certificates', summary: 'List the certificates with their expiry and problems', query: listShape.certificateQuery, answer: [200, listShape.certificatePage], handle: lists.certificates(services) },
    { id: 'listSweeps', method: 'GET', url: '/api/admin/sweeps', summary: 'List the background tasks, which are called sweeps, with their last runs and failures', answer: [200, listShape.sweepList], handle: lists.sweeps(services) },
    { id: 'listNodes', method: 'GET', url: '/api/admin/nodes', summary: 'List the nodes of a fleet', answer: [200, listShape.nodeList], handle: lists.nodes(services) },
    { id: 'getPolicies', method: 'GET', url: '/api/admin/policies', summary: 'Get the plans, who can create an account, and the limits of sites without an account', answer: [200, policyShape.policies], handle: async () => services.policies },
  ]
}

// biome-ignore format: a table reads best a route a line
function auditRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'listAuditEntries', method: 'GET', url: '/api/admin/audit', summary: 'List the changes that administrators made', query: auditShape.auditQuery, answer: [200, auditShape.auditPage], handle: audit.list(services) },
    { id: 'setPlan', method: 'PUT', url: '/api/admin/accounts/:id/plan', summary: 'Set the plan of an account, and exceptions from its limits', body: accountShape.planChange, answer: [200, accountShape.accountPlan], handle: administrators.setPlan(services) },
    { id: 'setAdministrator', method: 'PUT', url: '/api/admin/accounts/:id/administrator', summary: 'Let an account administer the service, or no longer', body: auditShape.administratorChange, answer: [200, auditShape.administratorChange], errors: ['LAST_ADMINISTRATOR'], handle: administrators.set(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function invitationRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'listInvitations', method: 'GET', url: '/api/admin/invitations', summary: 'List the addresses that are invited to create an account', query: invitationShape.invitationQuery, answer: [200, invitationShape.invitationPage], handle: invitations.list(services) },
    { id: 'invite', method: 'POST', url: '/api/admin/invitations', summary: 'Invite an address to create an account, for 14 days', body: invitationShape.invitationRequest, answer: [201, invitationShape.invitation], handle: invitations.invite(services) },
    { id: 'revokeInvitation', method: 'DELETE', url: '/api/admin/invitations/:email', summary: 'End an invitation', answer: [200, invitationShape.revokedInvitation], handle: invitations.revoke(services) },
  ]
}

// biome-ignore format: a table reads best a route a line
function bannerRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'getBanner', method: 'GET', url: '/api/admin/banner', summary: 'Get the message to all users, also before and after it is shown', answer: [200, bannerShape.bannerResponse], handle: banner.show(services) },
    { id: 'setBanner', method: 'PUT', url: '/api/admin/banner', summary: 'Show a message in the dashboard and on the command line', body: bannerShape.bannerRequest, answer: [200, bannerShape.bannerResponse], handle: banner.set(services) },
    { id: 'clearBanner', method: 'DELETE', url: '/api/admin/banner', summary: 'End the message to all users', answer: [200, bannerShape.bannerResponse], handle: banner.clear(services) },
  ]
}
