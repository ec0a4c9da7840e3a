import type { RouteHandlerMethod } from 'fastify'
import type { CreateKeyRequest } from '../../protocol/api/keys.schema.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type KeyServices = Pick<ApiServices, 'namedKeys'>

export function list({ namedKeys }: KeyServices): RouteHandlerMethod {
  return (request) => namedKeys.list(requireCallerAccount(request), request.caller.keyHash)
}

export function create({ namedKeys }: KeyServices): RouteHandlerMethod {
  return (request, reply) => {
    reply.code(201)
    return namedKeys.create(request.caller, request.body as CreateKeyRequest)
  }
}

export function revoke({ namedKeys }: KeyServices): RouteHandlerMethod {
  return (request) => namedKeys.revoke(requireCallerAccount(request), (request.params as { id: string }).id)
}
