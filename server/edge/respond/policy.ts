export interface Policy {
  /** When the version first became visible at its host. */
  publishedAt: LastModified
  /** When its root document became visible: later than the version when the metadata changed. */
  metadataChangedAt: LastModified
  cacheControl: string
  /** Additional header lines, name before value. */
  extraHeaders: readonly string[]
  /** Names in lower case that `_headers` cannot change. */
  protectedHeaders: ReadonlySet<string>
  protectedErrorHeaders: ReadonlySet<string>
  /** Of the version's `_headers`; empty without rules. */
  headersDigest: string
}

export interface LastModified {
  /** Milliseconds since 1970, in whole seconds. */
  time: number
  date: string
}

export function toLastModified(milliseconds: number): LastModified {
  const time = Math.floor(milliseconds / 1000) * 1000
  return { time, date: new Date(time).toUTCString() }
}

const NO_HEADERS: ReadonlySet<string> = new Set()

const REPORT_HEADER = 'X-Report-Abuse'

const CACHING_HEADERS: ReadonlySet<string> = new Set(['cache-control', 'expires'])

type Times = Pick<Policy, 'publishedAt' | 'metadataChangedAt'>

/** Public: cached by anyone, but revalidated each time (contract, "Serving", 6). */
export function publicPolicy(times: Times): Policy {
  const policy = policyOf(times, 'public, max-age=0, must-revalidate', NO_HEADERS)
  return { ...policy, protectedErrorHeaders: CACHING_HEADERS }
}

/** Content behind a password is cached neither by intermediaries nor by the browser once the password changes. */
export function passwordPolicy(times: Times): Policy {
  return policyOf(times, 'private, no-store', CACHING_HEADERS)
}

/** While a page cannot be made: what is shown in its place is not stored. */
export function temporaryPolicy(policy: Policy): Policy {
  return {
    ...policy,
    cacheControl: 'private, no-store',
    protectedHeaders: new Set([...policy.protectedHeaders, ...CACHING_HEADERS]),
  }
}

/** Responses name where to report the site. With a notice before its pages, no shared cache stores them. */
export function anonymousPolicy(policy: Policy, reportUrl: string, notice: 'off' | 'link' | 'page'): Policy {
  const kept = [REPORT_HEADER.toLowerCase(), ...(notice === 'page' ? CACHING_HEADERS : [])]
  return {
    ...policy,
    cacheControl: notice === 'page' ? policy.cacheControl.replace('public', 'private') : policy.cacheControl,
    extraHeaders: [...policy.extraHeaders, REPORT_HEADER, reportUrl],
    protectedHeaders: new Set([...policy.protectedHeaders, ...kept]),
    protectedErrorHeaders: new Set([...policy.protectedErrorHeaders, ...kept]),
  }
}

/** One version at its own host, which may be secret: neither cached nor indexed, nor sent to other sites. */
export function previewPolicy(times: Times): Policy {
  const protectedHeaders = new Set([...CACHING_HEADERS, 'x-robots-tag', 'referrer-policy'])
  const extraHeaders = ['X-Robots-Tag', 'noindex', 'Referrer-Policy', 'same-origin']
  return { ...policyOf(times, 'private, no-store', protectedHeaders), extraHeaders }
}

function policyOf(times: Times, cacheControl: string, protectedHeaders: ReadonlySet<string>): Policy {
  const protectedErrorHeaders = protectedHeaders
  return {
    ...times,
    cacheControl,
    extraHeaders: [],
    protectedHeaders,
    protectedErrorHeaders,
    headersDigest: '',
  }
}
