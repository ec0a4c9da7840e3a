import type { FastifyRequest } from 'fastify'
import { ADMIN_PAGE_SIZES } from '../../../protocol/api/admin/page.ts'

/** The query of a list for administrators, validated by its schema. */
export function readPageQuery(request: FastifyRequest) {
  const query = request.query as Record<string, string | undefined>
  return { ...query, limit: Number(query.limit ?? ADMIN_PAGE_SIZES.default) }
}
