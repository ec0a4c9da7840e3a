import { ADMIN_PAGE_SIZES } from '../../protocol/api/admin/page.ts'
import { auditActor } from '../accounts/administrators.ts'
import type { Services } from '../services.ts'
import type { Handlers } from './route.ts'

export function administrationHandlers(services: Services) {
  const { overviews, lists, sweepList, policies, administrators, invitations, banners } = services
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
    listAuditEntries: ({ query }) => lists.auditEntries(readPage(query)),
    setPlan: ({ caller, params, body }) => administrators.setPlan(auditActor(caller), params.id, body),
    setAdministrator: ({ caller, params, body }) =>
      administrators.set(auditActor(caller), params.id, body.administrator),
    listInvitations: ({ query }) => invitations.list(readPage(query)),
    invite: ({ caller, body }) => invitations.invite(auditActor(caller), body.email),
    revokeInvitation: ({ caller, params }) => invitations.revoke(auditActor(caller), params.email),
    getBanner: async () => ({ banner: await banners.find() }),
    setBanner: async ({ caller, body }) => ({ banner: await banners.set(auditActor(caller), body) }),
    clearBanner: async ({ caller }) => {
      await banners.clear(auditActor(caller))
      return { banner: null }
    },
  } satisfies Partial<Handlers>
}

function readPage<Q extends { limit?: number }>(query: Q): Q & { limit: number } {
  return { ...query, limit: query.limit ?? ADMIN_PAGE_SIZES.default }
}

const OWN_ACCOUNT =
  'This is your own account. You can still use /admin and end the suspension there; your sites are offline.'

export function moderationHandlers({ moderatedSites, suspensions, removals }: Services) {
  return {
    getModeratedSite: ({ params }) => moderatedSites.find(params.slug),
    suspendSite: ({ caller, params, body }) => suspensions.changeSite(auditActor(caller), params.slug, body),
    resumeSite: ({ caller, params }) => suspensions.changeSite(auditActor(caller), params.slug),
    removeSite: ({ caller, params, body }) =>
      removals.deleteSite(auditActor(caller), params.slug, body.reason),
    suspendAccount: async ({ caller, params: { id }, body }) => {
      const suspended = await suspensions.changeAccount(auditActor(caller), id, body)
      return { ...suspended, ...(caller.account?.id === id && { message: OWN_ACCOUNT }) }
    },
    resumeAccount: ({ caller, params }) => suspensions.changeAccount(auditActor(caller), params.id),
    removeAccount: ({ caller, params, body }) =>
      removals.deleteAccount(auditActor(caller), params.id, body.reason),
    releaseDomain: ({ caller, params, body }) =>
      removals.releaseDomain(auditActor(caller), params.domain, body.reason),
  } satisfies Partial<Handlers>
}

export function reportHandlers({ blocks, reports }: Services) {
  return {
    listBlocks: async () => ({ blocks: await blocks.list() }),
    addBlock: ({ caller, body }) => blocks.add(auditActor(caller), body, caller.address),
    removeBlock: ({ caller, body }) => blocks.remove(auditActor(caller), body),
    reportPage: async ({ caller, body }) => {
      await reports.add(body, caller)
      return { received: true }
    },
    listReports: ({ query: { state = 'open', ...page } }) => reports.list({ ...readPage(page), state }),
    decideReports: ({ caller, params, body }) => reports.decide(auditActor(caller), params.slug, body.state),
  } satisfies Partial<Handlers>
}
