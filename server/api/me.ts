import type { RouteHandlerMethod } from 'fastify'
import type { Me } from '../../protocol/api/account.ts'
import { sessionId } from '../accounts/session.ts'
import { MAX_DOMAINS } from '../domains/domain.ts'
import { toIso } from '../lib/time.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { endCookie } from './sign-in.ts'

/** Contract, "Sign-in": the account, its limits and usage. */
export function show({
  accounts,
  limits,
  pendingVersions,
  versions,
}: Pick<ApiServices, 'accounts' | 'limits' | 'pendingVersions' | 'versions'>): RouteHandlerMethod {
  return async (request): Promise<Me> => {
    const account = requireCallerAccount(request)
    // The limit of the plan, also for a browser session, which is counted separately.
    const { limit, remaining, reset } = await limits.peek({ ...request.caller, signedInWith: 'key' }, 'api')
    const files = pendingVersions.limitsFor(request.caller)
    return {
      email: account.email,
      plan: account.plan,
      createdAt: toIso(account.createdAt),
      hasKey: account.keyHash !== null,
      limits: {
        requestsPerHour: limit,
        domains: MAX_DOMAINS[account.plan],
        filesPerSite: files.files,
        fileBytes: files.fileBytes,
        siteBytes: files.siteBytes,
        versionsKept: versions.maxVersions,
      },
      usage: {
        requestsThisHour: limit - remaining,
        resetsAt: toIso(reset * 1000),
        ...(await accounts.usage(account)),
      },
    }
  }
}

export function renewKey({ accounts }: Pick<ApiServices, 'accounts'>): RouteHandlerMethod {
  return (request) => accounts.renewKey(requireCallerAccount(request))
}

/** Deletes everything of the account, including the calling session. */
export function deleteAccount({ accountDeletion }: Pick<ApiServices, 'accountDeletion'>): RouteHandlerMethod {
  return async (request, reply) => {
    const answer = await accountDeletion.deleteAccount(
      requireCallerAccount(request),
      (request.body as { email: string }).email,
    )
    if (request.sessionToken) endCookie(reply)
    return answer
  }
}

export function sessions({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.list(requireCallerAccount(request), request.sessionToken)
}

export function endSession({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return async (request, reply) => {
    const { id } = request.params as { id: string }
    const answer = await sessions.end(requireCallerAccount(request), id)
    if (request.sessionToken && sessionId(request.sessionToken) === id) endCookie(reply)
    return answer
  }
}

export function endOtherSessions({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.endOthers(requireCallerAccount(request), request.sessionToken)
}
