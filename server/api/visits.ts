import type { RouteHandlerMethod } from 'fastify'
import type { VisitFilter } from '../../protocol/api/visits.schema.ts'
import type { VisitRange } from '../../protocol/api/visits.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

interface VisitsQuery extends VisitFilter {
  range?: VisitRange
  timeZone?: string
}

/** Visits of a site with referrers and paths. */
export function show({ visits }: Pick<ApiServices, 'visits'>): RouteHandlerMethod {
  return (request) => {
    const { range = '7d', timeZone = 'UTC', ...filter } = request.query as VisitsQuery
    return visits.report(requireCallerAccount(request), readSlug(request), { range, timeZone, ...filter })
  }
}
