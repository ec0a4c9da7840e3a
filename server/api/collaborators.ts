import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

type CollaboratorServices = Pick<ApiServices, 'collaborators'>

export function list({ collaborators }: CollaboratorServices): RouteHandlerMethod {
  return (request) => collaborators.list(requireCallerAccount(request), readSlug(request))
}

export function add({ collaborators }: CollaboratorServices): RouteHandlerMethod {
  return (request, reply) => {
    reply.code(201)
    return collaborators.add(requireCallerAccount(request), readSlug(request), readAddress(request))
  }
}

export function remove({ collaborators }: CollaboratorServices): RouteHandlerMethod {
  return (request) =>
    collaborators.remove(requireCallerAccount(request), readSlug(request), readAddress(request))
}

function readAddress(request: FastifyRequest): string {
  return (request.body as { email: string }).email
}
