import type { RouteHandlerMethod } from 'fastify'
import type { VisitRange } from '../../protocol/api/visits.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

/** Visits of a site with referrers and paths. */
export function show({ visits }: Pick<ApiServices, 'visits'>): RouteHandlerMethod {
  return (request) => {
    const { range = '7d', timeZone = 'UTC' } = request.query as { range?: VisitRange; timeZone?: string }
    return visits.report(requireCallerAccount(request), readSlug(request), { range, timeZone })
  }
}
