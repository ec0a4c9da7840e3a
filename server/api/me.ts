import type { RouteHandlerMethod } from 'fastify'
import type { KeyEndedResponse, Me, MeChange, MeChangeResponse } from '../../protocol/api/account.schema.ts'
import { assertAccountNotSuspended, requireKeyHash } from '../accounts/authorization.ts'
import { readSwitches } from '../accounts/notice-switches.ts'
import { sessionId } from '../accounts/session.ts'
import { toIso } from '../lib/time.ts'
import { describeSuspension } from '../sites/site.ts'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'
import { endCookie } from './sign-in.ts'

/** Contract, "Sign-in": the account, its limits and usage. */
export function show({
  accounts,
  limits,
  namedKeys,
  plans,
  versions,
}: Pick<ApiServices, 'accounts' | 'limits' | 'namedKeys' | 'plans' | 'versions'>): RouteHandlerMethod {
  return async (request): Promise<Me> => {
    const account = requireCallerAccount(request)
    // The limit of the plan, also for a browser session, which is counted separately.
    const { limit, remaining, reset } = await limits.peek({ ...request.caller, signedInWith: 'key' }, 'api')
    const { name, ...planLimits } = plans.limitsOf(account)
    return {
      ...describeSuspension(account),
      email: account.email,
      plan: account.plan,
      planName: name,
      createdAt: toIso(account.createdAt),
      hasKey: account.keyHash !== null || request.caller.signedInWith === 'key',
      key: (await namedKeys.describe(request.caller)) ?? null,
      administrator: account.administratorSince !== null,
      ...readSwitches(account),
      emailProblem:
        account.emailRefusedAt === null
          ? null
          : { at: toIso(account.emailRefusedAt), reply: account.emailRefusal ?? '' },
      limits: {
        ...planLimits,
        draftLifetimeSeconds: versions.draftLifetimeSeconds,
      },
      usage: {
        requestsThisHour: limit - remaining,
        resetsAt: toIso(reset * 1000),
        ...(await accounts.usage(account)),
      },
    }
  }
}

export function update({ accounts }: Pick<ApiServices, 'accounts'>): RouteHandlerMethod {
  return (request): Promise<MeChangeResponse> =>
    accounts.changeNotices(requireCallerAccount(request), request.body as MeChange)
}

export function renewKey({ accounts }: Pick<ApiServices, 'accounts'>): RouteHandlerMethod {
  return (request) => accounts.renewKey(requireCallerAccount(request))
}

/** Ends the key of the request; with a session UNAUTHORIZED. */
export function endKey({ accounts }: Pick<ApiServices, 'accounts'>): RouteHandlerMethod {
  return async (request): Promise<KeyEndedResponse> => {
    await accounts.endKey(requireKeyHash(request.caller))
    return { ended: true }
  }
}

/** Deletes everything of the account, including the calling session. ACCOUNT_SUSPENDED. */
export function deleteAccount({
  accountDeletion,
  baseUrl,
}: Pick<ApiServices, 'accountDeletion' | 'baseUrl'>): RouteHandlerMethod {
  return async (request, reply) => {
    const account = requireCallerAccount(request)
    // Its address could create an account again, which would not be suspended.
    assertAccountNotSuspended(account)
    const answer = await accountDeletion.deleteAccount(account, (request.body as { email: string }).email)
    if (request.sessionToken) endCookie(reply, baseUrl)
    return answer
  }
}

export function sessions({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.list(requireCallerAccount(request), request.sessionToken)
}

export function endSession({
  sessions,
  baseUrl,
}: Pick<ApiServices, 'sessions' | 'baseUrl'>): RouteHandlerMethod {
  return async (request, reply) => {
    const { id } = request.params as { id: string }
    const answer = await sessions.end(requireCallerAccount(request), id)
    if (request.sessionToken && sessionId(request.sessionToken) === id) endCookie(reply, baseUrl)
    return answer
  }
}

export function endOtherSessions({ sessions }: Pick<ApiServices, 'sessions'>): RouteHandlerMethod {
  return (request) => sessions.endOthers(requireCallerAccount(request), request.sessionToken)
}
