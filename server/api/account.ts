import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Me } from '../../protocol/api/account.schema.ts'
import type { SignInClient } from '../accounts/account.ts'
import { requireKeyHash } from '../accounts/authorization.ts'
import { readSwitches } from '../accounts/notice-switches.ts'
import { SESSION_TTL_SECONDS, sessionId } from '../accounts/session.ts'
import { DAY_SECONDS, toIso } from '../lib/time.ts'
import { newSessionToken } from '../lib/tokens.ts'
import type { Services } from '../services.ts'
import { describeSuspension } from '../sites/site.ts'
import { charge, isSameOrigin } from './auth.ts'
import { readAuthorizationCookie, readCookie, setCookie } from './cookies.ts'
import type { Call, Handlers } from './route.ts'

const BROWSER_SECONDS = 180 * DAY_SECONDS

/** Spec 4.1 and 4.2; contract, "Sign-in". */
export function signInHandlers({ accounts, sessions, baseUrl }: Services) {
  return {
    requestCode: async ({ request, reply, body }) => {
      const client = toSignInClient(request, baseUrl)
      const answer = await accounts.requestCode(body.email, client)
      // By this cookie a browser is recognized as one that signed in before, whether the address is known or not.
      if (client.isPage && !readCookie(request, baseUrl, 'browser'))
        setCookie(reply, baseUrl, { kind: 'browser', value: newSessionToken(), seconds: BROWSER_SECONDS })
      return answer
    },
    verifyCode: ({ request, body }) => accounts.verifyCode(body, toSignInClient(request, baseUrl)),
    openSession: async ({ request, reply, body }) => {
      const client = { ...toSignInClient(request, baseUrl), userAgent: request.headers['user-agent'] }
      const { token, ...answer } = await accounts.openSession(body, client)
      setCookie(reply, baseUrl, { kind: 'session', value: token, seconds: SESSION_TTL_SECONDS })
      return answer
    },
    closeSession: async ({ request, reply }) => {
      if (request.sessionToken) await sessions.close(request.sessionToken)
      endCookie(reply, baseUrl)
      return { success: true }
    },
  } satisfies Partial<Handlers>
}

function endCookie(reply: FastifyReply, baseUrl: string): void {
  setCookie(reply, baseUrl, { kind: 'session', value: '', seconds: 0 })
}

/** Cookies count for calls of the service's own pages only. */
function toSignInClient(request: FastifyRequest, baseUrl: string): SignInClient {
  const { address } = request.caller
  if (!isSameOrigin(request, new URL(baseUrl).origin)) return { address, browserTokens: [] }
  const tokens = (['browser', 'session'] as const).map((kind) => readCookie(request, baseUrl, kind))
  return { address, browserTokens: tokens.filter((token) => token !== undefined), isPage: true }
}

export function accountHandlers(services: Services) {
  const { accounts, accountDeletion, baseUrl, sessions } = services
  return {
    getAccount: (call) => describeAccount(call, services),
    updateAccount: ({ account, body }) => accounts.changeNotices(account, body),
    deleteAccount: async ({ account, body, request, reply }) => {
      const answer = await accountDeletion.deleteAccount(account, body.email)
      if (request.sessionToken) endCookie(reply, baseUrl)
      return answer
    },
    renewKey: ({ account }) => accounts.renewKey(account),
    endKey: async ({ account, caller }) => {
      await accounts.endKey(account, requireKeyHash(caller))
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
  {
    accounts,
    limits,
    namedKeys,
    plans,
    versions,
  }: Pick<Services, 'accounts' | 'limits' | 'namedKeys' | 'plans' | 'versions'>,
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

export function credentialHandlers(services: Services) {
  const { namedKeys, trusts, programs, deviceSignIns, baseUrl } = services
  return {
    listKeys: ({ account, caller }) => namedKeys.list(account, caller.keyHash),
    createKey: ({ caller, body }) => namedKeys.create(caller, body),
    revokeKey: ({ account, params }) => namedKeys.revoke(account, params.id),
    listTrusts: ({ account }) => trusts.list(account),
    createTrust: ({ account, body }) => trusts.create(account, body),
    removeTrust: ({ account, params }) => trusts.remove(account, params.id),
    exchangeIdToken: (call) => exchangeIdToken(call, services),
    getDeviceRequest: ({ account, body, caller }) =>
      deviceSignIns.describe(account, body.userCode, caller.address),
    decideDeviceRequest: ({ account, body, credentialHash: allowedBy }) =>
      deviceSignIns.decide(account, body.userCode, { allowed: body.allow, allowedBy }),
    getAuthorization: ({ params, request }) =>
      programs.describe(params.id, readAuthorizationCookie(request, baseUrl)),
    decideAuthorization: ({ account, params, body, request, credentialHash: allowedBy }) => {
      const cookie = readAuthorizationCookie(request, baseUrl)
      return programs.decide(account, { id: params.id, cookie, allow: body.allow, allowedBy })
    },
    listPrograms: ({ account }) => programs.list(account),
    revokeProgram: ({ account, params }) => programs.revoke(account, params.id),
  } satisfies Partial<Handlers>
}

/** Runners of many repositories share an address: only failures are charged to it, keys to the account of a trust. */
async function exchangeIdToken(
  { request, reply, body }: Call<'exchangeIdToken'>,
  { trusts, limits }: Pick<Services, 'trusts' | 'limits'>,
) {
  const chargeAddress = () => charge(limits, request, reply, 'sign-in')
  const { remaining } = await limits.peek(request.caller, 'sign-in')
  if (remaining === 0) await chargeAddress()
  try {
    if (request.validationError) throw request.validationError
    return await trusts.exchange(body, async (account) => {
      request.caller.account = account
      await charge(limits, request, reply)
    })
  } catch (error) {
    if (!request.caller.account) await chargeAddress()
    throw error
  }
}
