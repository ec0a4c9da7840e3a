import type { Services } from '../services.ts'
import { charge } from './auth.ts'
import { readAuthorizationCookie } from './cookies.ts'
import type { Call, Handlers } from './route.ts'

type CredentialServices = Pick<
  Services,
  'namedKeys' | 'trusts' | 'limits' | 'programs' | 'deviceSignIns' | 'baseUrl'
>

export function credentialHandlers({
  namedKeys,
  trusts,
  limits,
  programs,
  deviceSignIns,
  baseUrl,
}: CredentialServices) {
  return {
    listKeys: ({ account, caller }) => namedKeys.list(account, caller.keyHash),
    createKey: ({ caller, body }) => namedKeys.create(caller, body),
    revokeKey: ({ account, params }) => namedKeys.revoke(account, params.id),
    listTrusts: ({ account }) => trusts.list(account),
    createTrust: ({ account, body }) => trusts.create(account, body),
    removeTrust: ({ account, params }) => trusts.remove(account, params.id),
    exchangeIdToken: (call) => exchangeIdToken(call, { trusts, limits }),
    getDeviceRequest: ({ account, body, caller }) =>
      deviceSignIns.describe(account, body.userCode, caller.address),
    decideDeviceRequest: ({ account, body }) => deviceSignIns.decide(account, body.userCode, body.allow),
    getAuthorization: ({ params, request }) =>
      programs.describe(params.id, readAuthorizationCookie(request, baseUrl)),
    decideAuthorization: ({ account, params, body, request }) => {
      const cookie = readAuthorizationCookie(request, baseUrl)
      return programs.decide(account, { id: params.id, cookie, allow: body.allow })
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
