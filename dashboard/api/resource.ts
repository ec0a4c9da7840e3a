import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type DisplayError, toDisplayError } from './display-error.ts'
import { Signal } from './signal.ts'

/** Counts the retries that the user requests: each loads again whatever has failed, and restarts what follows it. */
export const retries = new Signal(0)

/** Data of the server as this page knows it. */
export interface Resource<T> {
  /** The last known value; undefined before the first response. */
  value: T | undefined
  /** Why it could not be loaded or reloaded. */
  error: DisplayError | undefined
  loading: boolean
  /** Loads again. */
  reload(): void
  /** Loads again; resolves when the response is shown, or its error. */
  refresh(): Promise<void>
  /** Sets the value, as known from the response to a change, or maps the known value. */
  set(value: T | ((known: T) => T)): void
}

interface CachedValue {
  value: unknown
  at: number
}

/** Counts invalidations of some keys: what is on screen is then loaded again. */
const invalidations = new Signal(0)

/** How long a cached response is used when a page opens again, in milliseconds: requests are limited. */
const CACHE_TTL_MS = 60_000

/** Counts the invalidations of everything, after which nothing of before is shown. */
let epoch = 0

const cache = new Map<string, CachedValue>()

/** Requests in progress. A change removes one, because its response may be outdated. */
const inFlight = new Map<string, Promise<unknown>>()

/**
 * The result of `load`, requested at most once per `key` and minute; nothing while the key is undefined. What is at
 * hand is part of the first paint, and what is shown stays while it is loaded again.
 */
export function useResource<T>(key: string | undefined, load: () => Promise<T>): Resource<T> {
  const [, redraw] = useState(0)
  const state = useRef<Pick<Resource<T>, 'error' | 'loading'>>({ error: undefined, loading: false })
  const live = useRef(key)
  const draw = () => redraw((count) => count + 1)

  const request = async (pending?: Promise<unknown>): Promise<void> => {
    if (key === undefined) return
    const response = pending ?? load()
    inFlight.set(key, response)
    state.current = { error: undefined, loading: true }
    draw()
    let failed: DisplayError | undefined
    try {
      const value = await response
      if (inFlight.get(key) === response) cache.set(key, { value, at: Date.now() })
    } catch (error) {
      failed = toDisplayError(error)
    }
    const isCurrent = inFlight.get(key) === response
    if (isCurrent) inFlight.delete(key)
    if (live.current !== key) return
    if (!isCurrent && !cache.has(key) && !failed) return request(inFlight.get(key))
    state.current = { error: failed, loading: false }
    draw()
  }

  const known = key === undefined ? undefined : cache.get(key)
  const value = useLastValue(key, known)
  useLayoutEffect(() => {
    live.current = key
    state.current = { error: undefined, loading: false }
    const current = key === undefined ? undefined : cache.get(key)
    if (key !== undefined && (!current || Date.now() - current.at > CACHE_TTL_MS))
      void request(inFlight.get(key))
    // The response to another part of the page may have arrived since this one was drawn.
    else if (current !== known) draw()
    const unsubscribe = key && onRequested(key, () => state.current.error !== undefined, request)
    return () => {
      live.current = undefined
      if (unsubscribe) unsubscribe()
    }
  }, [key])

  return {
    value: value as T | undefined,
    error: state.current.error,
    loading: state.current.loading || (key !== undefined && !known && !state.current.error),
    reload: () => void request(),
    refresh: () => request(),
    set(change) {
      if (key === undefined) return
      inFlight.delete(key)
      const known = cache.get(key)
      if (typeof change !== 'function') cache.set(key, { value: change, at: Date.now() })
      else if (known) cache.set(key, { ...known, value: (change as (known: T) => T)(known.value as T) })
      draw()
    },
  }
}

/** The known value of a key, otherwise the one that was shown last. */
function useLastValue(key: string | undefined, known: CachedValue | undefined): unknown {
  const last = useRef({ key, epoch, value: known?.value })
  if (known || last.current.key !== key || last.current.epoch !== epoch)
    last.current = { key, epoch, value: known?.value }
  return last.current.value
}

/** Requests a key on screen when the user retries after a failure, and when it is invalidated without one. */
function onRequested(
  key: string,
  hasFailed: () => boolean,
  request: (pending?: Promise<unknown>) => Promise<void>,
): () => void {
  const ends = [
    retries.subscribe(() => {
      if (hasFailed()) void request(inFlight.get(key))
    }),
    invalidations.subscribe(() => {
      // A failed load waits for the user: a page that invalidates what it found deleted would load it without end.
      if (!hasFailed() && !cache.has(key) && !inFlight.has(key)) void request()
    }),
  ]
  return () => {
    for (const end of ends) end()
  }
}

/** Invalidates these keys and all below them, which parts of the page that show them load again; or everything. */
export function invalidate(...keys: string[]): void {
  if (keys.length === 0) epoch++
  for (const known of [...cache.keys(), ...inFlight.keys()]) {
    if (keys.length > 0 && !keys.some((key) => isBelow(known, key))) continue
    cache.delete(known)
    inFlight.delete(known)
  }
  // After the caller has set or requested some of them, or left the page that shows them.
  setTimeout(() => invalidations.value++)
}

/** Lets a key, and unless `alone` everything below it, be loaded again when it is opened; it is shown until then. */
export function expire(key: string, { alone = false } = {}): void {
  for (const [known, cached] of cache) if (alone ? known === key : isBelow(known, key)) cached.at = 0
}

function isBelow(known: string, key: string): boolean {
  return known === key || known.startsWith(`${key}/`)
}
