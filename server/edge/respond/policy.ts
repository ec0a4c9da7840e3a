/** What all responses of a version have in common. */
export interface Policy {
  /** When the version first became visible there. */
  publishedAt: LastModified
  /** When its root document became visible: the site's metadata may have changed since. */
  metadataChangedAt: LastModified
  cacheControl: string
  /** Additional header lines, name before value. */
  extraHeaders: readonly string[]
  /** Header names in lower case that `_headers` cannot change. */
  protectedHeaders: ReadonlySet<string>
  /** The same for errors. */
  protectedErrorHeaders: ReadonlySet<string>
}

/** A time for validators. */
export interface LastModified {
  /** Milliseconds since 1970, whole seconds. */
  time: number
  /** The same as an HTTP date. */
  date: string
}

/** `milliseconds` since 1970. */
export function toLastModified(milliseconds: number): LastModified {
  const time = Math.floor(milliseconds / 1000) * 1000
  return { time, date: new Date(time).toUTCString() }
}

const NO_HEADERS: ReadonlySet<string> = new Set()

/** The name that email uses for the address of a form for reports. */
const REPORT_HEADER = 'X-Report-Abuse'

/** Headers that control caches. */
const CACHING_HEADERS: ReadonlySet<string> = new Set(['cache-control', 'expires'])

/** Public: cached by anyone, but revalidated each time (contract, "Serving", 6). */
export function publicPolicy(times: Pick<Policy, 'publishedAt' | 'metadataChangedAt'>): Policy {
  const cacheControl = 'public, max-age=0, must-revalidate'
  return {
    ...times,
    cacheControl,
    extraHeaders: [],
    protectedHeaders: NO_HEADERS,
    protectedErrorHeaders: CACHING_HEADERS,
  }
}

/**
 * Content behind a password is cached neither by intermediaries nor by the browser once the password changes.
 */
export function passwordPolicy(times: Pick<Policy, 'publishedAt' | 'metadataChangedAt'>): Policy {
  return {
    ...times,
    cacheControl: 'private, no-store',
    extraHeaders: [],
    protectedHeaders: CACHING_HEADERS,
    protectedErrorHeaders: CACHING_HEADERS,
  }
}

/**
 * Of an anonymous site: its responses name where to report it. With a notice before its pages, no cache that several
 * visitors share has them.
 */
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
export function previewPolicy(times: Pick<Policy, 'publishedAt' | 'metadataChangedAt'>): Policy {
  const protectedHeaders = new Set([...CACHING_HEADERS, 'x-robots-tag', 'referrer-policy'])
  const extraHeaders = ['X-Robots-Tag', 'noindex', 'Referrer-Policy', 'same-origin']
  return {
    ...times,
    cacheControl: 'private, no-store',
    extraHeaders,
    protectedHeaders,
    protectedErrorHeaders: protectedHeaders,
  }
}
