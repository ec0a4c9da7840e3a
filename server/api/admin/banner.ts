import type { RouteHandlerMethod } from 'fastify'
import type { BannerRequest, BannerResponse } from '../../../protocol/api/admin/banner.schema.ts'
import { auditActor } from '../../accounts/administrators.ts'
import type { ApiServices } from '../services.ts'

type BannerServices = Pick<ApiServices, 'banners'>

export function show({ banners }: BannerServices): RouteHandlerMethod {
  return async (): Promise<BannerResponse> => ({ banner: await banners.find() })
}

export function set({ banners }: BannerServices): RouteHandlerMethod {
  return async ({ caller, body }): Promise<BannerResponse> => ({
    banner: await banners.set(auditActor(caller), body as BannerRequest),
  })
}

export function clear({ banners }: BannerServices): RouteHandlerMethod {
  return async ({ caller }): Promise<BannerResponse> => {
    await banners.clear(auditActor(caller))
    return { banner: null }
  }
}
