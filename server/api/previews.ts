import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

type PreviewServices = Pick<ApiServices, 'previews'>

export function list({ previews }: PreviewServices): RouteHandlerMethod {
  return (request) => previews.list(requireCallerAccount(request), readSlug(request))
}

export function details({ previews }: PreviewServices): RouteHandlerMethod {
  return (request) => previews.details(requireCallerAccount(request), readSlug(request), readName(request))
}

export function promote({ previews }: PreviewServices): RouteHandlerMethod {
  return (request) => {
    const { versionId } = request.query as { versionId?: string }
    return previews.promote(requireCallerAccount(request), readSlug(request), readName(request), versionId)
  }
}

export function remove({ previews }: PreviewServices): RouteHandlerMethod {
  return (request) => previews.remove(requireCallerAccount(request), readSlug(request), readName(request))
}

function readName(request: FastifyRequest): string {
  return (request.params as { name: string }).name
}
