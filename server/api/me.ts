import type { RouteHandlerMethod } from 'fastify'
import type { Me } from '../../client/wire.ts'
import { DOMAINS_ALLOWED } from '../domain.ts'
import { sessionId } from '../session.ts'
import { iso } from '../time.ts'
import { accountOf } from './admission.ts'
import type { Rooms } from './rooms.ts'
import { endCookie } from './sign-in.ts'

/** Contract, "Sign-in": the account, its limits and what is used of them. */
export function show({
  accounts,
  limits,
  staging,
  versions,
}: Pick<Rooms, 'accounts' | 'limits' | 'staging' | 'versions'>): RouteHandlerMethod {
  return async (request): Promise<Me> => {
    const account = accountOf(request)
    const { limit, remaining, reset } = await limits.look(request.caller, 'api')
    const files = staging.limitsFor(request.caller)
    return {
      email: account.email,
      plan: account.plan,
      createdAt: iso(account.created_at),
      hasKey: account.key_hash !== null,
      limits: {
        requestsPerHour: limit,
        domains: DOMAINS_ALLOWED[account.plan],
        filesPerSite: files.files,
        fileBytes: files.fileBytes,
        siteBytes: files.siteBytes,
        versionsKept: versions.kept,
      },
      usage: {
        requestsThisHour: limit - remaining,
        resetsAt: iso(reset * 1000),
        ...(await accounts.usage(account)),
      },
    }
  }
}

export function renewKey({ accounts }: Pick<Rooms, 'accounts'>): RouteHandlerMethod {
  return (request) => accounts.renewKey(accountOf(request))
}

/** Everything of the account goes, and with it the session that asks. */
export function leave({ leaving }: Pick<Rooms, 'leaving'>): RouteHandlerMethod {
  return async (request, reply) => {
    const answer = await leaving.leave(accountOf(request), (request.body as { email: string }).email)
    if (request.sessionToken) endCookie(reply)
    return answer
  }
}

export function sessions({ sessions }: Pick<Rooms, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.list(accountOf(request), request.sessionToken)
}

export function endSession({ sessions }: Pick<Rooms, 'sessions'>): RouteHandlerMethod {
  return async (request, reply) => {
    const { id } = request.params as { id: string }
    const answer = await sessions.end(accountOf(request), id)
    if (request.sessionToken && sessionId(request.sessionToken) === id) endCookie(reply)
    return answer
  }
}

export function endOtherSessions({ sessions }: Pick<Rooms, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.endOthers(accountOf(request), request.sessionToken)
}
