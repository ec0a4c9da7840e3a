import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'

type Needs = Pick<Rooms, 'domains'>

export function list({ domains }: Needs): RouteHandlerMethod {
  return (request) => domains.list(accountOf(request))
}

export function add({ domains }: Needs): RouteHandlerMethod {
  return async (request, reply) => {
    const { domain, siteSlug } = request.body as { domain: string; siteSlug: string }
    reply.code(201)
    return domains.add(accountOf(request), domain, siteSlug)
  }
}

export function check({ domains }: Needs): RouteHandlerMethod {
  return (request) => domains.check(accountOf(request), nameOf(request))
}

export function remove({ domains }: Needs): RouteHandlerMethod {
  return (request) => domains.remove(accountOf(request), nameOf(request))
}

function nameOf(request: FastifyRequest): string {
  return (request.params as { domain: string }).domain
}
