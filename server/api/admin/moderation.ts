import type { FastifyRequest, RouteHandlerMethod } from 'fastify'
import type {
  AccountModerated,
  BlockList,
  BlockRecord,
  BlockRequest,
  ModerationReason,
  ReportState,
  SuspensionRequest,
} from '../../../protocol/api/admin/moderation.schema.ts'
import { auditActor } from '../../accounts/administrators.ts'
import { toIso, toIsoOrNull } from '../../lib/time.ts'
import type { Block } from '../../store/contract/blocks.ts'
import type { ApiServices } from '../services.ts'
import { readSlug } from '../sites.ts'
import { readPageQuery } from './page-query.ts'

const OWN_ACCOUNT =
  'This is your own account. You can still use /admin and end the suspension there; your sites are offline.'

export function showSite({ moderatedSites }: Pick<ApiServices, 'moderatedSites'>): RouteHandlerMethod {
  return (request) => moderatedSites.find(readSlug(request))
}

export function suspendSite({ suspensions }: Pick<ApiServices, 'suspensions'>): RouteHandlerMethod {
  return async (request) => {
    const slug = readSlug(request)
    await suspensions.suspendSite(auditActor(request.caller), slug, request.body as SuspensionRequest)
    return { slug }
  }
}

export function resumeSite({ suspensions }: Pick<ApiServices, 'suspensions'>): RouteHandlerMethod {
  return async (request) => {
    const slug = readSlug(request)
    await suspensions.resumeSite(auditActor(request.caller), slug)
    return { slug }
  }
}

export function deleteSite({ removals }: Pick<ApiServices, 'removals'>): RouteHandlerMethod {
  return async (request) => {
    const slug = readSlug(request)
    await removals.deleteSite(auditActor(request.caller), slug, readReason(request))
    return { slug }
  }
}

export function suspendAccount({ suspensions }: Pick<ApiServices, 'suspensions'>): RouteHandlerMethod {
  return async (request): Promise<AccountModerated> => {
    const { caller, body } = request
    const id = readId(request)
    const email = await suspensions.suspendAccount(auditActor(caller), id, body as SuspensionRequest)
    return { email, ...(caller.account?.id === id && { message: OWN_ACCOUNT }) }
  }
}

export function resumeAccount({ suspensions }: Pick<ApiServices, 'suspensions'>): RouteHandlerMethod {
  return async (request): Promise<AccountModerated> => {
    return { email: await suspensions.resumeAccount(auditActor(request.caller), readId(request)) }
  }
}

export function deleteAccount({ removals }: Pick<ApiServices, 'removals'>): RouteHandlerMethod {
  return async (request): Promise<AccountModerated> => {
    return {
      email: await removals.deleteAccount(auditActor(request.caller), readId(request), readReason(request)),
    }
  }
}

export function releaseDomain({ removals }: Pick<ApiServices, 'removals'>): RouteHandlerMethod {
  return async (request) => {
    const { domain } = request.params as { domain: string }
    await removals.releaseDomain(auditActor(request.caller), domain, readReason(request))
    return { domain }
  }
}

export function listBlocks({ blocks }: Pick<ApiServices, 'blocks'>): RouteHandlerMethod {
  return async (): Promise<BlockList> => ({ blocks: (await blocks.list()).map(toRecord) })
}

export function addBlock({ blocks }: Pick<ApiServices, 'blocks'>): RouteHandlerMethod {
  return async (request, reply): Promise<BlockRecord> => {
    const { caller, body } = request
    const block = await blocks.add(auditActor(caller), body as BlockRequest, caller.address)
    reply.code(201)
    return toRecord(block)
  }
}

export function removeBlock({ blocks }: Pick<ApiServices, 'blocks'>): RouteHandlerMethod {
  return async (request) => {
    const { kind, value } = request.body as BlockRequest
    await blocks.remove(auditActor(request.caller), kind, value)
    return { kind, value }
  }
}

export function listReports({ reports }: Pick<ApiServices, 'reports'>): RouteHandlerMethod {
  return (request) => {
    const { state = 'open', ...page } = readPageQuery(request) as ReturnType<typeof readPageQuery> & {
      state?: ReportState
    }
    return reports.list({ ...page, state })
  }
}

export function decideReports({ reports }: Pick<ApiServices, 'reports'>): RouteHandlerMethod {
  return async (request) => {
    const slug = readSlug(request)
    const { state } = request.body as { state: 'open' | 'dismissed' }
    await reports.decide(auditActor(request.caller), slug, state)
    return { slug }
  }
}

function toRecord({ createdAt, expiresAt, ...block }: Block): BlockRecord {
  return { ...block, createdAt: toIso(createdAt), expiresAt: toIsoOrNull(expiresAt) }
}

function readReason(request: FastifyRequest): string {
  return (request.body as ModerationReason).reason
}

function readId(request: FastifyRequest): string {
  return (request.params as { id: string }).id
}
