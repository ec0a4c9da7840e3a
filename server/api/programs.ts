import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { AuthorizationDecision } from '../../protocol/api/programs.schema.ts'
import { requireCallerAccount } from './auth.ts'
import { readAuthorizationCookie } from './cookies.ts'
import type { ApiServices } from './services.ts'

type ProgramServices = Pick<ApiServices, 'programs' | 'baseUrl'>

export function describe({ programs, baseUrl }: ProgramServices): RouteHandlerMethod {
  return (request) => programs.describe(readId(request), readAuthorizationCookie(request, baseUrl))
}

export function decide({ programs, baseUrl }: ProgramServices): RouteHandlerMethod {
  return (request) => {
    const { allow } = request.body as AuthorizationDecision
    const cookie = readAuthorizationCookie(request, baseUrl)
    return programs.decide(requireCallerAccount(request), { id: readId(request), cookie, allow })
  }
}

export function list({ programs }: Pick<ApiServices, 'programs'>): RouteHandlerMethod {
  return (request) => programs.list(requireCallerAccount(request))
}

export function revoke({ programs }: Pick<ApiServices, 'programs'>): RouteHandlerMethod {
  return (request) => programs.revoke(requireCallerAccount(request), readId(request))
}

function readId(request: FastifyRequest): string {
  return (request.params as { id: string }).id
}
