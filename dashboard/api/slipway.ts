import { Slipway } from '../../client/sdk/slipway.ts'
import { fetchTransport, type Incoming, type Outgoing } from '../../client/sdk/transport.ts'
import { setClock } from './server-clock.ts'
import { isSignInLost, proveSignedIn, rememberSignedIn, signedInAs, signIns } from './session.ts'
import { settings } from './settings.ts'
import { notice } from './standing.ts'

/** Milliseconds that a call of the API may take. */
const PATIENCE = 30_000

/** Calls that are charged to the hour of the account; signing in has a counter of its own. */
const OF_THE_HOUR = /^\/api\/v1\/(?!_upload\/|publish\/[^/]+\/claim\/preview)/

/** In a refusal by the limit of an hour: whose requests it has counted. */
const COUNTED_BY_ADDRESS = /"countedBy":"address"/

/** What takes as long as it takes. */
const LONG = /^\/api\/v1\/(_upload\/|domains\/[^/]+\/events$)/

/** Asks the person to sign in once more; whether they did. The frame of the page sets it. */
let signInAgain: () => Promise<boolean> = async () => false

export function askToSignIn(ask: () => Promise<boolean>): void {
  signInAgain = ask
}

/**
 * The SDK over this page's session. A session that ended meanwhile is not the end of what somebody was doing: they are asked
 * to sign in again, and then the call is made once more.
 */
export const slipway = new Slipway({ baseUrl: '', send: carry })

/** Carries calls of the API as this page does; for those who bring a way of their own for uploads. */
export async function carry(request: Outgoing): Promise<Incoming> {
  const [email, before] = [signedInAs.value, signIns.value]
  const incoming = await carryOnce(request)
  if (!incoming.wantsSignIn || email === null) return incoming
  if (signIns.value === before) {
    if (isSignInLost() || typeof (request.body ?? '') !== 'string') return incoming
    if (!(await signInAgain())) {
      if (signedInAs.value === email) rememberSignedIn(null)
      return incoming
    }
  }
  if (signedInAs.value !== email) return incoming
  const again = await carryOnce(request)
  if (again.wantsSignIn) isSignInLost()
  return again
}

interface Answer extends Incoming {
  /** Whether it is a refusal that somebody who is signed in would not have got. */
  wantsSignIn: boolean
}

async function carryOnce(request: Outgoing): Promise<Answer> {
  const url = here(request.url)
  const incoming = await fetchTransport({ ...request, url, ...limited(request) })
  setClock(incoming.header)
  if (OF_THE_HOUR.test(url)) {
    notice(incoming.header)
    if (incoming.status < 400) proveSignedIn()
    if (incoming.status === 429) return tooMany(incoming)
  }
  return { ...incoming, wantsSignIn: incoming.status === 401 }
}

/** A caller whose session has ended is counted with everybody at the address, and may be refused before being asked who it is. */
async function tooMany(incoming: Incoming): Promise<Answer> {
  const body = await incoming.text()
  return { ...incoming, text: async () => body, wantsSignIn: COUNTED_BY_ADDRESS.test(body) }
}

/** An address of this service, whatever name this page was opened by. */
export function here(url: string): string {
  return url.startsWith(`${settings.baseUrl}/`) ? url.slice(settings.baseUrl.length) : url
}

function limited({ url, signal }: Outgoing): Pick<Outgoing, 'signal'> {
  if (LONG.test(here(url))) return signal ? { signal } : {}
  const late = AbortSignal.timeout(PATIENCE)
  return { signal: signal ? AbortSignal.any([signal, late]) : late }
}
