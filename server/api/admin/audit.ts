import type { RouteHandlerMethod } from 'fastify'
import type { ApiServices } from '../services.ts'
import { readPageQuery } from './page-query.ts'

export function list({ auditLog }: Pick<ApiServices, 'auditLog'>): RouteHandlerMethod {
  return (request) => auditLog.list(readPageQuery(request))
}
