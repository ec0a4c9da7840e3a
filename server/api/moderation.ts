import type { BlockRecord } from '../../protocol/api/admin/moderation.schema.ts'
import { auditActor } from '../accounts/administrators.ts'
import { toIso, toIsoOrNull } from '../lib/time.ts'
import type { Services } from '../services.ts'
import type { Block } from '../store/tables/moderation.ts'
import { readPage } from './administration.ts'
import type { Handlers } from './route.ts'

const OWN_ACCOUNT =
  'This is your own account. You can still use /admin and end the suspension there; your sites are offline.'

export function moderationHandlers({
  moderatedSites,
  suspensions,
  removals,
}: Pick<Services, 'moderatedSites' | 'suspensions' | 'removals'>) {
  return {
    getModeratedSite: ({ params }) => moderatedSites.find(params.slug),
    suspendSite: async ({ caller, params: { slug }, body }) => {
      await suspensions.suspendSite(auditActor(caller), slug, body)
      return { slug }
    },
    resumeSite: async ({ caller, params: { slug } }) => {
      await suspensions.resumeSite(auditActor(caller), slug)
      return { slug }
    },
    removeSite: async ({ caller, params: { slug }, body }) => {
      await removals.deleteSite(auditActor(caller), slug, body.reason)
      return { slug }
    },
    suspendAccount: async ({ caller, params: { id }, body }) => {
      const email = await suspensions.suspendAccount(auditActor(caller), id, body)
      return { email, ...(caller.account?.id === id && { message: OWN_ACCOUNT }) }
    },
    resumeAccount: async ({ caller, params }) => ({
      email: await suspensions.resumeAccount(auditActor(caller), params.id),
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

export function reportHandlers({ blocks, reports }: Pick<Services, 'blocks' | 'reports'>) {
  return {
    listBlocks: async () => ({ blocks: (await blocks.list()).map(toRecord) }),
    addBlock: async ({ caller, body }) =>
      toRecord(await blocks.add(auditActor(caller), body, caller.address)),
    removeBlock: async ({ caller, body: { kind, value } }) => {
      await blocks.remove(auditActor(caller), kind, value)
      return { kind, value }
    },
    reportPage: async ({ caller, body }) => {
      await reports.add(body, caller.address)
      return { received: true }
    },
    listReports: ({ query: { state = 'open', ...page } }) => reports.list({ ...readPage(page), state }),
    decideReports: async ({ caller, params: { slug }, body }) => {
      await reports.decide(auditActor(caller), slug, body.state)
      return { slug }
    },
  } satisfies Partial<Handlers>
}

function toRecord({ createdAt, expiresAt, ...block }: Block): BlockRecord {
  return { ...block, createdAt: toIso(createdAt), expiresAt: toIsoOrNull(expiresAt) }
}
