import type { Me } from '../../protocol/api/account.schema.ts'
import { assertAccountNotSuspended, requireKeyHash } from '../accounts/authorization.ts'
import { readSwitches } from '../accounts/notice-switches.ts'
import { sessionId } from '../accounts/session.ts'
import { toIso } from '../lib/time.ts'
import type { Services } from '../services.ts'
import { describeSuspension } from '../sites/site.ts'
import type { Call, Handlers } from './route.ts'
import { endCookie } from './sign-in.ts'

type AccountServices = Pick<
  Services,
  'accounts' | 'accountDeletion' | 'baseUrl' | 'limits' | 'namedKeys' | 'plans' | 'sessions' | 'versions'
>

/** Contract, "Sign-in". */
export function accountHandlers(services: AccountServices) {
  const { accounts, accountDeletion, baseUrl, sessions } = services
  return {
    getAccount: (call) => describeAccount(call, services),
    updateAccount: ({ account, body }) => accounts.changeNotices(account, body),
    deleteAccount: async ({ account, body, request, reply }) => {
      // Its address could create an account again, which would not be suspended.
      assertAccountNotSuspended(account)
      const answer = await accountDeletion.deleteAccount(account, body.email)
      if (request.sessionToken) endCookie(reply, baseUrl)
      return answer
    },
    renewKey: ({ account }) => accounts.renewKey(account),
    endKey: async ({ caller }) => {
      await accounts.endKey(requireKeyHash(caller))
      return { ended: true }
    },
    listSessions: ({ account, request }) => sessions.list(account, request.sessionToken),
    endSession: async ({ account, params, request, reply }) => {
      const answer = await sessions.end(account, params.id)
      if (request.sessionToken && sessionId(request.sessionToken) === params.id) endCookie(reply, baseUrl)
      return answer
    },
    endOtherSessions: ({ account, request }) => sessions.endOthers(account, request.sessionToken),
  } satisfies Partial<Handlers>
}

async function describeAccount(
  { account, caller }: Call<'getAccount'>,
  { accounts, limits, namedKeys, plans, versions }: AccountServices,
): Promise<Me> {
  // The limit of the plan, also for a browser session, which is counted separately.
  const { limit, remaining, reset } = await limits.peek({ ...caller, signedInWith: 'key' }, 'api')
  const { name, ...planLimits } = plans.limitsOf(account)
  return {
    ...describeSuspension(account),
    email: account.email,
    plan: account.plan,
    planName: name,
    createdAt: toIso(account.createdAt),
    hasKey: account.keyHash !== null || caller.signedInWith === 'key',
    key: (await namedKeys.describe(caller)) ?? null,
    administrator: account.administratorSince !== null,
    ...readSwitches(account),
    emailProblem:
      account.emailRefusedAt === null
        ? null
        : { at: toIso(account.emailRefusedAt), reply: account.emailRefusal ?? '' },
    limits: { ...planLimits, draftLifetimeSeconds: versions.draftLifetimeSeconds },
    usage: {
      requestsThisHour: limit - remaining,
      resetsAt: toIso(reset * 1000),
      ...(await accounts.usage(account)),
    },
  }
}
