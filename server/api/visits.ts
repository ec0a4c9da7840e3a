import type { RouteHandlerMethod } from 'fastify'
import type { VisitRange } from '../../client/wire.ts'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'
import { slugOf } from './sites.ts'

/** How often a site was visited, by whom it was led to, and what was asked for. */
export function show({ visits }: Pick<Rooms, 'visits'>): RouteHandlerMethod {
  return (request) => {
    const { range = '7d' } = request.query as { range?: VisitRange }
    return visits.of(accountOf(request), slugOf(request), range)
  }
}
