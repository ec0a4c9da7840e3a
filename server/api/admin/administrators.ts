import type { RouteHandlerMethod } from 'fastify'
import type { AdministratorChange } from '../../../protocol/api/admin/audit.ts'
import type { ApiServices } from '../services.ts'

/** Marks an account as an administrator, or removes the mark. */
export function set({ administrators }: Pick<ApiServices, 'administrators'>): RouteHandlerMethod {
  return async (request): Promise<AdministratorChange> => {
    const { administrator } = request.body as AdministratorChange
    await administrators.set(request.caller, (request.params as { id: string }).id, administrator)
    return { administrator }
  }
}
