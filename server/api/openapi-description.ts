import type { Route } from './route.ts'

/** What a caller of a route has to know beside its summary: its own sentences, then its access and its charge. */
export function describeRoute(route: Route): string {
  return [route.details, describeAccess(route), describeCharge(route)].filter(Boolean).join(' ')
}

function describeAccess({ access, auth, headers, method }: Route): string {
  if (access === 'public') return 'Needs no key.'
  if (access === 'any')
    return `Accepts every valid key${auth === 'optional' ? ', and requests without one' : ', whatever its scope'}.`
  if (access === 'admin')
    return `For administrators: needs a key of scope admin, or a browser session${method === 'GET' ? '' : ' that began in the last 12 hours'}.`
  const { scope, reach, previews } = access
  const keys = `Needs a key of scope ${scope}${previews ? ' (preview for a preview)' : ''}${REACH[reach]}`
  if (auth !== 'optional') return `${keys}.`
  return `${keys}, or ${headers ? 'the claim token of a site without an owner' : 'no key'}.`
}

const REACH = {
  site: '',
  account: ' that is not limited to sites',
  credentials: ' that is not limited to sites and does not expire',
}

function describeCharge({ charge, ends }: Route): string | undefined {
  if (charge === 'none') return 'It does not count towards the hourly limit of requests.'
  if (charge === 'sign-in') return 'It counts towards the hourly limit of sign-ins of the network.'
  if (charge === 'handler') return undefined
  return ends
    ? 'It does not count towards the hourly limit of requests.'
    : 'It counts towards the hourly limit of requests.'
}
