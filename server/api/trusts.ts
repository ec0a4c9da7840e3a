import type { RouteHandlerMethod } from 'fastify'
import type { CreateTrustRequest, ExchangeRequest } from '../../protocol/api/trusts.schema.ts'
import { charge, requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type TrustServices = Pick<ApiServices, 'trusts' | 'limits'>

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

/**
 * Runners of many repositories share an address: a key is charged to the account of its trust, and only failures are
 * charged to the address.
 */
export function exchange({ trusts, limits }: TrustServices): RouteHandlerMethod {
  return async (request, reply) => {
    const chargeAddress = () => charge(limits, request, reply, 'sign-in')
    const { remaining } = await limits.peek(request.caller, 'sign-in')
    if (remaining === 0) await chargeAddress()
    try {
      if (request.validationError) throw request.validationError
      return await trusts.exchange(request.body as ExchangeRequest, async (account) => {
        request.caller.account = account
        await charge(limits, request, reply)
      })
    } catch (error) {
      if (!request.caller.account) await chargeAddress()
      throw error
    }
  }
}
