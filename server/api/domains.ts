import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type DomainServices = Pick<ApiServices, 'domains'>

export function list({ domains }: DomainServices): RouteHandlerMethod {
  return (request) => domains.list(requireCallerAccount(request))
}

export function add({ domains }: DomainServices): RouteHandlerMethod {
  return async (request, reply) => {
    const { domain, siteSlug } = request.body as { domain: string; siteSlug: string }
    reply.code(201)
    return domains.add(requireCallerAccount(request), domain, siteSlug)
  }
}

export function check({ domains }: DomainServices): RouteHandlerMethod {
  return (request) => domains.check(requireCallerAccount(request), readName(request))
}

export function remove({ domains }: DomainServices): RouteHandlerMethod {
  return (request) => domains.remove(requireCallerAccount(request), readName(request))
}

function readName(request: FastifyRequest): string {
  return (request.params as { domain: string }).domain
}
