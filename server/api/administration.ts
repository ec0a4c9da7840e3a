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
    setAdministrator: async ({ caller, params, body: { administrator } }) => {
      await administrators.set(auditActor(caller), params.id, administrator)
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

function readPage<Q extends { limit?: number }>(query: Q): Q & { limit: number } {
  return { ...query, limit: query.limit ?? ADMIN_PAGE_SIZES.default }
}

const OWN_ACCOUNT =
  'This is your own account. You can still use /admin and end the suspension there; your sites are offline.'

export function moderationHandlers({ moderatedSites, suspensions, removals }: Services) {
  return {
    getModeratedSite: ({ params }) => moderatedSites.find(params.slug),
    suspendSite: async ({ caller, params: { slug }, body }) => {
      await suspensions.changeSite(auditActor(caller), slug, body)
      return { slug }
    },
    resumeSite: async ({ caller, params: { slug } }) => {
      await suspensions.changeSite(auditActor(caller), slug)
      return { slug }
    },
    removeSite: async ({ caller, params: { slug }, body }) => {
      await removals.deleteSite(auditActor(caller), slug, body.reason)
      return { slug }
    },
    suspendAccount: async ({ caller, params: { id }, body }) => {
      const email = await suspensions.changeAccount(auditActor(caller), id, body)
      return { email, ...(caller.account?.id === id && { message: OWN_ACCOUNT }) }
    },
    resumeAccount: async ({ caller, params }) => ({
      email: await suspensions.changeAccount(auditActor(caller), params.id),
    }),
    removeAccount: async ({ caller, params, body }) => ({
      email: await removals.deleteAccount(auditActor(caller), params.id, body.reason),
    }),
    releaseDomain: async ({ caller, params: { domain }, body }) => {
      await removals.releaseDomain(auditActor(caller), domain, body.reason)
      return { domain }
    },
  } satisfies Partial<Handlers>
}

export function reportHandlers({ blocks, reports }: Services) {
  return {
    listBlocks: async () => ({ blocks: await blocks.list() }),
    addBlock: ({ caller, body }) => blocks.add(auditActor(caller), body, caller.address),
    removeBlock: async ({ caller, body: { kind, value } }) => {
      await blocks.remove(auditActor(caller), kind, value)
      return { kind, value }
    },
    reportPage: async ({ caller, body }) => {
      await reports.add(body, caller)
      return { received: true }
    },
    listReports: ({ query: { state = 'open', ...page } }) => reports.list({ ...readPage(page), state }),
    decideReports: async ({ caller, params: { slug }, body }) => {
      await reports.decide(auditActor(caller), slug, body.state)
      return { slug }
    },
  } satisfies Partial<Handlers>
}
