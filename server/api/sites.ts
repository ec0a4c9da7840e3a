import type { FastifyRequest, preHandlerAsyncHookHandler, RouteHandlerMethod } from 'fastify'
import type { ClaimRequest, MetadataRequest } from '../../protocol/api/sites.schema.ts'
import { charge, requireCallerAccount } from './auth.ts'
import { withClaimToken } from './claim-token.ts'
import type { ApiServices } from './services.ts'

type SiteServices = Pick<ApiServices, 'sites'>

const DEFAULT_PAGE_SIZE = 50

/** Spec 4.10. */
export function list({ sites }: SiteServices): RouteHandlerMethod {
  return (request) => {
    const { limit, cursor, q, deleted } = request.query as Record<string, string | undefined>
    return sites.list(requireCallerAccount(request), {
      limit: Number(limit ?? DEFAULT_PAGE_SIZE),
      cursor,
      q,
      deleted: deleted === 'true',
    })
  }
}

/** Spec 4.7. */
export function details({ sites }: SiteServices): RouteHandlerMethod {
  return (request) => sites.details(requireCallerAccount(request), readSlug(request))
}

export function updateMetadata({ sites }: SiteServices): RouteHandlerMethod {
  return (request) =>
    sites.updateMetadata(requireCallerAccount(request), readSlug(request), request.body as MetadataRequest)
}

/** Spec 4.8. */
export function duplicate({ sites }: SiteServices): RouteHandlerMethod {
  return async (request, reply) => {
    reply.code(201)
    return sites.duplicate(request.caller, readSlug(request))
  }
}

export function rename({ names }: Pick<ApiServices, 'names'>): RouteHandlerMethod {
  return (request) => {
    const { name } = request.body as { name: string }
    return names.rename(requireCallerAccount(request), readSlug(request), name)
  }
}

export function checkName({ names }: Pick<ApiServices, 'names'>): RouteHandlerMethod {
  return (request) => names.check(request.caller.account, (request.params as { name: string }).name)
}

/** Requests with a former name of a site are about the site of today. */
export function followRenames({ names }: Pick<ApiServices, 'names'>): preHandlerAsyncHookHandler {
  return async ({ params }) => {
    const named = params as { slug?: string } | undefined
    if (named?.slug !== undefined) named.slug = await names.current(named.slug)
  }
}

/**
 * Spec 4.9; contract, "Deleting an anonymous site". A deletion by claim token is not charged: it succeeds once, and a
 * publisher that has used up its hour must be able to take a site down.
 */
export function remove({ trash, limits }: Pick<ApiServices, 'trash' | 'limits'>): RouteHandlerMethod {
  return async (request, reply) => {
    const slug = readSlug(request)
    const { validationError } = request
    const { claimToken } = validationError ? {} : withClaimToken(request, readOptionalToken(request))
    if (claimToken === undefined || !(await trash.isUnowned(slug, claimToken)))
      await charge(limits, request, reply)
    if (validationError) throw validationError
    const { permanent } = request.query as { permanent?: string }
    return trash.remove(request.caller, slug, { claimToken, permanent: permanent === 'true' })
  }
}

export function undelete({ trash, sites }: Pick<ApiServices, 'trash' | 'sites'>): RouteHandlerMethod {
  return async (request) => {
    const [account, slug] = [requireCallerAccount(request), readSlug(request)]
    await trash.undelete(account, slug)
    return sites.details(account, slug)
  }
}

/** Spec 4.12. */
export function claim({ sites }: SiteServices): RouteHandlerMethod {
  return (request) =>
    sites.claim(requireCallerAccount(request), readSlug(request), request.body as ClaimRequest)
}

export function claimPreview({ sites }: SiteServices): RouteHandlerMethod {
  return (request) => sites.claimPreview(readSlug(request), readClaimToken(request))
}

export function readSlug(request: FastifyRequest): string {
  return (request.params as { slug: string }).slug
}

function readOptionalToken({ body }: FastifyRequest): { claimToken?: string } {
  return (body ?? {}) as { claimToken?: string }
}

function readClaimToken(request: FastifyRequest): string {
  return (request.body as { claimToken: string }).claimToken
}
