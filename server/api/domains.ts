import type { Services } from '../services.ts'
import { followDomain } from './domain-events.ts'
import type { Handlers } from './route.ts'

/** Spec 4.11. */
export function domainHandlers({ domains }: Pick<Services, 'domains'>) {
  return {
    listDomains: ({ account }) => domains.list(account),
    addDomain: ({ account, body }) => domains.add(account, body.domain, body.siteSlug),
    checkDomain: ({ account, params }) => domains.check(account, params.domain),
    followDomain: (call) => followDomain(call, domains),
    removeDomain: ({ account, params }) => domains.remove(account, params.domain),
  } satisfies Partial<Handlers>
}
