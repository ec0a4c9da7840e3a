import type { RouteHandlerMethod } from 'fastify'
import type { CreateTrustRequest, ExchangeRequest } from '../../protocol/api/trusts.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type TrustServices = Pick<ApiServices, 'trusts'>

export function list({ trusts }: TrustServices): RouteHandlerMethod {
  return (request) => trusts.list(requireCallerAccount(request))
}

export function create({ trusts }: TrustServices): RouteHandlerMethod {
  return (request, reply) => {
    reply.code(201)
    return trusts.create(requireCallerAccount(request), request.body as CreateTrustRequest)
  }
}

export function remove({ trusts }: TrustServices): RouteHandlerMethod {
  return (request) => trusts.remove(requireCallerAccount(request), (request.params as { id: string }).id)
}

export function exchange({ trusts }: TrustServices): RouteHandlerMethod {
  return (request) => trusts.exchange(request.body as ExchangeRequest)
}
