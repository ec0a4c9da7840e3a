import { ADMIN_PAGE_SIZES } from '../../protocol/api/admin/page.ts'
import { auditActor } from '../accounts/administrators.ts'
import type { Services } from '../services.ts'
import type { Handlers } from './route.ts'

type AdministrationServices = Pick<
  Services,
  | 'overviews'
  | 'lists'
  | 'sweepList'
  | 'policies'
  | 'auditLog'
  | 'accountPlans'
  | 'administrators'
  | 'invitations'
  | 'banners'
>

export function administrationHandlers({
  overviews,
  lists,
  sweepList,
  policies,
  auditLog,
  accountPlans,
  administrators,
  invitations,
  banners,
}: AdministrationServices) {
  return {
    getOverview: () => overviews.show(),
    getActivity: ({ query }) => overviews.activity(query.range ?? '24h'),
    listAllSites: ({ query }) => lists.sites(readPage(query)),
    listAccounts: ({ query }) => lists.accounts(readPage(query)),
    listAllDomains: ({ query }) => lists.domains(readPage(query)),
    listCertificates: ({ query }) => lists.certificates(readPage(query)),
    listSweeps: () => sweepList.show(),
    listNodes: () => lists.nodes(),
    getPolicies: () => policies,
    listAuditEntries: ({ query }) => auditLog.list(readPage(query)),
    setPlan: ({ caller, params, body }) => accountPlans.set(auditActor(caller), params.id, body),
    setAdministrator: async ({ caller, params, body: { administrator } }) => {
      await administrators.set(caller, params.id, administrator)
      return { administrator }
    },
    listInvitations: ({ query }) => invitations.list(readPage(query)),
    invite: ({ caller, body }) => invitations.invite(auditActor(caller), body.email),
    revokeInvitation: async ({ caller, params: { email } }) => {
      await invitations.revoke(auditActor(caller), email)
      return { email }
    },
    getBanner: async () => ({ banner: await banners.find() }),
    setBanner: async ({ caller, body }) => ({ banner: await banners.set(auditActor(caller), body) }),
    clearBanner: async ({ caller }) => {
      await banners.clear(auditActor(caller))
      return { banner: null }
    },
  } satisfies Partial<Handlers>
}

export function readPage<Q extends { limit?: number }>(query: Q): Q & { limit: number } {
  return { ...query, limit: query.limit ?? ADMIN_PAGE_SIZES.default }
}
