import type { RouteHandlerMethod } from 'fastify'
import type { ReportReceived, ReportRequest } from '../../protocol/api/reports.schema.ts'
import type { ApiServices } from './services.ts'

export function create({ reports }: Pick<ApiServices, 'reports'>): RouteHandlerMethod {
  return async (request, reply): Promise<ReportReceived> => {
    await reports.add(request.body as ReportRequest, request.caller.address)
    reply.code(202)
    return { received: true }
  }
}
