import type { Route } from '../route.ts'
import * as auditShape from '../schemas/admin/audit.ts'
import type { ApiServices } from '../services.ts'
import * as administrators from './administrators.ts'
import * as audit from './audit.ts'

/** A route for administrators only: `access` is the same for all. */
type AdminRoute = Omit<Route, 'access' | 'tag' | 'auth'>

/** Routes for administrators. For other callers their paths do not exist. */
export function adminRoutes(services: ApiServices): Route[] {
  const table = [...auditRoutes(services)]
  return table.map((route) => ({ ...route, tag: 'Administration', access: 'admin' }))
}

// biome-ignore format: a table reads best a route a line
function auditRoutes(services: ApiServices): AdminRoute[] {
  return [
    { id: 'listAuditEntries', method: 'GET', url: '/api/admin/audit', summary: 'List the changes that administrators made', query: auditShape.auditQuery, answer: [200, auditShape.auditPage], handle: audit.list(services) },
    { id: 'setAdministrator', method: 'PUT', url: '/api/admin/accounts/:id/administrator', summary: 'Let an account administer the service, or no longer', body: auditShape.administratorChange, answer: [200, auditShape.administratorChange], handle: administrators.set(services) },
  ]
}
