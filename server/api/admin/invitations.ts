import type { RouteHandlerMethod } from 'fastify'
import type { InvitationRequest } from '../../../protocol/api/admin/invitations.schema.ts'
import { auditActor } from '../../accounts/administrators.ts'
import type { ApiServices } from '../services.ts'
import { readPageQuery } from './page-query.ts'

type InvitationServices = Pick<ApiServices, 'invitations'>

export function list({ invitations }: InvitationServices): RouteHandlerMethod {
  return (request) => invitations.list(readPageQuery(request))
}

export function invite({ invitations }: InvitationServices): RouteHandlerMethod {
  return async (request, reply) => {
    const invited = await invitations.invite(
      auditActor(request.caller),
      (request.body as InvitationRequest).email,
    )
    reply.code(201)
    return invited
  }
}

export function revoke({ invitations }: InvitationServices): RouteHandlerMethod {
  return async (request): Promise<InvitationRequest> => {
    const { email } = request.params as { email: string }
    await invitations.revoke(auditActor(request.caller), email)
    return { email }
  }
}
