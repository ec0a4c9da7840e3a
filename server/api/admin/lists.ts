import type { RouteHandlerMethod } from 'fastify'
import type { ApiServices } from '../services.ts'
import { readPageQuery } from './page-query.ts'

type ListServices = Pick<ApiServices, 'lists'>

export function sites({ lists }: ListServices): RouteHandlerMethod {
  return (request) => lists.sites(readPageQuery(request))
}

export function accounts({ lists }: ListServices): RouteHandlerMethod {
  return (request) => lists.accounts(readPageQuery(request))
}

export function domains({ lists }: ListServices): RouteHandlerMethod {
  return (request) => lists.domains(readPageQuery(request))
}

export function certificates({ lists }: ListServices): RouteHandlerMethod {
  return (request) => lists.certificates(readPageQuery(request))
}

export function nodes({ lists }: ListServices): RouteHandlerMethod {
  return () => lists.nodes()
}

export function sweeps({ sweepList }: Pick<ApiServices, 'sweepList'>): RouteHandlerMethod {
  return () => sweepList.show()
}
