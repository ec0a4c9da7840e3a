import type { RouteHandlerMethod } from 'fastify'
import type { ActivityRange } from '../../../protocol/api/admin/overview.ts'
import type { ApiServices } from '../services.ts'

type OverviewServices = Pick<ApiServices, 'overviews'>

export function show({ overviews }: OverviewServices): RouteHandlerMethod {
  return () => overviews.show()
}

export function activity({ overviews }: OverviewServices): RouteHandlerMethod {
  return (request) => overviews.activity((request.query as { range?: ActivityRange }).range ?? '24h')
}
