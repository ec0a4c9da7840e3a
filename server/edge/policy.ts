/** What all answers of a version have in common. */
export interface Policy {
  /** When visitors first could see the version there. */
  live: Moment
  /** When they first could see what its root says: what is said of the site may have changed since. */
  said: Moment
  cacheControl: string
  /** Further header lines, name before value. */
  more: readonly string[]
  /** Names, in lower case, that `_headers` cannot change. */
  kept: ReadonlySet<string>
  /** The same for errors. */
  keptOnErrors: ReadonlySet<string>
}

/** A time as validators tell it. */
export interface Moment {
  /** Milliseconds since 1970, whole seconds only. */
  time: number
  /** The same as an HTTP date. */
  date: string
}

/** `milliseconds` since 1970. */
export function momentOf(milliseconds: number): Moment {
  const time = Math.floor(milliseconds / 1000) * 1000
  return { time, date: new Date(time).toUTCString() }
}

const NONE: ReadonlySet<string> = new Set()

/** What tells caches how long they may keep an answer. */
const CACHING: ReadonlySet<string> = new Set([
  'cache-control',
  'cdn-cache-control',
  'expires',
  'surrogate-control',
])

/** Everybody's: kept by who likes, but asked for again each time (contract, "Serving", 6). */
export function openPolicy(times: Pick<Policy, 'live' | 'said'>): Policy {
  const cacheControl = 'public, max-age=0, must-revalidate'
  return { ...times, cacheControl, more: [], kept: NONE, keptOnErrors: CACHING }
}

/** Nothing behind a password may be kept by anybody on the way, nor by the browser once the password changed. */
export function privatePolicy(times: Pick<Policy, 'live' | 'said'>): Policy {
  return { ...times, cacheControl: 'private, no-store', more: [], kept: CACHING, keptOnErrors: CACHING }
}

/** One version at a host of its own: neither kept nor found by a search. */
export function previewPolicy(times: Pick<Policy, 'live' | 'said'>): Policy {
  const kept = new Set([...CACHING, 'x-robots-tag'])
  const more = ['X-Robots-Tag', 'noindex']
  return { ...times, cacheControl: 'private, no-store', more, kept, keptOnErrors: kept }
}
