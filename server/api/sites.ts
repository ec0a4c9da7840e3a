import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { MetadataRequest } from '../../client/wire.ts'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'

type Needs = Pick<Rooms, 'sites'>

const PAGE = 50

/** Spec 4.10. */
export function list({ sites }: Needs): RouteHandlerMethod {
  return (request) => {
    const { limit, cursor } = request.query as { limit?: string; cursor?: string }
    return sites.list(accountOf(request), { limit: Number(limit ?? PAGE), cursor })
  }
}

/** Spec 4.7. */
export function details({ sites }: Needs): RouteHandlerMethod {
  return (request) => sites.details(accountOf(request), slugOf(request))
}

export function describe({ sites }: Needs): RouteHandlerMethod {
  return (request) => sites.describe(accountOf(request), slugOf(request), request.body as MetadataRequest)
}

/** Spec 4.8. */
export function duplicate({ sites }: Needs): RouteHandlerMethod {
  return async (request, reply) => {
    reply.code(201)
    return sites.duplicate(request.caller, slugOf(request))
  }
}

/** Spec 4.9. */
export function remove({ sites }: Needs): RouteHandlerMethod {
  return (request) => sites.remove(accountOf(request), slugOf(request))
}

/** Spec 4.12. */
export function claim({ sites }: Needs): RouteHandlerMethod {
  return (request) => sites.claim(accountOf(request), slugOf(request), claimTokenOf(request))
}

export function claimPreview({ sites }: Needs): RouteHandlerMethod {
  return (request) => sites.claimPreview(slugOf(request), claimTokenOf(request))
}

export function slugOf(request: FastifyRequest): string {
  return (request.params as { slug: string }).slug
}

function claimTokenOf(request: FastifyRequest): string {
  return (request.body as { claimToken: string }).claimToken
}
