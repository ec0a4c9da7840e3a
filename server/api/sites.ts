import type { preHandlerAsyncHookHandler } from 'fastify'
import type { Services } from '../services.ts'
import { charge, queriesFor } from './auth.ts'
import { type Call, type Handlers, withClaimToken } from './route.ts'

const DEFAULT_PAGE_SIZE = 50

/** Spec 4.7 to 4.10 and 4.12. */
export function siteHandlers(services: Services) {
  const { sites, names, trash, collaborators, visits } = services
  return {
    listSites: ({ account, query: { limit = DEFAULT_PAGE_SIZE, cursor, q, deleted = false } }) =>
      sites.list(account, { limit, cursor, q, deleted }),
    getSite: ({ account, params }) => sites.details(account, params.slug),
    updateMetadata: ({ account, params, body }) => sites.updateMetadata(account, params.slug, body),
    getVisits: ({ account, params, query: { range = '7d', timeZone = 'UTC', ...filter } }) =>
      visits.report(account, params.slug, { range, timeZone, ...filter }),
    renameSite: ({ account, params, body }) => names.rename(account, params.slug, body.name),
    checkName: ({ caller, params }) => names.check(caller.account, params.name),
    duplicateSite: ({ caller, params }) => sites.duplicate(caller, params.slug),
    deleteSite: (call) => deleteSite(call, services),
    undeleteSite: async ({ account, params }) => {
      const isRestored = await trash.undelete(account, params.slug)
      const details = await sites.details(account, params.slug)
      return isRestored ? details : { ...details, unchanged: true }
    },
    listCollaborators: ({ account, params }) => collaborators.list(account, params.slug),
    addCollaborator: ({ account, params, body }) => collaborators.add(account, params.slug, body.email),
    removeCollaborator: ({ account, params, body }) => collaborators.remove(account, params.slug, body.email),
    claimSite: ({ account, params, body }) => sites.claim(account, params.slug, body),
    previewClaim: ({ params, body }) => sites.claimPreview(params.slug, body.claimToken),
  } satisfies Partial<Handlers>
}

/** Requests with a former name of a site are about the site of today. */
export function followRenames({ store }: Pick<Services, 'store'>): preHandlerAsyncHookHandler {
  return async (request) => {
    const named = request.params as { slug: string }
    named.slug = await queriesFor(request, store).sites.currentName(named.slug)
  }
}

/**
 * Contract, "Deleting an anonymous site". A deletion by claim token is not charged: a publisher that has used up its
 * hour must be able to take a site down.
 */
async function deleteSite(
  { request, reply, caller, params: { slug }, body, query }: Call<'deleteSite'>,
  { trash, limits }: Pick<Services, 'trash' | 'limits'>,
) {
  const { validationError } = request
  const { claimToken } = validationError ? {} : withClaimToken(request, body ?? {})
  if (claimToken === undefined || !(await trash.isUnowned(slug, claimToken)))
    await charge(limits, request, reply)
  if (validationError) throw validationError
  return trash.remove(caller, slug, { claimToken, permanent: query.permanent === true })
}
